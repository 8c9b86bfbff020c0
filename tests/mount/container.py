"""container.py [--docker-20] [--read-only=VOLUME] PROGRAM [ARGUMENT ...]: runs a program as the
kernel does in a container of Docker, or in a pod of Kubernetes with RuntimeDefault.

What Docker's default profile refuses is refused: that of moby/profiles, May 2026, for x86-64 and
the capabilities of DEFAULT; with --docker-20, what it refused before Docker 23, and containerd
before 1.7, as well. /dev is a container's, without /dev/fuse. With --read-only, nothing can be
written to but what is below VOLUME. The namespaces are those of who calls, SPACES; users and
capabilities are left to setpriv(1)."""

import errno
import os
import stat
import subprocess
import sys

from older_kernel import ALLOW, BITS, EQUAL, ERROR, LEAST, LOAD, NUMBER, RETURN, instruction, refuse
import older_kernel

SPACES = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]
DEFAULT = ["chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
           "net_bind_service", "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap"]

# syslog, uselib, ustat, sysfs, vhangup, pivot_root, _sysctl; acct to security: clocks, mount, swap,
# reboot, names, ports, modules, quota; lookup_dcookie, clock_settime; vserver, memory policies;
# kexec_load, keys, migrate_pages, unshare, move_pages, perf_event_open, fanotify_init,
# open_by_handle_at, setns, kcmp, finit_module, kexec_file_load, bpf, userfaultfd; io_uring and what
# makes mounts; pidfd_getfd, process_madvise, mount_setattr, quotactl_fd, set_mempolicy_home_node;
# lsm_*.
REFUSED = [103, 134, 136, 139, 153, 155, 156, *range(163, 186), 212, 227, *range(236, 240), 246,
           *range(248, 251), 256, 272, 279, 298, 300, 304, 308, 312, 313, 320, 321, 323,
           *range(425, 434), 438, 440, 442, 443, 450, *range(459, 462)]
FIRST_UNKNOWN = 467  # open_tree_attr
ONCE_REFUSED = [310, 311]  # process_vm_readv and process_vm_writev
SOCKET, CLONE, PERSONALITY, CLONE3 = 41, 56, 135, 435
ARGUMENT = 16  # of struct seccomp_data: the low half of the first one
FAMILIES = [38, 40]  # AF_ALG, AF_VSOCK
NAMESPACES = 0x7E020000
PERSONALITIES = [0, 8, 0x20000, 0x20008, 0xFFFFFFFF]

DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}
LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
         "stderr": "/proc/self/fd/2"}


def of_argument(call, *checks):
    """The first argument of this call has the last word."""
    code = [instruction(LOAD, ARGUMENT), *checks, instruction(RETURN, ALLOW)]
    return [instruction(EQUAL, call, len(code)), *code]


def accept(values):
    return [word for value in values
            for word in (instruction(EQUAL, value, 1), instruction(RETURN, ALLOW))]


def profile(refused):
    code = [instruction(LOAD, NUMBER), *refuse(LEAST, FIRST_UNKNOWN, errno.EPERM),
            *refuse(EQUAL, CLONE3, errno.ENOSYS)]
    for call in refused:
        code += refuse(EQUAL, call, errno.EPERM)
    code += of_argument(CLONE, *refuse(BITS, NAMESPACES, errno.EPERM))
    code += of_argument(PERSONALITY, *accept(PERSONALITIES),
                        instruction(RETURN, ERROR | errno.EPERM))
    code += of_argument(SOCKET, *(word for family in FAMILIES
                                  for word in refuse(EQUAL, family, errno.EPERM)))
    return b"".join([*code, instruction(RETURN, ALLOW)])


def make_devices():
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/dev"], check=True)
    os.umask(0)
    for name, minor in DEVICES.items():
        os.mknod(f"/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(1, minor))
    for name, target in LINKS.items():
        os.symlink(target, f"/dev/{name}")
    os.mkdir("/dev/shm", 0o1777)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", "/dev/shm"], check=True)
    os.umask(0o22)


def protect_all_but(volume):
    subprocess.run(["mount", "--bind", volume, volume], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", "/"], check=True)


def main(words):
    refused = REFUSED
    make_devices()
    while words[0].startswith("--"):
        option, _, volume = words.pop(0).partition("=")
        if option == "--docker-20":
            refused = REFUSED + ONCE_REFUSED
        else:
            protect_all_but(volume)
    older_kernel.install(profile(refused))
    os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
