/* What the kernel has had since 4.18, by the numbers that are the same on all architectures: its
 * headers may be older than the kernel that runs. Whoever uses it does without where the kernel has
 * none. */
#pragma once

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
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_setattr
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
