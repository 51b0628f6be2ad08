"""Built from lessons/claims; change it there."""
