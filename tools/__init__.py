"""The maintainer's tools: `python -m tools.build` in the checkout, or `course build`. Not installed."""
