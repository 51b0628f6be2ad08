"""A step of nbgrader's release: an answer that is a quantity gets no line that raises.

nbgrader puts `raise NotImplementedError()` in place of every solution. In a function that is what is wanted; at the top
of a cell, where a learner assigns a quantity, it would stop "Run All". There the line before the solution, such as
`bandwidth = None  # a number in TB/s`, is the stub already.
"""

import re

from nbgrader.preprocessors import ClearSolutions


class ClearAnswers(ClearSolutions):
    """nbgrader's `ClearSolutions`, which removes a solution that is not indented without putting anything there."""

    def _replace_solution_region(self, cell, language: str) -> bool:
        source = cell.source
        if cell.cell_type == "code":
            begin, end = re.escape(self.begin_solution_delimeter), re.escape(self.end_solution_delimeter)
            cell.source = re.sub(rf"\n(?=\S)[^\n]*{begin}[^\n]*\n(?:[^\n]*\n)*?[^\n]*{end}[^\n]*", "", source)
        return super()._replace_solution_region(cell, language) or cell.source != source
