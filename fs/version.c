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

static void print_features(const char *title, bool found)
{
	unsigned sandbox = sandbox_available();
	struct statx_file root;
	const struct {
		const char *name;
		bool found;
	} features[] = {{"/dev/fuse", access("/dev/fuse", R_OK | W_OK) == 0},
			{"statx", statx_file(AT_FDCWD, "/", &root) == 0},
			{"cachestat", cached_pages(-1, 0, 1) == -EBADF},
			{"Landlock", sandbox & SANDBOX_LANDLOCK},
			{"seccomp", sandbox & SANDBOX_SECCOMP},
			{"seccomp listeners", probe_listener(NULL) == 0}};

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (features[i].found == found) {
			printf("%s%s", title, features[i].name);
			title = ", ";
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
