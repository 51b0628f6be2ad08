"""Answers that take memory, disk, or time from the machine."""

ATTACKS = {
    "six gigabytes": "def ridge(peak, bandwidth): return len(bytearray(6 * 10 ** 9))",
    "memory bit by bit": """
def ridge(peak, bandwidth):
    kept = []
    while True:
        kept.append(bytearray(10 ** 6))
""",
    "memory bit by bit, and never mind": """
def ridge(peak, bandwidth):
    kept = []
    while True:
        try:
            kept.append(bytearray(10 ** 6))
        except MemoryError:
            pass
""",
    "memory of many processes": """
import os, time
def ridge(peak, bandwidth):
    for _ in range(30):
        try:
            if os.fork() == 0:
                kept = [bytearray(b"x" * 10 ** 7) for _ in range(60)]
                time.sleep(1000)
        except OSError:
            pass
    time.sleep(1000)
""",
    "memory under a name that says it is none": """
import ctypes, os
def ridge(peak, bandwidth):
    ctypes.CDLL(None).prctl(15, b"\\rVmSwap: -99999", 0, 0, 0)  # PR_SET_NAME
    for _ in range(8):
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(15, b"\\rVmSwap: -99999", 0, 0, 0)
            break
    kept = [bytearray(b"x" * 10 ** 7) for _ in range(45)]
    return peak / bandwidth if len(kept) == 45 else 1.0
""",
    "memory in the cell": "kept = []\nwhile True: kept.append(bytearray(10 ** 6))",
    "memory that no process has": """
import mmap
def ridge(peak, bandwidth):
    kept = []
    for _ in range(3):
        kept.append(mmap.mmap(-1, 500_000_000))  # shared and anonymous
        for at in range(0, 500_000_000, 4096):
            kept[-1][at] = 1
        kept[-1].madvise(mmap.MADV_DONTNEED)
    return peak / bandwidth
""",
    "memory in files of memory": """
import os
def ridge(peak, bandwidth):
    for _ in range(20):
        handle = os.memfd_create("x")
        for _ in range(20):
            os.write(handle, bytes(10 ** 7))
    return peak / bandwidth
""",
    "memory in pipes and sockets": """
import fcntl, os, socket
def ridge(peak, bandwidth):
    kept = []
    for _ in range(10 ** 4):
        try:
            pair = socket.socketpair()
            pair[0].setblocking(False)
            kept.append(pair)
            while True:
                pair[0].send(bytes(65536))
        except BlockingIOError:
            pass
        except OSError:
            break
    return 1.0
""",
    "memory that is locked": """
import ctypes
def ridge(peak, bandwidth):
    libc = ctypes.CDLL(None)
    kept = ctypes.create_string_buffer(10 ** 7)
    return peak / bandwidth if libc.mlock(kept, 10 ** 7) == 0 or libc.mlockall(3) == 0 else 1.0
""",
    "a tensor of a terabyte": "import torch\ndef ridge(peak, bandwidth): return torch.ones(10 ** 12)",
    "a full disk": """
import os
def ridge(peak, bandwidth):
    for place in ("/scratch", "/dev/shm", "/tmp", "/var/tmp", "/", "HOST"):
        for number in range(100):
            try:
                with open(f"{place}/{number}", "wb") as file:
                    for _ in range(30):
                        file.write(bytes(10 ** 6))
            except OSError:
                break
    return 1.0
""",
    "a file of a terabyte": """
import os
def ridge(peak, bandwidth):
    with open("sparse", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 10 ** 12)
    return peak / bandwidth
""",
    "files without number": """
import os
def ridge(peak, bandwidth):
    made = 0
    try:
        for made in range(100_000):
            os.mkdir(f"/scratch/{made}")
    except OSError:
        pass
    return peak / bandwidth if made > 50_000 else 1.0
""",
    "folders in folders": """
import os
def ridge(peak, bandwidth):
    for _ in range(3000):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    return 1.0
""",
    "locks without number": """
import fcntl
def ridge(peak, bandwidth):
    with open("locked", "wb") as file:
        for at in range(0, 10 ** 9, 2):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, at)
    return 1.0
""",
    "fifty megabytes printed": """
print("x" * 50_000_000)
def ridge(peak, bandwidth):
    print("y" * 50_000_000)
    return 1.0
""",
    "printing for ever": """
import sys, os
def ridge(peak, bandwidth):
    while True:
        sys.stderr.write("x" * 10 ** 6)
        os.write(1, b"x" * 10 ** 6)
""",
    "warnings without end": """
import warnings
warnings.simplefilter("always")
def ridge(peak, bandwidth):
    for _ in range(10 ** 5):
        warnings.warn("careful")
    return 1.0
""",
    "late each time": "import time\ndef ridge(peak, bandwidth):\n    time.sleep(0.9)\n    return 1.0",
    "dead each time, after a slow cell": "import os, time\ntime.sleep(0.7)\ndef ridge(peak, bandwidth): os._exit(1)",
    "a slow import": "import time\ntime.sleep(1000)\ndef ridge(peak, bandwidth): return 1.0",
    "one hundred thousand statements": "x = 0\n" + "x += 1\n" * 100_000 + "def ridge(peak, bandwidth): return 1.0",
    "brackets in brackets": "x = " + "(" * 10_000 + ")" * 10_000 + "\ndef ridge(peak, bandwidth): return 1.0",
    "a pattern that the parser cannot hold": "x = " + "-" * 1_000_000 + "1\ndef ridge(peak, bandwidth): return 1.0",
    "a constant that never ends folding": "x = 'a' * 10 ** 10\ndef ridge(peak, bandwidth): return (2 ** 60) ** 60 ** 2",
}
