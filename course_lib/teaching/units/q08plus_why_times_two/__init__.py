"""Built from lessons/q08plus_why_times_two; change it there."""
