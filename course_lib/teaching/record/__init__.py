"""The learner's own record, what it says, and its way to another machine."""
