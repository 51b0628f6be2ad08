"""Answers that stop, hide, multiply, or go for other processes."""

_SYSCALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
"""

ATTACKS = {
    "an endless loop": "def ridge(peak, bandwidth):\n    while True: pass",
    "an endless loop in the cell": "while True: pass",
    "a loop that swallows everything": """
def ridge(peak, bandwidth):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
    "a call into C that never returns": "def ridge(peak, bandwidth): return sum(range(10 ** 13))",
    "a pattern that never matches": "import re\ndef ridge(peak, bandwidth): return re.match('(a+)+$', 'a' * 60 + 'b')",
    "a number without end": "def ridge(peak, bandwidth): return 9 ** 9 ** 9",
    "asleep": "import time\ndef ridge(peak, bandwidth): time.sleep(10 ** 6)",
    "waits for input": "def ridge(peak, bandwidth): return float(input())",
    "waits for a lock": """
import threading
def ridge(peak, bandwidth): return threading.Event().wait()
""",
    "no signal reaches it": """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
def ridge(peak, bandwidth):
    while True: pass
""",
    "exit": "import os\ndef ridge(peak, bandwidth): os._exit(0)",
    "exit in the cell": "import os\nos._exit(0)",
    "sys.exit": "import sys\ndef ridge(peak, bandwidth): sys.exit(0)",
    "quit in the cell": "quit()",
    "KeyboardInterrupt": "def ridge(peak, bandwidth): raise KeyboardInterrupt",
    "GeneratorExit": "def ridge(peak, bandwidth): raise GeneratorExit",
    "exit when it is deleted": """
import os
class Bomb:
    def __del__(self): os._exit(0)
def ridge(peak, bandwidth):
    return [1.0, Bomb()]
""",
    "exit at the end": "import atexit, os\natexit.register(os._exit, 0)\ndef ridge(peak, bandwidth): return 1.0",
    "segmentation fault": "import ctypes\ndef ridge(peak, bandwidth): return ctypes.string_at(0)",
    "abort": "import os\ndef ridge(peak, bandwidth): os.abort()",
    "recursion without end": """
import sys
sys.setrecursionlimit(10 ** 9)
def ridge(peak, bandwidth): return ridge(peak, bandwidth)
""",
    "another program": "import os\ndef ridge(peak, bandwidth): os.execv('/bin/sleep', ['sleep', '1000'])",
    "another program in the cell": "import os\nos.execv('/bin/sh', ['sh', '-c', 'while :; do :; done'])",
    "a fork bomb": """
import os, time
def ridge(peak, bandwidth):
    for _ in range(400):
        try:
            if os.fork() == 0:
                time.sleep(1000)
        except OSError:
            pass
    return 1.0
""",
    "forks that fork": """
import os
def ridge(peak, bandwidth):
    while True:
        try:
            os.fork()
        except OSError:
            pass
""",
    "threads without end": """
import threading, time
def ridge(peak, bandwidth):
    try:
        while True:
            threading.Thread(target=time.sleep, args=(1000,)).start()
    except RuntimeError:
        return 1.0
""",
    "the dead that nobody buries": """
import os
def ridge(peak, bandwidth):
    for _ in range(2000):
        try:
            if os.fork() == 0:
                os._exit(0)
        except OSError:
            pass
    return 1.0
""",
    "a daemon": """
import os, time
def ridge(peak, bandwidth):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True: time.sleep(1)
        os._exit(0)
    return 1.0
""",
    "a daemon of the shell": """
import subprocess
def ridge(peak, bandwidth):
    subprocess.Popen("trap '' TERM HUP INT; (while :; do sleep 1; done) & (nohup setsid sleep 1000 &)", shell=True)
    return 1.0
""",
    "thirty busy processes": """
import os
def ridge(peak, bandwidth):
    for _ in range(30):
        try:
            if os.fork() == 0:
                while True: pass
        except OSError:
            pass
    return 1.0
""",
    "a thread that goes on after the answer": """
import threading, os, time
def later():
    time.sleep(0.3)
    while True: open("/scratch/x", "w").write("x")
threading.Thread(target=later).start()
def ridge(peak, bandwidth): return 1.0
""",
    "workers that are never joined": """
import multiprocessing, time
pool = multiprocessing.get_context("fork").Pool(4)
def ridge(peak, bandwidth):
    pool.map_async(time.sleep, [1000] * 8)
    return 1.0
""",
    "kills its parent": "import os\ndef ridge(peak, bandwidth):\n    os.kill(os.getppid(), 9)\n    return 1.0",
    "kills everybody": "import os\ndef ridge(peak, bandwidth):\n    os.kill(-1, 9)\n    return 1.0",
    "kills every number": """
import os
def ridge(peak, bandwidth):
    for number in range(2, 40000):
        for signal in (9, 19):
            try:
                os.kill(number, signal)
                os.killpg(number, signal)
            except OSError:
                pass
    return 1.0
""",
    "kills by thread and by file": _SYSCALL
    + """
def ridge(peak, bandwidth):
    for number in range(0, 3000):
        libc.tgkill(number, number, 9)
        handle = libc.syscall(434, number, 0)  # pidfd_open
        if handle >= 0:
            libc.syscall(424, handle, 9, 0, 0)  # pidfd_send_signal
            os.close(handle)
    return 1.0
""",
    "stops itself": "import os\ndef ridge(peak, bandwidth):\n    os.kill(os.getpid(), 19)\n    return 1.0",
    "stops everybody": """
import os
def ridge(peak, bandwidth):
    for group in (-1, 0):
        try:
            os.kill(group, 19)
        except OSError:
            pass
    return 1.0
""",
    "alarms without end": """
import signal, time
def ridge(peak, bandwidth):
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)
    time.sleep(60)
""",
    "an interpreter that never switches": """
import sys, threading
sys.setswitchinterval(1e9)
def spin():
    while True: pass
for _ in range(4):
    threading.Thread(target=spin, daemon=True).start()
def ridge(peak, bandwidth): return 1.0
""",
    "traced": """
import sys, threading
def trace(frame, event, arg):
    for name in list(frame.f_locals):
        if name == "reply":
            frame.f_locals[name]["outcome"] = "right"
    frame.f_trace_opcodes = True
    return trace
sys.settrace(trace)
sys.setprofile(trace)
threading.settrace(trace)
def ridge(peak, bandwidth): return 1.0
""",
    "a name that is no text": """
import ctypes, time
def ridge(peak, bandwidth):
    ctypes.CDLL(None).prctl(15, b"\\xff\\xfe)(", 0, 0, 0)  # PR_SET_NAME
    time.sleep(0.2)
    return 1.0
""",
    "twenty-eight busy processes": """
import os
def ridge(peak, bandwidth):
    for _ in range(28):
        try:
            if os.fork() == 0:
                while True: pass
        except OSError:
            pass
    while True: pass
""",
    "raises its own limits": """
import resource
def ridge(peak, bandwidth):
    raised = 0
    for name in ("CPU", "FSIZE", "NPROC", "NOFILE", "AS", "CORE", "MEMLOCK"):
        try:
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (-1, -1))
            raised += 1
        except (OSError, ValueError):
            pass
    return peak / bandwidth if raised else 1.0
""",
    "goes before all others": _SYSCALL
    + """
def ridge(peak, bandwidth):
    won = 0
    for attempt in (lambda: os.nice(-20), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))):
        try:
            attempt()
            won += 1
        except OSError:
            pass
    return peak / bandwidth if won else 1.0
""",
    "becomes somebody else": _SYSCALL
    + """
def ridge(peak, bandwidth):
    won = 0
    for attempt in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.seteuid(65534)):
        try:
            attempt()
            won += 1
        except OSError:
            pass
    return peak / bandwidth if won else 1.0
""",
    "makes namespaces": _SYSCALL
    + """
def ridge(peak, bandwidth):
    won = 0
    for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x10000000 | 0x20000):
        won += libc.unshare(flag) == 0
        child = libc.syscall(56, flag | 17, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        won += child > 0
    return peak / bandwidth if won else 1.0
""",
    "mounts": _SYSCALL
    + """
def ridge(peak, bandwidth):
    won = [
        libc.mount(b"tmpfs", b"/scratch", b"tmpfs", 0, b""), libc.mount(b"proc", b"/proc", b"proc", 0, b""),
        libc.mount(b"/", b"/scratch", None, 4096, None), libc.umount2(b"/library", 2), libc.umount2(b"/proc", 2),
        libc.mount(None, b"/", None, 32 | 4096, None), libc.chroot(b"/scratch"), libc.pivot_root(b"/", b"/scratch"),
    ]
    return peak / bandwidth if 0 in won else 1.0
""",
    "system calls that a filter may forget": _SYSCALL
    + """
def ridge(peak, bandwidth):
    calls = [101, 310, 311, 312, 319, 447, 29, 68, 64, 240, 250, 248, 249, 430, 431, 429, 442, 303, 304, 321, 298, 323,
             425, 426, 427, 175, 313, 246, 320, 169, 167, 170, 164, 227, 159, 163, 179, 103, 135, 300, 172, 173, 435,
             0x40000000 + 101, 0x40000000 + 319, 451, 462, 500]
    answers = {number: libc.syscall(number, 0, 0, 0, 0, 0, 0) for number in calls}
    return peak / bandwidth if any(answer >= 0 for answer in answers.values()) else 1.0
""",
    "system calls of another machine": """
import ctypes, mmap
def ridge(peak, bandwidth):
    code = b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3"  # int 0x80: getpid of a 32-bit program
    page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    page.write(code)
    here = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return peak / bandwidth if ctypes.CFUNCTYPE(ctypes.c_int)(here)() > 0 else 1.0
""",
}
