"""From what a student handed in to the answers of a task."""
