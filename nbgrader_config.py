"""nbgrader's settings: `solutions/` is its source, `exercises/` its release. Run it here, with the environment on PATH.

`make build` uses this file too. A gradebook, `submitted/`, `autograded/` and `feedback/` stay out of git.
"""

import os

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import ClearSolutions

from course_lib.grading.stubs import ClearAnswers

c = get_config()  # noqa: F821 (nbgrader defines it)

c.CourseDirectory.course_id = "where-did-the-flops-go"
c.CourseDirectory.root = os.getcwd()  # '.' would be warned about three times
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

c.ClearSolutions.code_stub = {"python": "# Your code here: replace the next line.\nraise NotImplementedError()"}
c.ClearSolutions.text_stub = "*Your answer: replace this line.*"
# An answer that is a quantity gets no line that raises (course_lib/grading/stubs.py).
c.GenerateAssignment.preprocessors = [
    ClearAnswers if step is ClearSolutions else step for step in GenerateAssignment.preprocessors.default()
]

# A deleted check cell would score zero without a word.
c.OverwriteCells.add_missing_cells = True
# A kernel with torch needs its time; the checks have their own limit of 5 seconds.
c.Execute.timeout = 120
