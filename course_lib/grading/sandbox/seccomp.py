"""The system calls that a student's process may not make: a seccomp filter, written as the kernel's own small program.

Namespaces and limits hold by themselves; the filter takes away what they do not cover: kernel objects that no limit
counts (memfd, System V segments), key rings and sockets that lie outside the namespaces (AF_VSOCK), and parts of the
kernel in which faults are found most often. Standard library only: it runs in the sandbox.
"""

import ctypes
import errno
import platform
import socket
import struct

# name -> number on x86-64, number on aarch64 (None: not there)
FORBIDDEN = {
    # reaching into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # objects that no resource limit counts, or that outlive a process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # what only an administrator needs, and what is attacked most
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "personality": (135, 92),
    "fanotify_init": (300, 262),
    "iopl": (172, None),
    "ioperm": (173, None),
}
SOCKET, CLONE, CLONE3, MMAP = (41, 198), (56, 220), (435, 435), (9, 222)

LAST = 450
"""The last system call that was known when the list was made: newer ones are answered as by an older kernel."""

NAMESPACES = 0x7E020080
"""The flags of clone that make a namespace."""

SHARED_ANONYMOUS = 0x21
"""The flags of mmap for memory that is shared and no file: a process can let go of it and yet keep it."""

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""platform.machine() -> (column of the numbers above, the kernel's name of that architecture)."""

_LOAD, _AND, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x45, 0x06
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST, _FOURTH = 0, 4, 16, 40  # offsets in struct seccomp_data; arguments: their low half


def program(machine: str | None = None) -> bytes:
    """The filter for `machine` (default: this one), as an array of `struct sock_filter`. Raises `OSError` if the course
    has no numbers for it.
    """
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise OSError(errno.ENOSYS, f"graded runs need a Linux on {' or '.join(MACHINES)}, not on {machine}")
    column, architecture = MACHINES[machine]
    refuse, unknown = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
    # Each step: (code, value, steps to skip if true, steps to skip if false).
    steps = [
        (_LOAD, _ARCHITECTURE, 0, 0),
        (_EQUAL, architecture, 1, 0),
        (_RETURN, _KILL, 0, 0),
        (_LOAD, _NUMBER, 0, 0),
        (_GREATER, LAST, 0, 1),
        (_RETURN, unknown, 0, 0),
        (_EQUAL, CLONE3[column], 0, 1),  # its flags lie in memory, where no filter sees them; libc then uses clone
        (_RETURN, unknown, 0, 0),
        (_EQUAL, SOCKET[column], 0, 3),
        (_LOAD, _FIRST, 0, 0),
        (_EQUAL, socket.AF_UNIX, 0, 5),
        (_RETURN, _ALLOW, 0, 0),
        (_EQUAL, CLONE[column], 0, 4),
        (_LOAD, _FIRST, 0, 0),
        (_ANY_BIT, NAMESPACES, 1, 0),
        (_RETURN, _ALLOW, 0, 0),
        (_RETURN, refuse, 0, 0),
        (_EQUAL, MMAP[column], 0, 5),
        (_LOAD, _FOURTH, 0, 0),
        (_AND, SHARED_ANONYMOUS, 0, 0),
        (_EQUAL, SHARED_ANONYMOUS, 0, 1),
        (_RETURN, refuse, 0, 0),
        (_RETURN, _ALLOW, 0, 0),
    ]
    for numbers in FORBIDDEN.values():
        if numbers[column] is not None:
            steps += [(_EQUAL, numbers[column], 0, 1), (_RETURN, refuse, 0, 0)]
    steps.append((_RETURN, _ALLOW, 0, 0))
    return b"".join(struct.pack("=HBBI", code, yes, no, value) for code, value, yes, no in steps)


def install(filter: bytes) -> None:
    """Put the filter on this process and all that it starts, for good. Raises `OSError` if the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(filter, len(filter))
    header = struct.pack("HxxxxxxP", len(filter) // 8, ctypes.addressof(code))
    no_new_privileges, set_seccomp, with_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(set_seccomp, with_filter, header, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refused the filter of system calls (seccomp)")
