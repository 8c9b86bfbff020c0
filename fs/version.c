#include "fs/version.h"
#include "base/cached.h"
#include "base/size.h"
#include "base/statx.h"
#include "fs/fuse.h"
#include "fs/life/sandbox.h"
#include "fs/memory.h"
#include "fs/nofuse/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#if FOLDFS_STATIC
#define BUILD ", static"
#else
#define BUILD ""
#endif

static bool find_device(void)
{
	return access("/dev/fuse", R_OK | W_OK) == 0;
}

static bool find_statx(void)
{
	struct statx_file root;

	return statx_file(AT_FDCWD, "/", &root) == 0;
}

static bool find_cachestat(void)
{
	return cached_pages(-1, 0, 1) == -EBADF;
}

static bool find_landlock(void)
{
	return sandbox_available() & SANDBOX_LANDLOCK;
}

static bool find_seccomp(void)
{
	return sandbox_available() & SANDBOX_SECCOMP;
}

static bool find_listener(void)
{
	return probe_listener(NULL) == 0;
}

static const struct kernel_feature {
	const char *name;
	bool (*found)(void);
} kernel_features[] = {{"/dev/fuse", find_device},    {"statx", find_statx},
		       {"cachestat", find_cachestat}, {"Landlock", find_landlock},
		       {"seccomp", find_seccomp},     {"seccomp listeners", find_listener}};

static void print_features(const char *title, bool found)
{
	const char *between = title;

	for (size_t i = 0; i < sizeof(kernel_features) / sizeof(kernel_features[0]); i++)
		if (kernel_features[i].found() == found) {
			printf("%s%s", between, kernel_features[i].name);
			between = ", ";
		}
}

void version_print(void)
{
	unsigned xxhash = XXH_versionNumber();
	struct utsname kernel = {0};

	uname(&kernel);
	printf("foldfs %s%s\n", FOLDFS_VERSION, BUILD);
	printf("libfuse %s, built with %d.%d\n", fuse_pkgversion(), FUSE_MAJOR_VERSION,
	       FUSE_MINOR_VERSION);
	printf("xxHash %u.%u.%u\n", xxhash / 10000, xxhash / 100 % 100, xxhash % 100);
	printf("Linux %s, %s, pages of %d KiB", kernel.release, kernel.machine,
	       getpagesize() / 1024);
	print_features("\n  has ", true);
	print_features("\n  lacks ", false);
	printf("\n%" PRIu64 " MiB of memory available to this job", memory_available() / MIB);
	putchar('\n');
}
