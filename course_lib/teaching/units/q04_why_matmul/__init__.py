"""Built from lessons/q04_why_matmul; change it there."""
