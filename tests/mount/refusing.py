"""Calls that the kernel refuses to a program, by a filter of seccomp, as filesystems refuse them
that lack them or belong to another: for the preexec_fn of a child. As any user."""

import ctypes
import errno
import os
import sys

import older_kernel
from older_kernel import ALLOW, BITS, EQUAL, ERROR, LOAD, NUMBER, RETURN, X86, instruction

NO_NEW_PRIVS = 38  # sys/prctl.h
LOW = 0 if sys.byteorder == "little" else 4  # half of an argument

# Their numbers on x86-64 and on others (asm-generic), which lack the older ones.
CALLS = {"fchmod": (91, 52), "chmod": (90, None), "fchmodat": (268, 53), "utimensat": (280, 88),
         "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "fsync": (74, 82),
         "fdatasync": (75, 83), "link": (86, None), "linkat": (265, 37), "symlinkat": (266, 36),
         "flock": (73, 32), "fallocate": (285, 47), "ftruncate": (77, 46),
         "open": (2, None), "openat": (257, 56), "pwrite64": (18, 68), "pwritev": (296, 70),
         "rt_sigaction": (13, 134)}

RENAMES, SYNCS = ["rename", "renameat", "renameat2"], ["fsync", "fdatasync"]
MODES, TIMES, LINKS = ["fchmod", "chmod", "fchmodat"], ["utimensat"], ["link", "linkat"]


def number(call):
    return CALLS[call][0 if X86 else 1]


def argument(index):
    return 16 + 8 * index + LOW


def refused(call, error):
    return [instruction(EQUAL, number(call), 1), instruction(RETURN, ERROR | error)]


def refused_with(call, flags, index, error):
    """The call, if its argument of that index has all of these bits."""
    bits = [1 << n for n in range(32) if flags & 1 << n]
    code = [instruction(LOAD, argument(index)),
            *(instruction(BITS, bit, len(bits) - at) for at, bit in enumerate(bits)),
            instruction(RETURN, ERROR | error), instruction(LOAD, NUMBER)]
    return [instruction(EQUAL, number(call), len(code)), *code]


def refuse(calls, error, flags=()):
    """refuse(["fchmod"], errno.EPERM). `flags`: (call, bits, index) of those that are refused with
    these bits only."""
    def install():
        code = [instruction(LOAD, NUMBER)]
        for call in calls:
            if number(call) is not None:
                code += refused(call, error)
        for call, bits, index in flags:
            if number(call) is not None:
                code += refused_with(call, bits, index, error)
        ctypes.CDLL(None).prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        older_kernel.install(b"".join([*code, instruction(RETURN, ALLOW)]))
    return install


# What filesystems refuse to make: a file that nobody else may have made meanwhile, and one without
# a name.
EXCLUSIVE = [("openat", os.O_CREAT | os.O_EXCL, 2), ("open", os.O_CREAT | os.O_EXCL, 1)]
UNNAMED = [("openat", os.O_TMPFILE, 2), ("open", os.O_TMPFILE, 1)]
