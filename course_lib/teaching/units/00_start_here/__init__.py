"""Built from lessons/00_start_here; change it there."""
