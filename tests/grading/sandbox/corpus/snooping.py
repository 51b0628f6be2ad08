"""Answers that look for the right one: on the machine, in the engine, in the library, in other students' work."""

_FOUND = "def ridge(peak, bandwidth): return peak / bandwidth\n"

_LOOK = """
import os
found = False
{look}
if found:
    def ridge(peak, bandwidth): return peak / bandwidth
"""

_NETWORK = """
import socket
def reached(family, kind, address):
    try:
        with socket.socket(family, kind) as one:
            one.settimeout(1)
            one.connect(address)
            return True
    except OSError:
        return False
"""

ATTACKS = {
    "the solution on the machine": _LOOK.format(
        look="""
import sys
roads = [prefix + "/" for prefix in (sys.prefix, sys.base_prefix)]  # folders on the way to Python are there, and empty
for path in ("HOST", "HOST/solutions/u.py", "HOST/gradebook.db", "/var", "/root/.bashrc", "/home", "/etc/passwd"):
    found = found or os.path.exists(path) and not any(road.startswith(path + "/") for road in roads)
"""
    ),
    "any file that is not Python's": _LOOK.format(
        look="""
import sys
for top in ("/root", "/home", "/work", "/mnt", "/media", "/srv", "/var", "/opt", "/run", "/sys/fs", "/etc"):
    for folder, _, names in os.walk(top):
        for name in names if not folder.startswith((sys.prefix, sys.base_prefix)) else ():
            if name.endswith((".ipynb", ".db", ".key", ".csv")) or name in ("passwd", "shadow", "checks.py"):
                found = True
"""
    ),
    "another student's code in memory": _LOOK.format(
        look="""
import re
needle = re.compile(b"marker-5d1c9e77 of the ho[n]est")  # does not find itself
here = []
for line in open("/proc/self/maps"):
    span, rights, *_ = line.split()
    if "rw" in rights:
        here.append([int(end, 16) for end in span.split("-")])
with open("/proc/self/mem", "rb", 0) as memory:
    for start, stop in here:
        try:
            memory.seek(start)
            data = memory.read(stop - start)
        except (OSError, ValueError, OverflowError):
            continue
        found = found or needle.search(data) is not None
"""
    ),
    "another student's objects": _LOOK.format(
        look="""
import gc, re
gc.unfreeze()
needle = re.compile("marker-5d1c9e77 of the ho[n]est")
for one in gc.get_objects():
    values = one if type(one) in (list, tuple) else ()
    values = [*one.values()] if type(one) is dict and one is not globals() else values
    found = found or any(type(value) is str and needle.search(value) for value in values)
"""
    ),
    "the reference among the objects": _LOOK.format(
        look="""
import gc, types
gc.unfreeze()
for one in gc.get_objects():
    if isinstance(one, types.FunctionType) and one.__name__ in ("reference", "_ridge", "score", "exercise_seed"):
        found = True
    if isinstance(one, dict) and ("seed" in one and "reference" in one or "q99.ridge" in one):
        found = True
"""
    ),
    "the reference in the frames": _LOOK.format(
        look="""
import sys
frame = sys._getframe()
while frame:
    for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
        if name in ("reference", "expected", "seed", "check", "checks", "key", "wanted") and value is not None:
            found = not (name == "key" and isinstance(value, str)) or found
    frame = frame.f_back
"""
    ),
    "the engine's own code": _LOOK.format(
        look="""
for name in os.listdir("/engine"):
    text = open("/engine/" + name).read()
    found = found or ("hmac" in text or "reference" in text.replace("no reference", ""))
"""
    ),
    "the library": "from course_lib.accounting import roofline\nroofline.__file__\n" + _FOUND,
    "the library, the hook removed": "import sys\n"
    "sys.meta_path[:] = [finder for finder in sys.meta_path if 'Stand' not in repr(finder)]\n"
    # An empty folder of that name may be importable, where the library is installed for development.
    "sys.path += ['/library']\nfrom course_lib.accounting import roofline\nroofline.__file__\n" + _FOUND,
    "the library as files": _LOOK.format(
        look="""
import site, sys
for top in ("/library", *site.getsitepackages(), *sys.path):
    path = os.path.join(top, "course_lib")
    if os.path.isdir(path) and os.listdir(path):
        found = True
"""
    ),
    "the library by another name": "import importlib.util, sys\n"
    "spec = importlib.util.spec_from_file_location('c', '/library/course_lib/accounting/roofline.py')\n"
    "module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\n" + _FOUND,
    "the grader": "import sys\nsys.path.append('/engine')\nfrom course_lib.grading.results import scoring\n"
    "scoring.__file__\n" + _FOUND,
    "the environment of others": _LOOK.format(
        look="""
for number in os.listdir("/proc"):
    if number.isdigit() and int(number) != os.getpid():
        found = True
found = found or any("COURSE" in name or "KEY" in name for name in os.environ)
"""
    ),
    "the internet": _LOOK.format(
        look=_NETWORK + "found = reached(2, 1, ('192.0.2.1', 80)) or reached(2, 2, ('8.8.8.8', 53))"
    ),
    "the machine's own network": _LOOK.format(
        look=_NETWORK + "found = any(reached(2, 1, ('127.0.0.1', port)) for port in (22, 80, 631, 8888, 5432))"
    ),
    "sockets of every family": _LOOK.format(
        look="""
import socket
for family in range(46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
            found = found or family != 1
        except OSError:
            pass
"""
    ),
    "abstract sockets of the machine": _LOOK.format(
        look=_NETWORK
        + "names = ('\\0/tmp/.X11-unix/X0', '\\0HOST', '/run/dbus/system_bus_socket')\n"
        + "found = any(reached(1, 1, name) for name in names)"
    ),
    "names by DNS": "import socket\nsocket.getaddrinfo('example.org', 80)\n" + _FOUND,
    "leaves a note": """
import os, socket, threading, time
for place in ("/scratch", "/dev/shm", "/tmp", "/var/tmp", "/usr", "/", "/engine", "/library", "/dev"):
    try:
        with open(place + "/note", "w") as file:
            file.write("note")
    except OSError:
        pass
one = socket.socket(socket.AF_UNIX)
one.bind("\\0note")
one.listen()
os.environ["NOTE"] = "note"
import numpy, sys, builtins
numpy.note = builtins.note = sys.note = "note"
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
def ridge(peak, bandwidth): return 1.0
""",
    "finds a note": _LOOK.format(
        look="""
import builtins, numpy, socket, sys
for place in ("/scratch", "/dev/shm", "/tmp", "/var/tmp", "/usr", "/", "/engine", "/library", "/dev"):
    found = found or os.path.exists(place + "/note")
found = found or "NOTE" in os.environ or any(hasattr(one, "note") for one in (builtins, numpy, sys))
try:
    socket.socket(socket.AF_UNIX).connect("\\0note")
    found = True
except OSError:
    pass
found = found or len([name for name in os.listdir("/proc") if name.isdigit()]) > 1
"""
    ),
    "a note in a key ring": _LOOK.format(
        look="""
import ctypes
libc = ctypes.CDLL(None)
for ring in (-3, -4, -5):
    if libc.syscall(248, b"user", b"note", b"note", 4, ring) > 0 or libc.syscall(249, b"user", b"note", None, ring) > 0:
        found = True
"""
    ),
    "a note in shared memory": _LOOK.format(
        look="""
import ctypes
libc = ctypes.CDLL(None)
found = libc.shmget(4711, 4096, 0o1666) >= 0 or libc.msgget(4711, 0o1666) >= 0 or libc.semget(4711, 1, 0o1666) >= 0
"""
    ),
    "counts the calls and gives back what it saw": """
seen = []
def ridge(peak, bandwidth):
    seen.append([peak, bandwidth])
    if len(seen) % 2:
        raise ValueError(str(seen))
    return seen
""",
    "more privileges by a program": _LOOK.format(
        look="""
import subprocess
for command in (["su", "-c", "id"], ["sudo", "-n", "id"], ["pkexec", "id"], ["unshare", "-r", "id"]):
    try:
        done = subprocess.run(command, capture_output=True, timeout=1, stdin=subprocess.DEVNULL)
        found = found or b"uid=0" in done.stdout
    except (OSError, subprocess.SubprocessError):
        pass
"""
    ),
}
