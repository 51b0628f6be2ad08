"""Built from lessons/q01_memory_wall; change it there."""
