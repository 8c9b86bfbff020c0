#include "fs/nofuse/preload.h"
#include "base/beside.h"
#include "base/mountinfo.h"
#include "base/scope.h"
#include "fs/nofuse/skeleton.h"
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define UNSAID ": $" /* what a path in LD_PRELOAD cannot have */

/* Where it is, behind what the user has there. */
static int add_object(void)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE(buf_release) struct buf all = BUF_INIT;
	const char *others = getenv("LD_PRELOAD");
	int r = beside_find("", "../lib/foldfs/", "foldfs-preload.so", &path);

	if (r == 0 && strpbrk(path.data, UNSAID))
		r = -EINVAL;
	if (r == 0)
		r = buf_addf(&all, "%s%s%s", others ? others : "", others && *others ? ":" : "",
			     path.data);
	return r == 0 && setenv("LD_PRELOAD", all.data, 1) < 0 ? -errno : r;
}

/* All files in memory are on one. */
static int find_memory(dev_t *ret)
{
	SCOPE_CLOSE int fd = memfd_create("device", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_dev;
	return 0;
}

/* What of a path is below another, with its '/'; NULL: it is not. */
static const char *below(const char *path, const char *top)
{
	size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);

	return strncmp(path, top, len) == 0 && (path[len] == '/' || !path[len]) ? path + len : NULL;
}

/* Calls a function with each mount that there is, until it returns true. Returns whether it did. */
static bool find_mount(bool matches(const struct mountinfo *mount, void *context), void *context)
{
	SCOPE_FILE FILE *table = fopen("/proc/self/mountinfo", "re");
	SCOPE_FREE char *line = NULL;
	struct mountinfo mount;
	size_t room = 0;

	while (table && mountinfo_next(table, &line, &room, &mount) == 0)
		if (matches(&mount, context))
			return true;
	return false;
}

/* Where the folder is. */
struct place {
	const struct skeleton *skeleton;
	struct mountinfo mount;
	char path[2 * PATH_MAX]; /* in the filesystem */
};

/* The last line of the longest path. */
static bool take_mount(const struct mountinfo *mount, void *context)
{
	struct place *place = context;

	if (below(place->skeleton->path, mount->path) &&
	    strlen(mount->path) >= strlen(place->mount.path))
		place->mount = *mount;
	return false;
}

static bool shows(const struct mountinfo *mount, void *context)
{
	const struct place *place = context;

	return mount->device == place->mount.device &&
	       strcmp(mount->path, place->mount.path) != 0 && below(place->path, mount->root);
}

/* Whether other paths lead there without a link, by another mount of the filesystem. */
static bool is_seen_twice(const struct skeleton *skeleton)
{
	struct place place = {.skeleton = skeleton};

	find_mount(take_mount, &place);
	snprintf(place.path, sizeof(place.path), "%s%s",
		 strcmp(place.mount.root, "/") ? place.mount.root : "",
		 below(skeleton->path, place.mount.path));
	return find_mount(shows, &place);
}

uint64_t preload_set(const struct skeleton *skeleton)
{
	SCOPE(buf_release) struct buf said = BUF_INIT;
	uint64_t mark;
	struct statfs fs;
	dev_t memory = 0;

	if (add_object() < 0 || is_seen_twice(skeleton) || find_memory(&memory) < 0 ||
	    fstatfs(skeleton->folder, &fs) < 0 ||
	    getrandom(&mark, sizeof(mark), 0) != sizeof(mark) ||
	    buf_addf(&said, "%jx %jx %jx %jx %x %s", (uintmax_t)mark, (uintmax_t)memory,
		     (uintmax_t)skeleton->device, (uintmax_t)skeleton->inode,
		     fs.f_type == OVERLAYFS_SUPER_MAGIC, skeleton->path) < 0 ||
	    setenv(PRELOAD_VARIABLE, said.data, 1) < 0)
		return 0;
	return mark;
}

bool preload_asks(uint64_t mark, const struct seccomp_data *call, uint64_t *address)
{
	*address = call->args[4];
	return mark && call->nr == SYS_openat &&
	       (call->args[5] ^ call->instruction_pointer) == PRELOAD_TELL(mark);
}
