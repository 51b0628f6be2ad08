"""Recordings, one JSON file for each device: taking one, loading it, and a result beside it."""
