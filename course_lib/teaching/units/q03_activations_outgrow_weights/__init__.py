"""Built from lessons/q03_activations_outgrow_weights; change it there."""
