#include "fs/life/sandbox.h"
#include "base/capabilities.h"
#include "base/filter.h"
#include "base/scope.h"
#include "base/uapi.h"
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* AddressSanitizer traces the threads at the end, to find what leaks, and writes its reports to
 * files. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* --- capabilities ---------------------------------------------------------------------------- */

static uint64_t needed_capabilities(const struct sandbox *sandbox)
{
	/* A process of a job can be read by one that has all its capabilities, or this one. */
	if (sandbox->job && !capabilities_have(CAP_SYS_PTRACE))
		return UINT64_MAX;
	return (sandbox->job ? UINT64_C(1) << CAP_SYS_PTRACE | UINT64_C(1) << CAP_DAC_READ_SEARCH |
				       UINT64_C(1) << CAP_KILL
			     : 0) |
	       (sandbox->opens ? UINT64_C(1) << CAP_DAC_READ_SEARCH : 0) |
	       (sandbox->folder >= 0 ? UINT64_C(1) << CAP_DAC_OVERRIDE : 0);
}

/* --- Landlock -------------------------------------------------------------------------------- */

#define LANDLOCK_ABI 3 /* the first with truncate(2), whose right is bit 14 */
#define READS \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITES (((UINT64_C(1) << 15) - 1) & ~(uint64_t)READS)

static bool allow_below(int ruleset, int fd, uint64_t access)
{
	const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};

	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >=
	       LANDLOCK_ABI;
}

/* The daemon, and programs that it runs, send their output to /dev/null. */
static bool restrict_writes(int folder)
{
	const struct landlock_ruleset_attr attr = {.handled_access_fs = WRITES};
	SCOPE_CLOSE int null = open("/dev/null", O_PATH | O_CLOEXEC);
	SCOPE_CLOSE int ruleset = -1;

	if (!has_landlock())
		return false;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	return ruleset >= 0 && allow_below(ruleset, null, LANDLOCK_ACCESS_FS_WRITE_FILE) &&
	       (folder < 0 || allow_below(ruleset, folder, WRITES)) &&
	       syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}

/* --- seccomp --------------------------------------------------------------------------------- */

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define SOCKET_TYPES 0xf /* the other bits of a type are flags */
#define UNNAMED	     (O_TMPFILE & ~O_DIRECTORY)
#define SET_IDS	     (S_ISUID | S_ISGID)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What needs a capability fails without being listed. */
static const uint32_t refused_calls[] = {
	/* other processes, and memory and queues that they share */
	SYS_process_madvise,
	SYS_process_mrelease,
	SYS_pidfd_getfd,
	SYS_kcmp,
	SYS_migrate_pages,
	SYS_move_pages,
#ifdef SYS_shmget
	SYS_shmget,
	SYS_shmat,
	SYS_shmctl,
	SYS_msgget,
	SYS_msgsnd,
	SYS_msgrcv,
	SYS_msgctl,
	SYS_semget,
	SYS_semop,
	SYS_semtimedop,
	SYS_semctl,
#endif
	SYS_mq_open,
	SYS_mq_unlink,
	SYS_mq_timedsend,
	SYS_mq_timedreceive,
	SYS_mq_notify,
	SYS_mq_getsetattr,
#ifdef SYS_ipc
	SYS_ipc,
#endif
	/* namespaces, in which capabilities could be had again */
	SYS_unshare,
	SYS_setns,
	/* files without their paths */
	SYS_open_by_handle_at,
	SYS_fanotify_init,
	/* what files are, by a structure that a filter does not see */
	SYS_file_setattr,
	/* rarely used parts of the kernel, where many of its holes were */
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_personality,
#ifdef __x86_64__
	SYS_modify_ldt,
#endif
};

/* What the calls of a job are answered by. */
static const uint32_t job_calls[] = {
	SYS_process_vm_readv,
	SYS_process_vm_writev,
};

static const uint32_t job_ioctls[] = {
	(uint32_t)SECCOMP_IOCTL_NOTIF_RECV,
	(uint32_t)SECCOMP_IOCTL_NOTIF_SEND,
	(uint32_t)SECCOMP_IOCTL_NOTIF_ID_VALID,
	(uint32_t)SECCOMP_IOCTL_NOTIF_ADDFD,
};

/* What programs may need, but no daemon. */
static const uint32_t programs_calls[] = {
	SYS_execve,
	SYS_execveat,
/* modes, owners, times and attributes of files, which Landlock leaves alone */
#ifdef SYS_chmod
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
	SYS_fchmod,
	SYS_fchmodat,
	SYS_fchmodat2,
	SYS_fchown,
	SYS_fchownat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_setxattrat,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	SYS_removexattrat,
	/* signals, and the pace of other processes */
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_send_signal,
	SYS_setpriority,
	SYS_ioprio_set,
	SYS_sched_setparam,
	SYS_sched_setscheduler,
	SYS_sched_setattr,
	SYS_sched_setaffinity,
	/* connections of others */
	SYS_listen,
	SYS_accept,
	SYS_accept4,
};

/* What only the disk cache needs. */
static const uint32_t folder_calls[] = {
#ifdef SYS_mkdir
	SYS_mkdir,     SYS_rmdir,    SYS_unlink,    SYS_rename,
	SYS_link,      SYS_symlink,  SYS_mknod,	    SYS_creat,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
	SYS_mkdirat,   SYS_unlinkat, SYS_renameat2, SYS_linkat,
	SYS_symlinkat, SYS_mknodat,  SYS_truncate,
};

/* Calls whose first argument is a process: this one, or another that is named here. */
static const struct {
	uint32_t call;
	bool zero;    /* 0 is this process, too */
	bool command; /* COMMAND may be it */
	bool always;  /* not even programs need others */
} process_calls[] = {
	{.call = SYS_kill, .command = true},
	{.call = SYS_tgkill},
	{.call = SYS_prlimit64, .zero = true, .always = true},
};

/* Where a call has the flags and the mode of a file that it makes; flags 0: it has none. */
static const struct {
	uint32_t call;
	unsigned flags, mode;
} mode_calls[] = {
#ifdef SYS_open
	{SYS_open, 1, 2},      {SYS_creat, 0, 1},   {SYS_mknod, 0, 1},	{SYS_chmod, 0, 1},
#endif
	{SYS_openat, 2, 3},    {SYS_mknodat, 0, 2}, {SYS_fchmod, 0, 1}, {SYS_fchmodat, 0, 2},
	{SYS_fchmodat2, 0, 2},
};

/* The sockets that there may be: near ones for the log; those of names, services of the machine and
 * servers for packs on servers. */
static const struct {
	uint32_t family, type, protocol;
} sockets[] = {
	{AF_UNIX, SOCK_DGRAM, 0},
	{AF_UNIX, SOCK_STREAM, 0},
	{AF_INET, SOCK_STREAM, 0},
	{AF_INET, SOCK_STREAM, IPPROTO_TCP},
	{AF_INET, SOCK_DGRAM, 0},
	{AF_INET, SOCK_DGRAM, IPPROTO_UDP},
	{AF_INET6, SOCK_STREAM, 0},
	{AF_INET6, SOCK_STREAM, IPPROTO_TCP},
	{AF_INET6, SOCK_DGRAM, 0},
	{AF_INET6, SOCK_DGRAM, IPPROTO_UDP},
	{AF_NETLINK, SOCK_RAW, NETLINK_ROUTE},
	{AF_NETLINK, SOCK_DGRAM, NETLINK_ROUTE},
};

/* What may be asked of a descriptor: whether it is a terminal, how much there is to read, and the
 * names of networks. A terminal would take more, such as what is typed; so would devices and
 * filesystems, for which a descriptor to read is enough. */
static const uint32_t asking_ioctls[] = {
	TCGETS,	 (uint32_t)TCGETS2, TIOCGWINSZ,	  FIONREAD,    FIONBIO,
	FIOCLEX, FIONCLEX,	    SIOCGIFINDEX, SIOCGIFNAME,
};

/* Kinds of requests of terminals, of which programs get those above only. */
static const uint32_t terminal_kinds[] = {'T', 't', 'K', 'V'};

/* A sanitizer writes reports to files. */
static bool makes_nothing(const struct sandbox *sandbox)
{
	return sandbox->folder < 0 && !sandbox->programs && !SANITIZED;
}

/* Services that take local streams, such as systemd's, would act for the daemon outside of the
 * sandbox. */
static void refuse_sockets(struct filter *filter, const struct sandbox *sandbox)
{
	size_t count = sandbox->network ? COUNT(sockets) : 1;
	unsigned at = filter_if_either(filter, SYS_socket, SYS_socketpair);

	for (size_t i = 0; i < count; i++) {
		unsigned family, type;

		filter_load(filter, FILTER_LOW(0));
		family = filter_if(filter, BPF_JEQ, sockets[i].family);
		filter_load(filter, FILTER_LOW(1));
		filter_mask(filter, SOCKET_TYPES);
		type = filter_if(filter, BPF_JEQ, sockets[i].type);
		filter_load(filter, FILTER_LOW(2));
		filter_return_if(filter, BPF_JEQ, sockets[i].protocol, SECCOMP_RET_ALLOW);
		filter_end_if(filter, type);
		filter_end_if(filter, family);
	}
	filter_return(filter, FILTER_REFUSE(EPERM));
	filter_end_if(filter, at);
}

static void refuse_ioctls(struct filter *filter, const struct sandbox *sandbox)
{
	unsigned at = filter_if(filter, BPF_JEQ, SYS_ioctl);

	filter_load(filter, FILTER_LOW(1));
	for (size_t i = 0; i < COUNT(asking_ioctls); i++)
		filter_return_if(filter, BPF_JEQ, asking_ioctls[i], SECCOMP_RET_ALLOW);
	for (size_t i = 0; sandbox->job && i < COUNT(job_ioctls); i++)
		filter_return_if(filter, BPF_JEQ, job_ioctls[i], SECCOMP_RET_ALLOW);
	if (!sandbox->programs)
		filter_return(filter, FILTER_REFUSE(ENOTTY));
	filter_mask(filter, 0xff00);
	for (size_t i = 0; i < COUNT(terminal_kinds); i++)
		filter_return_if(filter, BPF_JEQ, terminal_kinds[i] << 8, FILTER_REFUSE(ENOTTY));
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter_end_if(filter, at);
}

static void refuse_processes(struct filter *filter, const struct sandbox *sandbox)
{
	for (size_t i = 0; i < COUNT(process_calls); i++) {
		unsigned at;

		if ((sandbox->programs && !process_calls[i].always) ||
		    (sandbox->job && process_calls[i].command))
			continue;
		at = filter_if(filter, BPF_JEQ, process_calls[i].call);
		filter_load(filter, FILTER_LOW(0));
		filter_return_if(filter, BPF_JEQ, (uint32_t)getpid(), SECCOMP_RET_ALLOW);
		if (process_calls[i].zero)
			filter_return_if(filter, BPF_JEQ, 0, SECCOMP_RET_ALLOW);
		if (process_calls[i].command && sandbox->command > 0)
			filter_return_if(filter, BPF_JEQ, (uint32_t)sandbox->command,
					 SECCOMP_RET_ALLOW);
		filter_return(filter, FILTER_REFUSE(EPERM));
		filter_end_if(filter, at);
	}
}

/* Others would get the rights of this user by a program with such a mode. */
static void refuse_set_ids(struct filter *filter, const struct sandbox *sandbox)
{
	for (size_t i = 0; i < COUNT(mode_calls); i++) {
		unsigned flags = mode_calls[i].flags, makes = 0;
		unsigned at = filter_if(filter, BPF_JEQ, mode_calls[i].call);

		if (flags) {
			filter_load(filter, FILTER_LOW(flags));
			if (makes_nothing(sandbox))
				filter_return_if(filter, BPF_JSET, O_CREAT | O_TRUNC | UNNAMED,
						 FILTER_REFUSE(EACCES));
			makes = filter_if(filter, BPF_JSET, O_CREAT | UNNAMED);
		}
		filter_load(filter, FILTER_LOW(mode_calls[i].mode));
		filter_return_if(filter, BPF_JSET, SET_IDS, FILTER_REFUSE(EPERM));
		if (flags)
			filter_end_if(filter, makes);
		filter_return(filter, SECCOMP_RET_ALLOW);
		filter_end_if(filter, at);
	}
}

/* The disk cache notes by the time of a folder that it was used now. */
static void refuse_times(struct filter *filter, const struct sandbox *sandbox)
{
	const size_t null[] = {FILTER_LOW(1), FILTER_HIGH(1), FILTER_LOW(2),
			       FILTER_HIGH(2)}; /* path and times */
	unsigned at = filter_if(filter, BPF_JEQ, SYS_utimensat);

	if (sandbox->folder >= 0) {
		unsigned ifs[COUNT(null)];

		for (size_t i = 0; i < COUNT(null); i++) {
			filter_load(filter, null[i]);
			ifs[i] = filter_if(filter, BPF_JEQ, 0);
		}
		filter_return(filter, SECCOMP_RET_ALLOW);
		for (size_t i = 0; i < COUNT(null); i++)
			filter_end_if(filter, ifs[i]);
	}
	filter_return(filter, FILTER_REFUSE(EPERM));
	filter_end_if(filter, at);
}

/* What clone3() and openat2() are asked for is out of a filter's sight; libc then does without. */
static void add_calls(struct filter *filter, const struct sandbox *sandbox)
{
	unsigned at;

	FILTER_CALLS(filter, refused_calls, FILTER_REFUSE(EPERM));
	if (!sandbox->job)
		FILTER_CALLS(filter, job_calls, FILTER_REFUSE(EPERM));
	filter_return_if(filter, BPF_JEQ, SYS_clone3, FILTER_REFUSE(ENOSYS));
	filter_return_if(filter, BPF_JEQ, SYS_openat2, FILTER_REFUSE(ENOSYS));
	if (!SANITIZED)
		filter_return_if(filter, BPF_JEQ, SYS_ptrace, FILTER_REFUSE(EPERM));
	if (sandbox->job) /* of a socket that was made before */
		filter_return_if(filter, BPF_JEQ, SYS_accept4, SECCOMP_RET_ALLOW);
	if (!sandbox->programs) {
		FILTER_CALLS(filter, programs_calls, FILTER_REFUSE(EPERM));
		refuse_times(filter, sandbox);
	}
	if (!sandbox->network)
		filter_return_if(filter, BPF_JEQ, SYS_bind, FILTER_REFUSE(EPERM));
	if (makes_nothing(sandbox))
		FILTER_CALLS(filter, folder_calls, FILTER_REFUSE(EACCES));
	refuse_set_ids(filter, sandbox);
	at = filter_if(filter, BPF_JEQ, SYS_clone);
	filter_load(filter, FILTER_LOW(0));
	filter_return_if(filter, BPF_JSET, NAMESPACES, FILTER_REFUSE(EPERM));
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter_end_if(filter, at);
	/* Whoever owns a descriptor gets signals for what happens to it. */
	at = filter_if(filter, BPF_JEQ, SYS_fcntl);
	filter_load(filter, FILTER_LOW(1));
	filter_return_if(filter, BPF_JEQ, F_SETOWN, FILTER_REFUSE(EPERM));
	filter_return_if(filter, BPF_JEQ, F_SETOWN_EX, FILTER_REFUSE(EPERM));
	filter_return(filter, SECCOMP_RET_ALLOW);
	filter_end_if(filter, at);
	refuse_processes(filter, sandbox);
	refuse_sockets(filter, sandbox);
	refuse_ioctls(filter, sandbox);
}

/* --------------------------------------------------------------------------------------------- */

unsigned sandbox_available(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;
	bool seccomp = AUDIT_ARCH_NATIVE &&
		       syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;

	return (has_landlock() ? SANDBOX_LANDLOCK : 0) | (seccomp ? SANDBOX_SECCOMP : 0);
}

unsigned sandbox_enter(const struct sandbox *sandbox)
{
	static const uint32_t usual[] = {SYS_read, SYS_writev, SYS_preadv2, SYS_futex};
	SCOPE_CLOSE int terminal = -1;
	struct filter filter;
	struct stat st;
	unsigned held = 0;

	terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	/* The leader of a session would take it from all processes of it: main.c makes none serve.
	 */
	if (terminal >= 0 && getsid(0) != getpid())
		ioctl(terminal, TIOCNOTTY);
	/* What is made in the folder may be as open as that is: a mode cannot be changed later. */
	if (sandbox->folder >= 0 && fstat(sandbox->folder, &st) == 0)
		umask(~st.st_mode & 0777);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capabilities_keep(needed_capabilities(sandbox));
	if (!sandbox->programs && !sandbox->job && !SANITIZED && restrict_writes(sandbox->folder))
		held |= SANDBOX_LANDLOCK;
	filter_begin(&filter, FILTER_REFUSE(EPERM));
	/* Before Linux 5.11, the kernel runs the filter for each call. */
	for (size_t i = 0; i < COUNT(usual); i++)
		filter_return_if(&filter, BPF_JEQ, usual[i], SECCOMP_RET_ALLOW);
	add_calls(&filter, sandbox);
	if (filter_install(&filter, 0) == 0)
		held |= SANDBOX_SECCOMP;
	return held;
}
