"""This machine: what it is, what it was measured at, and what `course doctor` says of it."""
