"""What answers are made of: numbers that carry their derivation, totals with named parts, and how both look."""
