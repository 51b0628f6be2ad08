"""Built from lessons/q05_flops_are_not_time; change it there."""
