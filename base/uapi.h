/* What the kernel has had since 4.18, by the numbers that are the same on all architectures: its
 * headers may be older than the kernel that runs. Whoever uses it does without where the kernel has
 * none. */
#pragma once

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup    425
#define SYS_io_uring_enter    426
#define SYS_io_uring_register 427
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat	  463
#define SYS_getxattrat	  464
#define SYS_listxattrat	  465
#define SYS_removexattrat 466
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif
#ifndef SYS_fspick
#define SYS_fspick 433
#endif
#ifndef SYS_open_tree_attr /* 6.15 */
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_open_tree
#define SYS_open_tree  428
#define SYS_move_mount 429
#define SYS_fsopen     430
#endif
#ifndef SYS_file_setattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif

#ifndef TCGETS2 /* musl */
#define TCGETS2 0x802c542aU
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#endif

#ifndef RENAME_NOREPLACE /* musl */
#define RENAME_NOREPLACE 1
#endif

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#else
#define LANDLOCK_CREATE_RULESET_VERSION 1
#define LANDLOCK_RULE_PATH_BENEATH	1
#define LANDLOCK_ACCESS_FS_EXECUTE	1
#define LANDLOCK_ACCESS_FS_WRITE_FILE	2
#define LANDLOCK_ACCESS_FS_READ_FILE	4
#define LANDLOCK_ACCESS_FS_READ_DIR	8

struct landlock_ruleset_attr {
	uint64_t handled_access_fs;
};

struct landlock_path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));
#endif

/* The architecture of this program, as seccomp names it; 0: without filters. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#if defined(__x86_64__)
#define AUDIT_ARCH_NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define AUDIT_ARCH_NATIVE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__)
#define AUDIT_ARCH_NATIVE AUDIT_ARCH_PPC64LE
#endif
#endif
#ifndef AUDIT_ARCH_NATIVE
#define AUDIT_ARCH_NATIVE 0
#endif
#define X32_CALLS 0x40000000 /* x86-64: a bit of the numbers of its other calls */

#ifndef SECCOMP_RET_USER_NOTIF /* Linux 5.0 */
#define SECCOMP_RET_USER_NOTIF		 0x7fc00000U
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1UL << 3)
struct seccomp_notif {
	uint64_t id;
	uint32_t pid;
	uint32_t flags;
	struct seccomp_data data;
};
struct seccomp_notif_resp {
	uint64_t id;
	int64_t val;
	int32_t error;
	uint32_t flags;
};
#define SECCOMP_IOC_MAGIC	 '!'
#define SECCOMP_IOCTL_NOTIF_RECV _IOWR(SECCOMP_IOC_MAGIC, 0, struct seccomp_notif)
#define SECCOMP_IOCTL_NOTIF_SEND _IOWR(SECCOMP_IOC_MAGIC, 1, struct seccomp_notif_resp)
#endif
#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE /* 5.5 */
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_ADDFD /* 5.9 */
struct seccomp_notif_addfd {
	uint64_t id;
	uint32_t flags, srcfd, newfd, newfd_flags;
};
#define SECCOMP_IOCTL_NOTIF_ADDFD _IOW(SECCOMP_IOC_MAGIC, 3, struct seccomp_notif_addfd)
#define SECCOMP_ADDFD_FLAG_SETFD  (1UL << 0)
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND /* 5.14 */
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   _IOW(SECCOMP_IOC_MAGIC, 4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif
#ifdef SECCOMP_IOCTL_NOTIF_ID_VALID /* with the wrong direction before 5.9 */
#undef SECCOMP_IOCTL_NOTIF_ID_VALID
#endif
#define SECCOMP_IOCTL_NOTIF_ID_VALID _IOW(SECCOMP_IOC_MAGIC, 2, uint64_t)
#ifndef F_SEAL_FUTURE_WRITE /* 5.1 */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL /* 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif
