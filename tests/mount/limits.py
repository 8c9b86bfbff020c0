"""What a shell limits (ulimit), for the preexec_fn of a child."""

import resource
import signal

import refusing


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
    a kill at that moment: what it asks the kernel about that signal, or one whose number has all
    of its bits, has no effect."""
    def set_limits():
        file_size(most)()
        refusing.refuse([], 0, [("rt_sigaction", signal.SIGXFSZ, 0)])()
    return set_limits
