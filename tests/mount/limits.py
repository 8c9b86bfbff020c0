"""What a shell limits (ulimit), for the preexec_fn of a child."""

import ctypes
import platform
import resource
import signal
import sys

import older_kernel
from older_kernel import ALLOW, EQUAL, ERROR, LOAD, NUMBER, RETURN, instruction

RT_SIGACTION = 13 if platform.machine() == "x86_64" else 134
FIRST_ARGUMENT = 16 if sys.byteorder == "little" else 20  # its low half
NO_NEW_PRIVS = 38  # sys/prctl.h


def limit(what, most):
    """limit(resource.RLIMIT_STACK, 64 << 10)"""
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(what, (most, most))
    return set_limits


def file_size(most):
    """No file can grow beyond that."""
    return limit(resource.RLIMIT_FSIZE, most)


def deadly_file_size(most):
    """A file that would grow beyond `most` ends the child by SIGXFSZ, in the midst of a write, as
    a kill at that moment: what it asks the kernel about that signal has no effect."""
    def set_limits():
        file_size(most)()
        ctypes.CDLL(None).prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        older_kernel.install(b"".join([
            instruction(LOAD, NUMBER), instruction(EQUAL, RT_SIGACTION, 3),
            instruction(LOAD, FIRST_ARGUMENT), instruction(EQUAL, signal.SIGXFSZ, 1),
            instruction(RETURN, ERROR), instruction(RETURN, ALLOW)]))
    return set_limits
