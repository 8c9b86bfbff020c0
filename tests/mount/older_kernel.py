"""older_kernel.py WITHOUT PROGRAM [ARGUMENT ...]: runs a program as if the kernel were older.

A filter of seccomp answers for what the kernel would not know: all calls since Linux 5.1, which
have the same numbers everywhere, from 424 on; and what WITHOUT names, separated by commas:
"nowait", RWF_NOWAIT of preadv2(2), as some filesystems; "statx" and "seccomp", these calls."""

import ctypes
import errno
import os
import platform
import struct
import sys

FIRST_NEW = 424
X86 = platform.machine() == "x86_64"
PREADV2, STATX, SECCOMP = (327, 332, 317) if X86 else (286, 291, 277)
RWF_NOWAIT = 8

LOAD, EQUAL, LEAST, BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, FLAGS = 0, 16 + 8 * 5  # of struct seccomp_data
ALLOW, ERROR = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, FILTER = 22, 2


def instruction(code, value, skip=0):
    return struct.pack("=HBBI", code, 0, skip, value)


def refuse(code, value, error):
    return [instruction(code, value, 1), instruction(RETURN, ERROR | error)]


def program(without):
    code = [instruction(LOAD, NUMBER), *refuse(LEAST, FIRST_NEW, errno.ENOSYS)]
    for name, number in (("statx", STATX), ("seccomp", SECCOMP)):
        if name in without:
            code += refuse(EQUAL, number, errno.ENOSYS)
    if "nowait" in without:
        code += [instruction(EQUAL, PREADV2, 3), instruction(LOAD, FLAGS),
                 *refuse(BITS, RWF_NOWAIT, errno.EOPNOTSUPP)]
    return b"".join([*code, instruction(RETURN, ALLOW)])


def install(code):
    text = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, FILTER, head, 0, 0) != 0:
        sys.exit(f"older_kernel: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    install(program(sys.argv[1].split(",")))
    os.execv(sys.argv[2], sys.argv[2:])
