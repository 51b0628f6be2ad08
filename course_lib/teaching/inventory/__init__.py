"""The concept inventory: questions before and after the course, each of whose wrong options detects a misconception."""
