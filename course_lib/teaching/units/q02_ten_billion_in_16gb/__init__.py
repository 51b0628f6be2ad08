"""Built from lessons/q02_ten_billion_in_16gb; change it there."""
