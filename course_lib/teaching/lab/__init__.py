"""What opens the course: the learner's own copy of it, and JupyterLab with the course's settings."""
