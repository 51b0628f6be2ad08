"""An IPython kernel that writes down what it opens and lists: `python watched_kernel.py LOG -f CONNECTION_FILE`."""

import os
import sys

EVENTS = ("open", "os.listdir", "os.scandir")


def watch(log: int) -> None:
    """Write the path of each file that this process opens and of each folder that it lists, a line each, to `log`."""

    def note(event: str, arguments: tuple) -> None:
        if event in EVENTS and isinstance(arguments[0], (str, os.PathLike)):
            os.write(log, os.fsencode(os.path.abspath(os.fspath(arguments[0]))) + b"\n")

    sys.addaudithook(note)


if __name__ == "__main__":
    del sys.path[0]  # this folder: a lesson may not import from it
    watch(os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
