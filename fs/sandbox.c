#include "fs/sandbox.h"
#include "base/scope.h"
#include "base/uapi.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>

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

static void keep_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	syscall(SYS_capget, &header, data);
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(keep >> 32 * i);
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0;
	}
	syscall(SYS_capset, &header, data);
}

static uint64_t needed_capabilities(const struct sandbox *sandbox)
{
	return (sandbox->opens ? UINT64_C(1) << CAP_DAC_READ_SEARCH : 0) |
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

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE AUDIT_ARCH_PPC64LE
#endif

#ifdef NATIVE

#define X32 0x40000000 /* x86-64: a bit of the numbers of its other calls */
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define SOCKET_TYPES 0xf /* the other bits of a type are flags */
#define PROGRAM_MAX  128

/* What needs a capability fails without being listed. */
static const uint32_t refused_calls[] = {
	/* other processes */
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_getfd,
	SYS_kcmp,
	/* namespaces, in which capabilities could be had again */
	SYS_unshare,
	SYS_setns,
	/* files without their paths */
	SYS_open_by_handle_at,
	SYS_fanotify_init,
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

struct program_text {
	struct sock_filter code[PROGRAM_MAX];
	unsigned short len;
};

static void add(struct program_text *text, struct sock_filter instruction)
{
	text->code[text->len++] = instruction;
}

static void add_load(struct program_text *text, size_t offset)
{
	add(text, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void add_return(struct program_text *text, uint32_t verdict)
{
	add(text, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, verdict));
}

/* If the test fails, `skip` instructions are passed over. */
static void add_test(struct program_text *text, uint16_t test, uint32_t value, uint8_t skip)
{
	add(text, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, skip));
}

static void refuse(struct program_text *text, uint32_t call, uint32_t error)
{
	add_test(text, BPF_JEQ, call, 1);
	add_return(text, SECCOMP_RET_ERRNO | error);
}

/* Refuses a call if the low word of its first argument passes the test. */
static void refuse_if(struct program_text *text, uint32_t call, uint16_t test, uint32_t value)
{
	add_test(text, BPF_JEQ, call, 4);
	add_load(text, offsetof(struct seccomp_data, args[0]));
	add_test(text, test, value, 1);
	add_return(text, SECCOMP_RET_ERRNO | EPERM);
	add_return(text, SECCOMP_RET_ALLOW);
}

/* Leaves local datagrams, for the log, and local packets, for the lock of a mount point. Services
 * that take local streams, such as systemd's, would act for the daemon outside of the sandbox. */
static void refuse_network(struct program_text *text)
{
	add_test(text, BPF_JEQ, SYS_socket, 8);
	add_load(text, offsetof(struct seccomp_data, args[0]));
	add_test(text, BPF_JGT, AF_UNIX, 1);
	add_return(text, SECCOMP_RET_ERRNO | EPERM);
	add_load(text, offsetof(struct seccomp_data, args[1]));
	add(text, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPES));
	add_test(text, BPF_JEQ, SOCK_STREAM, 1);
	add_return(text, SECCOMP_RET_ERRNO | EPERM);
	add_return(text, SECCOMP_RET_ALLOW);
}

/* The flags of clone3() are out of a filter's sight; libc then calls clone(). */
static void add_calls(struct program_text *text, const struct sandbox *sandbox)
{
	for (size_t i = 0; i < sizeof(refused_calls) / sizeof(refused_calls[0]); i++)
		refuse(text, refused_calls[i], EPERM);
	if (!SANITIZED)
		refuse(text, SYS_ptrace, EPERM);
	refuse(text, SYS_clone3, ENOSYS);
	refuse_if(text, SYS_clone, BPF_JSET, NAMESPACES);
	if (!sandbox->network)
		refuse_network(text);
	if (!sandbox->programs) {
		refuse(text, SYS_execve, EPERM);
		refuse(text, SYS_execveat, EPERM);
	}
}

/* Calls of another architecture, such as 32-bit ones, have other numbers. */
static void add_architecture(struct program_text *text)
{
	add_load(text, offsetof(struct seccomp_data, arch));
	add(text, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0));
	add_return(text, SECCOMP_RET_ERRNO | EPERM);
	add_load(text, offsetof(struct seccomp_data, nr));
	add_test(text, BPF_JGE, X32, 1);
	add_return(text, SECCOMP_RET_ERRNO | ENOSYS);
}

/* SPEC_ALLOW: before Linux 5.16, a filter slowed the whole process down otherwise. */
static bool refuse_calls(const struct sandbox *sandbox)
{
	struct program_text text = {0};
	struct sock_fprog program = {.filter = text.code};

	add_architecture(&text);
	add_calls(&text, sandbox);
	add_return(&text, SECCOMP_RET_ALLOW);
	program.len = text.len;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		       &program) == 0;
}

static bool has_seccomp(void)
{
	const uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

#else

static bool has_seccomp(void)
{
	return false;
}

static bool refuse_calls(const struct sandbox *sandbox)
{
	(void)sandbox;
	return false;
}

#endif

unsigned sandbox_available(void)
{
	unsigned landlock = has_landlock() ? SANDBOX_LANDLOCK : 0;

	return has_seccomp() ? landlock | SANDBOX_SECCOMP : landlock;
}

unsigned sandbox_enter(const struct sandbox *sandbox)
{
	unsigned held = 0;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	keep_capabilities(needed_capabilities(sandbox));
	if (!sandbox->programs && !SANITIZED && restrict_writes(sandbox->folder))
		held |= SANDBOX_LANDLOCK;
	if (refuse_calls(sandbox))
		held |= SANDBOX_SECCOMP;
	return held;
}
