"""Built from lessons/q06_why_count_flops; change it there."""
