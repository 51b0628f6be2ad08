"""A unit for tests: cards of each kind, and cards that go wrong."""
