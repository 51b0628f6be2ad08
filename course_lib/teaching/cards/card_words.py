"""What cards say."""

from course_lib.words import words

say = words(__file__)
