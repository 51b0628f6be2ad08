"""`python -m course_lib …` is `course …`, without installation."""

import sys

from course_lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
