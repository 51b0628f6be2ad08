"""An IPython kernel that writes down what it opens and lists, whose recordings it asks for, and what `Result.judge`
says: `python watched_kernel.py FOLDER -f CONNECTION_FILE` writes the files `opened`, `recorded` and `judged` in FOLDER.
"""

import json
import os
import sys

EVENTS = ("open", "os.listdir", "os.scandir")
RECORDED = "course_lib.recorded"
JUDGED = "course_lib.judge"


def watch(folder: str) -> None:
    """Write the path of each file that this process opens and of each folder that it lists to `opened`, a line each,
    the name of each experiment whose recordings it asks for to `recorded`, and the arguments of each judgement as JSON
    to `judged`.
    """
    opened, recorded, judged = (
        os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for name in ("opened", "recorded", "judged")
    )

    def note(event: str, arguments: tuple) -> None:
        if event in EVENTS and isinstance(arguments[0], (str, os.PathLike)):
            os.write(opened, os.fsencode(os.path.abspath(os.fspath(arguments[0]))) + b"\n")
        elif event == RECORDED:
            os.write(recorded, arguments[0].encode() + b"\n")
        elif event == JUDGED:
            os.write(judged, json.dumps(arguments).encode() + b"\n")

    sys.addaudithook(note)


if __name__ == "__main__":
    del sys.path[0]  # this folder: a lesson may not import from it
    watch(sys.argv.pop(1))

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
