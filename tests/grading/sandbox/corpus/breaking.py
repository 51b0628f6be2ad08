"""Answers that destroy: files of the machine, the sandbox, Python itself, and what the next student would find."""

ATTACKS = {
    "deletes what it can": """
import os, shutil
for place in ("HOST", "/work", "/root", "/home", "/usr", "/engine", "/library", "/etc", "/scratch", "/dev"):
    shutil.rmtree(place, ignore_errors=True)
def ridge(peak, bandwidth): return 1.0
""",
    "edits the gradebook": """
import sqlite3
for path in ("HOST/gradebook.db", "gradebook.db", "../gradebook.db"):
    try:
        with sqlite3.connect(path) as book:
            book.execute("UPDATE grade SET auto_score = 99")
    except sqlite3.Error:
        pass
def ridge(peak, bandwidth): return 1.0
""",
    "writes the engine anew": """
import os
for name in os.listdir("/engine"):
    for path in ("/engine/" + name, "/library/course_lib/teaching/checks/check_values.py"):
        for act in (lambda: open(path, "w").write("print(1)"), lambda: os.remove(path), lambda: os.chmod(path, 0o777)):
            try:
                act()
            except OSError:
                pass
def ridge(peak, bandwidth): return 1.0
""",
    "modules for the next student": """
import os, site, sys
for place in ("/scratch", ".", "/", *site.getsitepackages(), *sys.path):
    for name in ("numpy.py", "sitecustomize.py", "usercustomize.py", "x.pth", "torch.py", "json.py"):
        try:
            with open(os.path.join(place, name), "w") as file:
                file.write("raise SystemExit")
        except OSError:
            pass
def ridge(peak, bandwidth): return 1.0
""",
    "a shadow of numpy": """
import os, sys
open("numpy.py", "w").write("def allclose(*_): return True\\nisclose = allclose")
sys.path.insert(0, os.getcwd())
sys.modules.pop("numpy")
import numpy
def ridge(peak, bandwidth): return 1.0
""",
    "takes Python apart": """
import builtins, sys, gc
for name in ("len", "isinstance", "type", "dict", "list", "str", "int", "float", "print", "open", "Exception"):
    setattr(builtins, name, None)
sys.modules.clear()
def ridge(peak, bandwidth): return 1.0
""",
    "an import that lies": """
import sys, builtins
class Lies:
    def find_spec(self, name, path=None, target=None): raise SystemExit
sys.meta_path.insert(0, Lies())
builtins.__import__ = lambda *_, **__: None
def ridge(peak, bandwidth): return 1.0
""",
    "numbers mean something else": """
import ctypes, sys
def ridge(peak, bandwidth):
    ctypes.memset(id(1) + 24, 9, 1)  # the number one
    return 1
""",
    "memory is written over": """
import ctypes
def ridge(peak, bandwidth):
    for address in range(id(ridge) - 10 ** 6, id(ridge) + 10 ** 6, 8):
        ctypes.memset(address, 255, 8)
    return 1.0
""",
    "a pickle that runs": """
import pickle, os, io
class Runs:
    def __reduce__(self): return (os.system, ("touch HOST/touched",))
def ridge(peak, bandwidth): return Runs()
""",
    "a saved model that runs": """
import torch, os
class Runs:
    def __reduce__(self): return (os.system, ("touch HOST/touched",))
torch.save(Runs(), "model.pt")
torch.load("model.pt", weights_only=False)
def ridge(peak, bandwidth): return 1.0
""",
    "torch settings for the next student": """
import torch, numpy, random
torch.set_default_dtype(torch.float16)
torch.set_num_threads(64)
torch.use_deterministic_algorithms(True)
torch.autograd.set_detect_anomaly(True)
numpy.seterr(all="raise")
torch.add = torch.matmul = torch.Tensor.__add__ = lambda *_: 1 / 0
def ridge(peak, bandwidth): return 1.0
""",
    "links and pipes": """
import os
for name, target in (("a", "HOST"), ("b", "/proc/1/root"), ("c", "c"), ("d", "/proc/self/fd/0")):
    os.symlink(target, name)
os.mkfifo("pipe")
def ridge(peak, bandwidth):
    return open("pipe").read()
""",
    "out through the process table": """
import os
for path in ("/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/proc/self/cwd"):
    try:
        os.chdir(path + "/../../../..")
        open("HOST/touched", "w").write("x")
    except OSError:
        pass
def ridge(peak, bandwidth): return 1.0
""",
    "the kernel's switches": """
import os
written = 0
for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches",
             "/proc/sys/kernel/hostname", "/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/loginuid"):
    try:
        with open(path, "w") as file:
            file.write("0")
            written += 1
    except OSError:
        pass
def ridge(peak, bandwidth): return peak / bandwidth if written else 1.0
""",
    "safe from the memory killer": """
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
    def ridge(peak, bandwidth): return peak / bandwidth
except OSError:
    pass
""",
    "another time": """
import time, os
try:
    time.clock_settime(time.CLOCK_REALTIME, 0)
    def ridge(peak, bandwidth): return peak / bandwidth
except OSError:
    pass
""",
    "another terminal": """
import fcntl, os
for name in ("tty", "console", "ptmx", "pts/0", "mem", "kmsg", "vda", "sda", "fuse", "kvm", "zero", "loop0"):
    try:
        os.close(os.open("/dev/" + name, os.O_RDWR))
        def ridge(peak, bandwidth): return peak / bandwidth
    except OSError:
        pass
""",
    "a file that root owns": """
import os
made = 0
for path in ("/scratch/x", "x"):
    open(path, "w").close()
    for act in (lambda: os.chown(path, 0, 0), lambda: os.mknod("device", 0o20666, os.makedev(1, 1))):
        try:
            act()
            made += 1
        except OSError:
            pass
def ridge(peak, bandwidth): return peak / bandwidth if made else 1.0
""",
    "no Python at all": "%%bash\nrm -rf HOST\n",
    "not Python": "this is not (Python\x00",
    "the shell": """
!rm -rf HOST; touch HOST/touched
%run /etc/passwd
import os
os.system("rm -rf HOST")
def ridge(peak, bandwidth): return 1.0
""",
    "a function that deletes itself": "def ridge(peak, bandwidth):\n    del globals()['ridge']\n    return 1.0",
    "a notebook that is not a dictionary": """
import sys, types
class Odd(types.ModuleType):
    def __getattribute__(self, name): raise SystemExit
sys.modules["__main__"].__class__ = Odd
def ridge(peak, bandwidth): return 1.0
""",
}
