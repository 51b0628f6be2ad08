"""Built from lessons/q08_convolution_or_attention; change it there."""
