"""The instant answer to an exercise; grading compares with the same functions."""
