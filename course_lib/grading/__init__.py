"""What the teaching assistant runs: release, intake, the sandbox, the comparison, the hand-over to nbgrader.

Nothing here imports torch: only the sandbox does.
"""
