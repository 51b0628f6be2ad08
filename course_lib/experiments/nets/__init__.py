"""Networks small enough to train and run in an experiment, and the digits that they learn."""
