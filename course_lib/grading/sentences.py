"""What grading says to the teaching assistant and to students."""

from course_lib.words import words

say = words(__file__)
