"""Built from lessons/q07_attention_is_quadratic; change it there."""
