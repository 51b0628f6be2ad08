"""What grading says to the teaching assistant and to students: whole sentences with named values."""

HELD = {
    "no_folder": "There is no folder {folder} for this student.",
    "folder_link": "The folder {folder} is a link, not a folder; links are not followed.",
    "folder_unreadable": "The folder {folder} cannot be read: {error}.",
    "nothing": "The folder {folder} holds no notebook of this unit.",
    "links": "The folder {folder} holds no notebook of this unit, only links, which are not followed: {names}.",
    "unreadable": "The only notebook that may be of this unit, {name}, cannot be read: {why}",
    "no_answer": "The notebook {name} holds none of the answer cells of this unit.",
    "many": "The folder {folder} holds more than {limit} files; look for the notebook by hand.",
    "not_run": "Grading ended before this submission was run; run the command again.",
}
"""Why a student's submission waits for a person."""

UNREADABLE = {
    "empty": "the file is empty.",
    "large": "it has more than {limit} MB.",
    "json": "it is no valid JSON ({error}).",
    "nested": "its JSON is nested too deeply, or in millions of parts.",
    "cells": "it holds no list of cells.",
    "open": "it cannot be opened ({error}).",
    "special": "it is no regular file.",
}

NOTES = {
    "folder": "Its folder is called {folder}, not {student}.",
    "name": "Its file is called {name}.",
    "encoding": "Its file was in {encoding}, not in UTF-8.",
    "damaged": "Its file has bytes that are no text in {encoding}; they were replaced.",
    "format": "Its file says that it is of notebook format {format}.",
    "others": "The folder holds {count} more notebooks of this unit; they were not read: {names}.",
    "by_name": "Cell {grade_id} had lost its id; its answer was found by the name it defines.",
    "by_place": "Cell {grade_id} had lost its id; its answer was found by the text before it.",
    "elsewhere": "Cell {grade_id} was left as it was; the answer stands in another cell.",
    "copies": "Cell {grade_id} is there {count} times; the last one above its check counts.",
    "deleted": "Cell {grade_id} is missing; it counts as not done.",
    "type": "Cell {grade_id} had another cell type.",
    "timestamp": "Its timestamp.txt is no date; formgrader cannot list this unit before that file is put right.",
    "cell_limit": "Cell {grade_id} has more than {limit} characters; the rest was left out.",
}
"""What intake repaired. For the teaching assistant; none of it costs points."""

FEEDBACK = {
    "right": "Right on every input.",
    "partial": "Right for {right}. Not right for {wrong}.",
    "wrong": "Not right.",
    "wrong_hidden": "Right on the inputs that you can see in the exercise, not right on others.",
    "wrong_hidden_groups": "Right on the inputs that you can see in the exercise, not right on others: {groups}.",
    "form": "The answer has another form than the exercise asks for.",
    "raised": "The function ended with an error.",
    "late": "The function had not finished when its time was over. Look for a loop that never ends.",
    "memory": "The function asked for more memory than it may use.",
    "died": "The function ended Python itself, so there was no answer.",
    "refused": "The answer is not made of numbers, texts, lists and dictionaries, or it is far too large.",
    "missing": "There is no `{name}` in the notebook, or its cell failed.",
    "stub": "Not done: `{name}` is as it was given.",
    "not-run": "Not graded yet: grading ended before this exercise was run.",
    "cells": "When your cells were run: {note}",
    "by_hand_done": "Graded by a person.",
    "by_hand_waits": "Not graded yet: a person reads this answer.",
    "by_hand_empty": "No answer.",
    "comment": "Comment: {comment}",
    "override": "The points were set by a person; the automatic check had given {auto:g}.",
}
"""What a student reads about one exercise."""

OUTCOMES = {
    "partial": "right for some groups of inputs only",
    "wrong": "not right, and no known wrong answer",
    "form": "an answer of another form",
    "raised": "an error",
    "late": "not finished in time",
    "memory": "too much memory",
    "died": "the process ended itself",
    "refused": "no plain value, or a far too large one",
    "missing": "no such function",
    "stub": "not done",
    "not-run": "not run",
}
"""What an answer that is not right was, for the teacher's table of wrong answers."""

REPORT = {
    "summary": "{unit}: {graded} graded ({waiting} with answers to grade by hand), {held} held. Results: {folder}",
    "held": "  held: {student}: {reason}",
    "strangers": "  folders that belong to nobody on the roster: {names}",
    "student_title": "Feedback: {unit}",
    "student_held": "Your submission is not graded yet: it waits for a person. Please ask your teaching assistant.",
    "total": "Points: {total} of {max}.",
    "total_waits": "Some answers are not graded yet; they count as zero here.",
    "points": "{points} of {max} points.",
    "points_wait": "Not graded yet, {max} points possible.",
    "cells_title": "When your cells were run",
    "teacher_title": "Results: {unit}",
    "teacher_counts": "{graded} submissions graded, {held} held.",
    "by_exercise": ("exercise", "points", "mean", "all points", "some", "none", "to grade by hand"),
    "wrong_answers": ("answers", "known as", "what it was"),
    "held_title": "Held for a person",
    "strangers_title": "Folders that belong to nobody on the roster",
    "notes_title": "What intake repaired",
}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; line-height: 1.5; max-width: 50em; margin: 2em auto; padding: 0 1em; }}
code {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid; padding: .2em .6em; text-align: left; vertical-align: top; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""

RELEASE = """Where Did the FLOPs Go?

With Python 3.11 or newer, in this folder:

    python3 -m venv .venv
    .venv/bin/python -m pip install "{wheel}[lab]"
    .venv/bin/course doctor
    .venv/bin/course lab

The last line opens the course in JupyterLab, in a folder my_course with notebooks and exercises of your own.
Do the exercises there, and hand in the file exercises/<unit>/<unit>.ipynb. Keep its name.
"""
"""The file that tells a student how to begin."""

NEW_KEY = "A new course key was made: {path}. Keep a copy in a safe place: without it no grade can be repeated."
