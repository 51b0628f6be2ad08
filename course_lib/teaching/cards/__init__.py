"""Prediction cards and claims on trial: their texts, what the learner did, the answer, and how all of it looks."""
