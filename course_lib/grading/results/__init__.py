"""What an answer is worth, and where that is kept, written down and handed over."""
