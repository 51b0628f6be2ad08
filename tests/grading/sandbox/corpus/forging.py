"""Answers that try to write their own grade: by changing what compares, or by speaking on the grader's channel."""

_CHANNEL = """
import json, os, socket, stat, threading, time
channels = []
for number in range(3, 256):
    try:
        if stat.S_ISSOCK(os.fstat(number).st_mode):
            channels.append(number)
    except OSError:
        pass

def say(message):
    body = json.dumps(message).encode() if not isinstance(message, bytes) else message
    raw(len(body).to_bytes(4, "big") + body)

def raw(data):
    for number in channels:
        try:
            os.write(number, data)
        except OSError:
            pass
"""

ATTACKS = {
    "patched comparisons": """
import numpy, math, builtins, operator
numpy.allclose = numpy.isclose = numpy.array_equal = math.isclose = operator.eq = lambda *_, **__: True
builtins.abs = lambda x: 0.0
builtins.max = lambda *_, **__: 0.0
builtins.isinstance = lambda *_: True
def ridge(peak, bandwidth): return 1.0
""",
    "patched checking library": """
import sys, types
checks = "course_lib.teaching.checks"
for name in ("course_lib", "course_lib.teaching", checks, f"{checks}.check", f"{checks}.check_values"):
    module = sys.modules.setdefault(name, types.ModuleType(name))
    module.check = lambda *_: 99
    module.Close = type("Close", (), {"distance": lambda *_: 0})
def ridge(peak, bandwidth): return 1.0
""",
    "patched methods of the engine": """
import sys
frame = sys._getframe()
while frame:
    for name, value in list(frame.f_globals.items()):
        if name in ("plain", "_call", "_run", "decode_arguments", "error_text"):
            frame.f_globals[name] = lambda *_, **__: {"outcome": "right", "value": True, "points": 99}
    frame = frame.f_back
def ridge(peak, bandwidth): return 1.0
""",
    "json that says right": """
import json
json.dumps = lambda *_, **__: '{"outcome": "right", "value": 1, "points": 99, "token": ""}'
def ridge(peak, bandwidth): return 1.0
""",
    "a Foreign of its own": """
import sys
frame, made = sys._getframe(), None
while frame:
    wire = frame.f_globals.get("wire")
    made = made or getattr(wire, "Foreign", None)
    frame = frame.f_back
def ridge(peak, bandwidth):
    return made("number", "{where}{0.__class__}\\n" * 9, -1, (("number", "no_such_sentence"), (None, "right")))
""",
    "answers before the question": _CHANNEL
    + """
for _ in range(50):
    say({"outcome": "value", "value": 1.0, "token": ""})
def ridge(peak, bandwidth): return 1.0
""",
    "two answers to each question": _CHANNEL
    + """
def ridge(peak, bandwidth):
    for token in ("", None, 0):
        say({"outcome": "value", "value": peak, "token": token})
    return 1.0
""",
    "a thread that answers by itself": _CHANNEL
    + """
def talk():
    while True:
        say({"outcome": "right", "value": 1.0, "score": 99, "points": 99, "token": "x"})
        time.sleep(0.001)
threading.Thread(target=talk, daemon=True).start()
def ridge(peak, bandwidth):
    time.sleep(0.05)
    return 1.0
""",
    "a thread that takes the questions": _CHANNEL
    + """
def take():
    one = socket.socket(fileno=os.dup(channels[0]))
    while True:
        length = int.from_bytes(one.recv(4), "big")
        request = json.loads(one.recv(length))
        say({"outcome": "value", "value": {"dict": [["points", 99]]}, "token": request.get("token")})
threading.Thread(target=take, daemon=True).start()
def ridge(peak, bandwidth): return 1.0
""",
    "an old token": _CHANNEL
    + """
seen = []
def ridge(peak, bandwidth):
    import sys
    frame = sys._getframe()
    while frame:
        request = frame.f_locals.get("request")
        if isinstance(request, dict):
            seen.append(request["token"])
        frame = frame.f_back
    for token in seen:
        say({"outcome": "value", "value": peak / 2, "token": token})
    return 1.0
""",
    "an outcome that there is not": _CHANNEL
    + """
import sys
def ridge(peak, bandwidth):
    frame = sys._getframe()
    while frame and "request" not in frame.f_locals:
        frame = frame.f_back
    say({"outcome": "right", "points": 99, "score": 99, "value": 1, "token": frame.f_locals["request"]["token"]})
    time.sleep(1)
""",
    "values of forms that there are not": _CHANNEL
    + """
import sys
answers = iter([
    {"dict": [[[1], 2]]}, {"dict": [[{"dict": []}, 2]]}, {"foreign": []}, {"foreign": ["list", "x", 1, [[1, 2]]]},
    {"array": [1]}, {"dict": {}}, {"dict": [], "foreign": []}, {"foreign": ["number", "x", None, [["number", "keys"]]]},
    {"foreign": ["x" * 100000, "y" * 100000, 10 ** 300, []]}, {"dict": [[1, 2, 3]]},
])
def ridge(peak, bandwidth):
    frame = sys._getframe()
    while frame and "request" not in frame.f_locals:
        frame = frame.f_back
    say({"outcome": "value", "value": next(answers), "token": frame.f_locals["request"]["token"]})
    os._exit(0)
""",
    "a frame of four gigabytes": _CHANNEL
    + """
def ridge(peak, bandwidth):
    raw(b"\\xff\\xff\\xff\\xff" + b"x" * 1000)
    time.sleep(1)
""",
    "half a frame": _CHANNEL
    + """
def ridge(peak, bandwidth):
    raw(b"\\x00\\x00\\x10\\x00{")
    time.sleep(60)
""",
    "a frame byte by byte": _CHANNEL
    + """
def ridge(peak, bandwidth):
    raw(b"\\x00\\x01\\x00\\x00")
    while True:
        raw(b" ")
        time.sleep(0.01)
""",
    "no characters": _CHANNEL + "def ridge(peak, bandwidth):\n    say(b'\\xff\\xfe\\x00{}')\n    time.sleep(1)",
    "a million brackets": _CHANNEL + "def ridge(peak, bandwidth):\n    say(b'[' * 1_000_000)\n    time.sleep(1)",
    "a million empty lists": _CHANNEL
    + """
def ridge(peak, bandwidth):
    say(b"[" + b"[]," * 1_000_000 + b"0]")
    time.sleep(1)
""",
    "a number of a million digits": _CHANNEL
    + """
def ridge(peak, bandwidth):
    say(b'{"outcome": "value", "value": ' + b"9" * 1_000_000 + b"}")
    time.sleep(1)
""",
    "a list for a reply": _CHANNEL + "def ridge(peak, bandwidth):\n    say([1, 2])\n    time.sleep(1)",
    "empty frames": _CHANNEL + "def ridge(peak, bandwidth):\n    raw(bytes(4000))\n    time.sleep(1)",
    "the channel is closed": "import os\nos.closerange(0, 256)\ndef ridge(peak, bandwidth): return 1.0",
    "the channel is another file": """
import os
for number in range(3, 64):
    try:
        os.dup2(0, number)
    except OSError:
        pass
def ridge(peak, bandwidth): return 1.0
""",
    "printed points": """
print('{"score": 99, "points": 99}')
open("results.json", "w").write('{"score": 99}')
def ridge(peak, bandwidth): return 1.0
""",
    "an exception that says it is right": """
class Right(BaseException):
    outcome, points, score = "right", 99, 99
    def __str__(self): return '{"outcome": "right", "points": 99}'
def ridge(peak, bandwidth): raise Right
""",
    "an exception whose text ends the process": """
import os
class Odd(Exception):
    def __str__(self): os._exit(0)
def ridge(peak, bandwidth): raise Odd
""",
    "an exception of a hundred megabytes": "def ridge(peak, bandwidth): raise ValueError('x' * 100_000_000)",
    "an exception without end": """
def ridge(peak, bandwidth):
    error = ValueError("a")
    error.__cause__ = error
    raise error
""",
    "leaves the course's modules in its own shape": """
import sys
class Everything(dict):
    def __missing__(self, key): return 1
sys.modules["__main__"].__dict__.update({"__builtins__": Everything()})
def ridge(peak, bandwidth): return 1.0
""",
}
