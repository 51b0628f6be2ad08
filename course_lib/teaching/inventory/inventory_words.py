"""What the inventory says."""

from course_lib.words import words

say = words(__file__)
