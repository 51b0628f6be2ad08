"""How well `accounting` predicts what others published: by kind of figure and by role of the prediction.

Run `python benchmarks/published.py [--all]`; with `--all` every figure too. Error: |predicted / published − 1|. A bound
is violated where more than all of it was reached.
"""

import sys
from statistics import median

from course_lib.experiments import published
from course_lib.figures.tabular import text_table


def row(kind: str, role: str, figures: list) -> list[str]:
    """Kind, role, how many figures, how many of them hit, and their errors or shares."""
    cells = [kind, role, str(len(figures)), str(sum(figure.hits for figure in figures))]
    ratios = [figure.ratio for figure in figures]
    if role == "fits":
        return [*cells, "", "", ""]
    if role == "bound":
        shares = f"{min(ratios):.2f} to {max(ratios):.2f}, median {median(ratios):.2f}"
        return [*cells, "", shares, str(sum(ratio > 1 for ratio in ratios))]
    errors = [abs(ratio - 1) for ratio in ratios]
    return [*cells, f"median {median(errors):.2%}, worst {max(errors):.1%}", "", ""]


def main() -> None:
    table = published.table()
    if "--all" in sys.argv[1:]:
        print(table, end="\n\n")
    groups = sorted({(figure.kind, figure.role) for figure in table})
    headings = ["kind", "role", "figures", "hit", "error", "share of the bound", "violated"]
    rows = [row(*group, [figure for figure in table if (figure.kind, figure.role) == group]) for group in groups]
    print(text_table(headings, rows, words=True))
    print(f"{len(table)} figures of {len({figure.source.publisher for figure in table})} publishers")


if __name__ == "__main__":
    main()
