/* What a process in the sandbox can still do, and what it cannot: fs/life/sandbox.h. Each try is
 * made by a process of its own. And the helper that is outside: fs/life/helper.h. */
#include "base/uapi.h"
#include "fs/life/helper.h"
#include "fs/life/sandbox.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_FOLDER -1
#define WORKS	  0

static const struct sandbox local = {.folder = NO_FOLDER};
static const struct sandbox far = {.network = true, .folder = NO_FOLDER};
static const struct sandbox of_job = {.folder = NO_FOLDER, .job = true};
static const struct sandbox with_programs = {
	.network = true, .programs = true, .folder = NO_FOLDER};

/* Tries something in a sandbox. Returns its errno, 0 if it works. */
static int try_in(const struct sandbox *sandbox, int (*attempt)(void))
{
	pid_t pid = fork();
	int how;

	if (pid == 0) {
		sandbox_enter(sandbox);
		_exit(attempt() < 0 ? errno : WORKS);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_true(WIFEXITED(how));
	return WEXITSTATUS(how);
}

/* The parts that hold on this machine. */
static unsigned parts(void)
{
	pid_t pid = fork();
	int how;

	if (pid == 0)
		_exit((int)sandbox_enter(&local));
	assert_int_equal(waitpid(pid, &how, 0), pid);
	return (unsigned)WEXITSTATUS(how);
}

static void need(unsigned part)
{
	if (!(parts() & part)) {
		print_message("not on this kernel, or not with this build\n");
		skip();
	}
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A system call, and the error that it is to have: 0 if it is to work. */
struct attack {
	long call;
	long args[5];
	int error;
};

static const struct attack *attack;

static int make_call(void)
{
	const long *args = attack->args;

	return (int)syscall(attack->call, args[0], args[1], args[2], args[3], args[4]);
}

static void try_all(const struct sandbox *sandbox, const struct attack *attacks, size_t count)
{
	for (attack = attacks; attack < attacks + count; attack++) {
		int error = try_in(sandbox, make_call);

		if (error != attack->error)
			fail_msg("call %ld(%lx, %lx, %lx, %lx): %s", attack->call, attack->args[0],
				 attack->args[1], attack->args[2], attack->args[3],
				 strerror(error));
	}
}

/* In each of these sandboxes. */
#define TRY_ALL(attacks, ...)                                                              \
	do {                                                                               \
		const struct sandbox *const all[] = {__VA_ARGS__};                         \
                                                                                           \
		for (size_t in = 0; in < sizeof(all) / sizeof(all[0]); in++)               \
			try_all(all[in], attacks, sizeof(attacks) / sizeof((attacks)[0])); \
	} while (0)

static int make_process_in_namespace(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return (int)pid;
}

TEST(calls_that_no_daemon_needs_fail)
{
	const struct attack attacks[] = {
		/* other processes */
		{SYS_process_vm_readv, {getpid()}, EPERM},
		{SYS_process_vm_writev, {getpid()}, EPERM},
		{SYS_process_madvise, {0}, EPERM},
		{SYS_process_mrelease, {0}, EPERM},
		{SYS_pidfd_getfd, {0}, EPERM},
		{SYS_kcmp, {getpid(), getpid()}, EPERM},
		{SYS_migrate_pages, {getpid()}, EPERM},
		{SYS_move_pages, {getpid()}, EPERM},
		{SYS_prlimit64, {getpid(), 7}, EPERM},
		{SYS_prlimit64, {0, 7}, WORKS},
		{SYS_fcntl, {0, F_SETOWN, getpid()}, EPERM},
		{SYS_fcntl, {0, 15 /* F_SETOWN_EX */}, EPERM},
		{SYS_fcntl, {0, F_GETFD}, WORKS},
#ifdef SYS_shmget
		{SYS_shmget, {0, 1, IPC_CREAT}, EPERM},
		{SYS_shmat, {0}, EPERM},
		{SYS_msgget, {0}, EPERM},
		{SYS_mq_open, {(long)"queue", O_CREAT | O_RDWR, 0600}, EPERM},
		{SYS_mq_unlink, {(long)"queue"}, EPERM},
		{SYS_semget, {0}, EPERM},
#endif
		/* namespaces and mounts */
		{SYS_unshare, {CLONE_NEWUSER}, EPERM},
		{SYS_setns, {0}, EPERM},
		{SYS_clone, {CLONE_NEWNS | SIGCHLD}, EPERM},
		{SYS_clone3, {0}, ENOSYS},
		{SYS_mount, {(long)"none", (long)"/", (long)"tmpfs"}, EPERM},
		{SYS_umount2, {(long)"/proc"}, EPERM},
		{SYS_pivot_root, {(long)"/", (long)"/"}, EPERM},
		{SYS_chroot, {(long)"/"}, EPERM},
		{SYS_fsopen, {(long)"tmpfs"}, EPERM},
		{SYS_fspick, {AT_FDCWD, (long)"/"}, EPERM},
		{SYS_open_tree, {AT_FDCWD, (long)"/", 1 /* OPEN_TREE_CLONE */}, EPERM},
		{SYS_move_mount, {AT_FDCWD, (long)"/", AT_FDCWD, (long)"/"}, EPERM},
		/* the machine */
		{SYS_sethostname, {(long)"x", 1}, EPERM},
		{SYS_reboot, {0}, EPERM},
		/* files by handles, and by structures */
		{SYS_open_by_handle_at, {0}, EPERM},
		{SYS_fanotify_init, {0}, EPERM},
		{SYS_file_setattr, {0}, EPERM},
		{SYS_openat2, {0}, ENOSYS},
		/* parts of the kernel */
		{SYS_bpf, {0}, EPERM},
		{SYS_perf_event_open, {0}, EPERM},
		{SYS_userfaultfd, {0}, EPERM},
		{SYS_io_uring_setup, {0}, EPERM},
		{SYS_io_uring_enter, {0}, EPERM},
		{SYS_io_uring_register, {0}, EPERM},
		{SYS_add_key, {0}, EPERM},
		{SYS_request_key, {0}, EPERM},
		{SYS_keyctl, {0}, EPERM},
		{SYS_personality, {0xffffffff}, EPERM},
#ifdef __x86_64__
		{SYS_modify_ldt, {0}, EPERM},
#endif
		/* numbers of others: x32 */
		{0x40000000 | SYS_getpid, {0}, ENOSYS},
	};

	need(SANDBOX_SECCOMP);
	TRY_ALL(attacks, &local, &far, &with_programs);
	assert_int_equal(try_in(&local, make_process_in_namespace), EPERM);
}

TEST(no_process_is_traced)
{
	const struct attack attacks[] = {{SYS_ptrace, {16 /* PTRACE_ATTACH */, getpid()}, EPERM},
					 {SYS_ptrace, {0 /* PTRACE_TRACEME */}, EPERM}};

	need(SANDBOX_LANDLOCK); /* a sanitizer traces */
	TRY_ALL(attacks, &local, &with_programs);
}

TEST(no_process_is_read_by_files_of_proc)
{
	static const char *const names[] = {"mem", "environ", "fd/2", "cwd", "maps"};

	need(SANDBOX_LANDLOCK);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];
		const struct attack attacks[] = {
			{SYS_openat, {AT_FDCWD, (long)path, O_RDONLY}, EACCES}};

		snprintf(path, sizeof(path), "/proc/%d/%s", (int)getpid(), names[i]);
		TRY_ALL(attacks, &local);
	}
}

#ifdef __x86_64__
static int call_of_32_bits(void)
{
	int r = 20; /* getpid() there; 0x80 is where such calls enter */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	errno = -r;
	return r < 0 ? -1 : 0;
}
#endif

TEST(calls_of_32_bits_fail)
{
	need(SANDBOX_SECCOMP);
#ifdef __x86_64__
	assert_int_equal(try_in(&local, call_of_32_bits), EPERM);
#else
	skip();
#endif
}

TEST(only_this_process_and_its_command_get_signals)
{
	const struct attack attacks[] = {
		{SYS_kill, {getpid(), 0}, EPERM},
		{SYS_kill, {0, 0}, EPERM},
		{SYS_kill, {-1, 0}, EPERM},
		{SYS_tkill, {getpid(), 0}, EPERM},
		{SYS_tgkill, {getpid(), getpid(), 0}, EPERM},
		{SYS_rt_sigqueueinfo, {getpid()}, EPERM},
		{SYS_rt_tgsigqueueinfo, {getpid()}, EPERM},
		{SYS_pidfd_send_signal, {0}, EPERM},
		{SYS_setpriority, {0}, EPERM},
		{SYS_ioprio_set, {0}, EPERM},
		{SYS_sched_setscheduler, {getpid()}, EPERM},
		{SYS_sched_setparam, {getpid()}, EPERM},
		{SYS_sched_setaffinity, {getpid()}, EPERM},
		{SYS_sched_setattr, {getpid()}, EPERM},
	};
	const struct attack command[] = {{SYS_kill, {getpid(), 0}, WORKS},
					 {SYS_kill, {getppid(), 0}, EPERM}};
	struct sandbox with_command = local;

	need(SANDBOX_SECCOMP);
	TRY_ALL(attacks, &local, &far);
	with_command.command = getpid();
	TRY_ALL(command, &with_command);
}

static int signal_myself(void)
{
	return kill(getpid(), 0) < 0 || raise(0) != 0 ? -1 : 0;
}

TEST(a_process_signals_itself)
{
	assert_int_equal(try_in(&local, signal_myself), WORKS);
}

/* --- programs and sockets ----------------------------------------------------------------------
 */

static int run_program_from_memory(void)
{
	int fd = (int)syscall(SYS_memfd_create, "x", 0);
	const char *argv[] = {"x", NULL};

	return fd < 0 ? fd : (int)syscall(SYS_execveat, fd, "", argv, argv, AT_EMPTY_PATH);
}

TEST(only_credentials_need_programs)
{
	static const char *const argv[] = {"true", NULL};
	const long program = (long)"/bin/true", words = (long)argv, none = (long)(argv + 1);
	const struct attack refused[] = {{SYS_execve, {program, words, none}, EPERM}};
	const struct attack runs[] = {{SYS_execve, {program, words, none}, WORKS}};

	need(SANDBOX_SECCOMP);
	TRY_ALL(refused, &local, &far);
	TRY_ALL(runs, &with_programs);
	assert_int_equal(try_in(&local, run_program_from_memory), EPERM);
}

TEST(the_log_still_works)
{
	const struct attack log[] = {{SYS_socket, {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC}, WORKS}};

	TRY_ALL(log, &local);
}

TEST(only_packs_on_servers_need_the_network)
{
	const struct attack needed[] = {
		{SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}, WORKS},
		{SYS_socket, {AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP}, WORKS},
		{SYS_socket, {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0}, WORKS},
		{SYS_socket, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}, WORKS},
	};
	struct attack refused[sizeof(needed) / sizeof(needed[0])];
	const struct attack names[] = {{SYS_bind, {0}, EPERM}};

	need(SANDBOX_SECCOMP);
	TRY_ALL(needed, &far, &with_programs);
	memcpy(refused, needed, sizeof(needed));
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		refused[i].error = EPERM;
	TRY_ALL(refused, &local);
	TRY_ALL(names, &local);
}

TEST(other_sockets_fail_everywhere)
{
	static int pair[2];
	const struct attack attacks[] = {
		{SYS_socket, {AF_UNIX, SOCK_SEQPACKET}, EPERM},
		{SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK}, EPERM},
		{SYS_socket, {AF_UNIX, SOCK_RAW}, EPERM},
		{SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, EPERM},
		{SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}, EPERM},
		{SYS_socket, {AF_INET, SOCK_STREAM, 132 /* SCTP */}, EPERM},
		{SYS_socket, {AF_INET, SOCK_STREAM, 262 /* MPTCP */}, EPERM},
		{SYS_socket, {AF_INET, SOCK_SEQPACKET, 132}, EPERM},
		{SYS_socket, {AF_NETLINK, SOCK_RAW, 9 /* NETLINK_AUDIT */}, EPERM},
		{SYS_socket, {AF_PACKET, SOCK_DGRAM}, EPERM},
		{SYS_socket, {38 /* AF_ALG */, SOCK_SEQPACKET}, EPERM},
		{SYS_socket, {40 /* AF_VSOCK */, SOCK_STREAM}, EPERM},
	};
	const struct attack services[] = {{SYS_listen, {0}, EPERM}, {SYS_accept4, {0}, EPERM}};
	const struct attack services_of_job[] = {
		{SYS_listen, {0}, EPERM}, {SYS_bind, {0}, EPERM}, {SYS_accept4, {-1}, EBADF}};
	const struct attack pairs[] = {
		{SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET, 0, (long)pair}, EPERM},
		{SYS_socketpair, {30 /* AF_TIPC */, SOCK_DGRAM, 0, (long)pair}, EPERM},
		{SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0, (long)pair}, WORKS},
	};

	need(SANDBOX_SECCOMP);
	TRY_ALL(attacks, &local, &far, &with_programs, &of_job);
	TRY_ALL(pairs, &local, &far, &with_programs);
	TRY_ALL(services, &local, &far);
	TRY_ALL(services_of_job, &of_job);
}

/* --- privileges ------------------------------------------------------------------------------- */

static int has_privileges(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	syscall(SYS_capget, &header, data);
	errno = EPERM;
	return data[0].permitted || data[1].permitted || data[0].effective ||
			       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1
		       ? 0
		       : -1;
}

TEST(no_capability_is_left)
{
	assert_int_equal(try_in(&local, has_privileges), EPERM);
}

static int run_without_capabilities(void)
{
	return execl("/bin/sh", "sh", "-c", "! grep -q '^Cap[PE].*:.*[1-9a-f]' /proc/self/status",
		     NULL);
}

TEST(programs_of_root_have_none_either)
{
	assert_int_equal(try_in(&with_programs, run_without_capabilities), WORKS);
}

/* --- files ------------------------------------------------------------------------------------ */

#define VICTIM 100 /* a descriptor of it, to read */

static char place[] = "/tmp/sandbox-XXXXXX";
static char victim[sizeof(place) + 8], made[sizeof(place) + 8];
static struct sandbox with_folder;

static int begin_files(void **state)
{
	int fd;

	(void)state;
	if (!mkdtemp(place))
		return -1;
	snprintf(victim, sizeof(victim), "%s/victim", place);
	snprintf(made, sizeof(made), "%s/made", place);
	with_folder = local;
	with_folder.folder = open(place, O_RDONLY | O_DIRECTORY);
	fd = open(victim, O_RDONLY | O_CREAT, 0600);
	return fd < 0 || dup2(fd, VICTIM) < 0 ? -1 : close(fd);
}

static int end_files(void **state)
{
	(void)state;
	close(VICTIM);
	close(with_folder.folder);
	scratch_remove(place);
	memcpy(place + sizeof(place) - 7, "XXXXXX", 6);
	return 0;
}

FIXTURE_BY(fresh, void, begin_files, end_files);

TEST_OF(fresh, nothing_is_written_but_in_the_folder)
{
	const long here = AT_FDCWD, new = (long)made, null = (long)"/dev/null";
	const struct attack outside[] = {
		{SYS_openat, {here, new, O_WRONLY | O_CREAT, 0600}, EACCES},
		{SYS_openat, {here, (long)victim, O_WRONLY}, EACCES},
		{SYS_openat, {here, null, O_WRONLY}, WORKS},
		{SYS_openat, {here, (long)"/proc/self/mountinfo", O_RDONLY}, WORKS},
	};
	const struct attack inside[] = {{SYS_openat, {here, new, O_WRONLY | O_CREAT, 0600}, WORKS}};

	need(SANDBOX_LANDLOCK);
	TRY_ALL(outside, &local);
	TRY_ALL(inside, &with_folder);
}

TEST_OF(fresh, names_outside_of_the_folder_stay)
{
	const long here = AT_FDCWD, old = (long)victim, new = (long)"/tmp/sandbox-made";
	const struct attack attacks[] = {
		{SYS_mkdirat, {here, new, 0700}, EACCES},
		{SYS_mknodat, {here, new, S_IFIFO | 0600}, EACCES},
		{SYS_symlinkat, {old, here, new}, EACCES},
		{SYS_linkat, {here, old, here, new}, EACCES},
		{SYS_renameat2, {here, old, here, new}, EACCES},
		{SYS_openat, {here, new, O_CREAT | O_RDWR, 0600}, EACCES},
		{SYS_openat, {here, (long)"/tmp", O_TMPFILE | O_RDWR, 0600}, EACCES},
#ifdef SYS_mkdir
		{SYS_mkdir, {new, 0700}, EACCES},
		{SYS_mknod, {new, S_IFIFO | 0600}, EACCES},
		{SYS_symlink, {old, new}, EACCES},
		{SYS_link, {old, new}, EACCES},
		{SYS_rename, {old, new}, EACCES},
		{SYS_creat, {new, 0600}, EACCES},
		{SYS_open, {new, O_CREAT | O_RDWR, 0600}, EACCES},
#endif
	};
	const struct attack inside[] = {
		{SYS_unlinkat, {here, old}, EACCES},
		{SYS_truncate, {old}, EACCES},
		{SYS_openat, {here, old, O_RDONLY | O_TRUNC}, EACCES},
#ifdef SYS_unlink
		{SYS_unlink, {old}, EACCES},
		{SYS_rmdir, {(long)place}, EACCES},
		{SYS_open, {old, O_RDONLY | O_TRUNC}, EACCES},
#endif
	};

	need(SANDBOX_LANDLOCK);
	TRY_ALL(attacks, &local);
	TRY_ALL(inside, &local);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		attack = &attacks[i];
		assert_int_not_equal(try_in(&with_folder, make_call), WORKS);
	}
	assert_int_equal(access(victim, F_OK), 0);
}

TEST_OF(fresh, modes_owners_times_and_attributes_stay)
{
	const long here = AT_FDCWD, old = (long)victim, name = (long)"user.x";
	static const struct timespec times[2];
	const struct attack attacks[] = {
		{SYS_fchmod, {VICTIM, 0644}, EPERM},
		{SYS_fchmodat, {here, old, 0644}, EPERM},
		{SYS_fchmodat2, {here, old, 0644, AT_SYMLINK_NOFOLLOW}, EPERM},
		{SYS_fchmodat2, {VICTIM, (long)"", 0644, AT_EMPTY_PATH}, EPERM},
		{SYS_fchown, {VICTIM, -1, -1}, EPERM},
		{SYS_fchownat, {here, old, -1, -1}, EPERM},
		{SYS_setxattr, {old, name, old, 1}, EPERM},
		{SYS_lsetxattr, {old, name, old, 1}, EPERM},
		{SYS_fsetxattr, {VICTIM, name, old, 1}, EPERM},
		{SYS_setxattrat, {here, old}, EPERM},
		{SYS_removexattr, {old, name}, EPERM},
		{SYS_lremovexattr, {old, name}, EPERM},
		{SYS_fremovexattr, {VICTIM, name}, EPERM},
		{SYS_removexattrat, {here, old}, EPERM},
		{SYS_utimensat, {here, old, 0}, EPERM},
		{SYS_utimensat, {here, old, (long)times}, EPERM},
		{SYS_utimensat, {VICTIM, 0, (long)times}, EPERM},
		/* FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR take a descriptor to read */
		{SYS_ioctl, {VICTIM, 0x40086602}, ENOTTY},
		{SYS_ioctl, {VICTIM, 0x401c5820}, ENOTTY},
#ifdef SYS_chmod
		{SYS_chmod, {old, 0644}, EPERM},
		{SYS_chown, {old, -1, -1}, EPERM},
		{SYS_lchown, {old, -1, -1}, EPERM},
		{SYS_utime, {old, 0}, EPERM},
		{SYS_utimes, {old, 0}, EPERM},
		{SYS_futimesat, {here, old, 0}, EPERM},
#endif
	};
	const struct attack now[] = {{SYS_utimensat, {VICTIM, 0, 0}, EPERM}};
	const struct attack cache[] = {{SYS_utimensat, {VICTIM, 0, 0}, WORKS}};

	need(SANDBOX_SECCOMP);
	TRY_ALL(attacks, &local, &far, &with_folder);
	TRY_ALL(now, &local);
	TRY_ALL(cache, &with_folder);
}

TEST_OF(fresh, no_file_gets_the_rights_of_its_owner_to_give)
{
	const long here = AT_FDCWD, old = (long)victim, new = (long)made;
	const struct attack attacks[] = {
		{SYS_openat, {here, new, O_CREAT | O_RDWR, 04755}, EPERM},
		{SYS_openat, {here, new, O_CREAT | O_RDWR, 02755}, EPERM},
		{SYS_openat, {here, (long)place, O_TMPFILE | O_RDWR, 04755}, EPERM},
		{SYS_mknodat, {here, new, S_IFREG | 04755}, EPERM},
		{SYS_fchmod, {VICTIM, 04755}, EPERM},
		{SYS_fchmodat, {here, old, 02755}, EPERM},
		{SYS_fchmodat2, {here, old, 04755, 0}, EPERM},
		{SYS_openat, {here, old, O_RDONLY, 04755}, WORKS}, /* it makes nothing */
#ifdef SYS_open
		{SYS_open, {new, O_CREAT | O_RDWR, 04755}, EPERM},
		{SYS_creat, {new, 04755}, EPERM},
		{SYS_mknod, {new, S_IFREG | 04755}, EPERM},
		{SYS_chmod, {old, 04755}, EPERM},
#endif
	};
	const struct attack programs[] = {{SYS_fchmod, {VICTIM, 0640}, WORKS}};

	need(SANDBOX_SECCOMP);
	TRY_ALL(attacks, &with_folder, &with_programs);
	TRY_ALL(programs, &with_programs);
}

/* Whatever the umask was before. */
static int make_as_the_folder(void)
{
	int fd = openat(with_folder.folder, "made", O_RDWR | O_CREAT | O_EXCL, 0660);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	errno = EDOM;
	return (st.st_mode & 0777) == 0660 ? 0 : -1;
}

TEST_OF(fresh, what_a_shared_folder_gets_is_as_open_as_that)
{
	mode_t before = umask(022);

	assert_int_equal(chmod(place, 02770), 0);
	assert_int_equal(try_in(&with_folder, make_as_the_folder), WORKS);
	umask(before);
}

/* --- terminals -------------------------------------------------------------------------------- */

#define TERMINAL 101

/* Runs a test on a terminal of its own, as a job of a shell, which leads the session. Returns the
 * errno as try_in(). */
static int try_on_terminal(const struct sandbox *sandbox, int (*attempt)(void))
{
	int other = posix_openpt(O_RDWR | O_NOCTTY), how, waiting = -1;
	pid_t pid;

	assert_true(other >= 0 && grantpt(other) == 0 && unlockpt(other) == 0);
	pid = fork();
	if (pid == 0) {
		int fd;

		setsid();
		fd = open(ptsname(other), O_RDWR);
		if (fd < 0 || dup2(fd, TERMINAL) < 0)
			_exit(ENOTTY);
		_exit(try_in(sandbox, attempt));
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_int_equal(ioctl(other, FIONREAD, &waiting), 0);
	assert_int_equal(waiting, 0);
	close(other);
	assert_true(WIFEXITED(how));
	return WEXITSTATUS(how);
}

TEST(there_is_no_controlling_terminal)
{
	const struct attack opens = {SYS_openat, {AT_FDCWD, (long)"/dev/tty", O_RDONLY}, ENXIO};

	need(SANDBOX_SECCOMP);
	attack = &opens;
	assert_int_equal(try_on_terminal(&local, make_call), ENXIO);
	assert_int_equal(try_on_terminal(&with_programs, make_call), ENXIO);
}

TEST(nothing_is_typed_into_a_terminal_nor_changed)
{
	static char data[256] = "x";
	const long all = (long)(~0UL << 32); /* the kernel does not look at these bits */
	const struct attack attacks[] = {
		{SYS_ioctl, {TERMINAL, TIOCSTI, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, all | TIOCSTI, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCLINUX, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCSCTTY, 1}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCNOTTY}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCSPGRP, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCSETD, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCSWINSZ, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCCONS}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TCSETS, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TCFLSH, 2}, ENOTTY},
		{SYS_ioctl, {TERMINAL, 0x4b49 /* KDSKBSENT */, (long)data}, ENOTTY},
		{SYS_ioctl, {TERMINAL, 0x5606 /* VT_ACTIVATE */, 1}, ENOTTY},
		{SYS_ioctl, {TERMINAL, TIOCGWINSZ, (long)data}, WORKS},
		{SYS_ioctl, {TERMINAL, FIONREAD, (long)data}, WORKS},
	};
	const struct sandbox *const sandboxes[] = {&local, &far, &with_programs};

	need(SANDBOX_SECCOMP);
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof(attacks) / sizeof(attacks[0]); k++) {
			attack = &attacks[k];
			assert_int_equal(try_on_terminal(sandboxes[i], make_call), attack->error);
		}
}

TEST(devices_are_asked_nothing)
{
	const struct attack attacks[] = {
		{SYS_ioctl, {0, 0x8901 /* FIOSETOWN */}, ENOTTY},
		{SYS_ioctl, {0, 0xc020aa3f /* UFFDIO_API */}, ENOTTY},
		{SYS_ioctl, {0, 0xae01 /* KVM_CREATE_VM */}, ENOTTY},
		{SYS_ioctl, {0, 0x5000940e /* BTRFS_IOC_SNAP_CREATE */}, ENOTTY},
	};

	need(SANDBOX_SECCOMP);
	TRY_ALL(attacks, &local, &far);
}

/* --- the helper ------------------------------------------------------------------------------- */

static int count_descriptors(void *context, char task)
{
	int count = 0;

	(void)context;
	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return task == 'd' ? count : -EINVAL;
}

TEST(a_helper_acts_without_our_descriptors)
{
	struct helper helper = HELPER_NONE;

	assert_int_equal(helper_start(count_descriptors, NULL, -1, -1, &helper), 0);
	assert_int_equal(helper_ask(&helper, 'd'), 4);
	assert_int_equal(helper_ask(&helper, 'x'), -EINVAL);
	helper_release(&helper);
	helper_release(&helper);
}

static int is_kept(void *context, char task)
{
	struct stat st;

	(void)task;
	return fstat(HELPER_KEPT, &st) == 0 && st.st_ino == *(const ino_t *)context;
}

TEST(a_helper_keeps_one_descriptor_if_it_is_to)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct helper helper = HELPER_NONE;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(helper_start(is_kept, &st.st_ino, -1, fd, &helper), 0);
	assert_int_equal(helper_ask(&helper, 'k'), 1);
	helper_release(&helper);
	assert_int_equal(helper_start(count_descriptors, NULL, -1, fd, &helper), 0);
	assert_int_equal(helper_ask(&helper, 'd'), 5);
	helper_release(&helper);
	close(fd);
}

TEST(a_helper_that_was_killed_is_told_of)
{
	struct helper helper = HELPER_NONE;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(helper_start(count_descriptors, NULL, -1, -1, &helper), 0);
	kill(helper.pid, SIGKILL);
	assert_int_equal(helper_ask(&helper, 'd'), -EPIPE);
	helper_release(&helper);
}

/* Also of a character that comes in two parts. */
TEST(what_is_said_is_passed_on_without_control_characters)
{
	static const char text[] =
		"a line\nnaïve \033]0;title\007\xc2\x9b"
		"31m\xc2";
	int said[2], shown[2], before = dup(STDERR_FILENO);
	struct helper helper = HELPER_NONE;
	char seen[128] = "";

	assert_true(pipe(said) == 0 && pipe(shown) == 0);
	dup2(shown[1], STDERR_FILENO);
	assert_int_equal(helper_start(count_descriptors, NULL, said[0], -1, &helper), 0);
	dup2(before, STDERR_FILENO);
	close(shown[1]);
	assert_int_equal(write(said[1], text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(helper_ask(&helper, 'd'), 5);
	assert_int_equal(write(said[1],
			       "\x9b"
			       "end\n",
			       5),
			 5);
	helper_release(&helper);
	assert_true(read(shown[0], seen, sizeof(seen) - 1) > 0);
	while (read(shown[0], seen + strlen(seen), sizeof(seen) - 1 - strlen(seen)) > 0)
		;
	assert_non_null(strstr(seen, "a line\nnaïve ?]0;title???31m"));
	assert_null(strstr(seen, "\xc2\x9b"));
	assert_non_null(strstr(seen, "end\n"));
	close(before);
	close(said[0]);
	close(said[1]);
	close(shown[0]);
}

static int note(void *context, char task)
{
	*(char *)context = task;
	return 0;
}

TEST(what_a_process_asked_for_before_it_was_killed_is_not_done)
{
	char *done = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct helper helper = HELPER_NONE;

	assert_ptr_not_equal(done, MAP_FAILED);
	assert_int_equal(helper_start(note, done, -1, -1, &helper), 0);
	assert_int_equal(helper_ask(&helper, 'a'), 0);
	kill(helper.pid, SIGSTOP);
	assert_int_equal(waitpid(helper.pid, NULL, WUNTRACED), helper.pid);
	assert_int_equal(write(helper.socket, "b", 1), 1);
	close(helper.socket);
	kill(helper.pid, SIGCONT);
	assert_int_equal(waitpid(helper.pid, NULL, 0), helper.pid);
	assert_int_equal(*done, 'a');
	munmap(done, 1);
}
