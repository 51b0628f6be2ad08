"""The experiments, one module each: question, cases, prediction, table and figure, as `EXPERIMENT`."""
