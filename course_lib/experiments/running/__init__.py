"""Experiments: what one is, how its calls are timed, and the result that it gives."""
