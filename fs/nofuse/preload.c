#include "fs/nofuse/preload.h"
#include "base/python.h"
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

uint64_t preload_set(const struct skeleton *skeleton)
{
	SCOPE(buf_release) struct buf said = BUF_INIT;
	uint64_t mark;
	struct statx_file folder;
	struct statfs fs;
	dev_t memory = 0;

	if (add_object() < 0 || find_memory(&memory) < 0 || fstatfs(skeleton->folder, &fs) < 0 ||
	    statx_file(skeleton->folder, "", &folder) < 0 ||
	    getrandom(&mark, sizeof(mark), 0) != sizeof(mark) ||
	    buf_addf(&said, "%jx %jx %jx %jx %jx %x %s", (uintmax_t)mark, (uintmax_t)memory,
		     (uintmax_t)skeleton->own.device, (uintmax_t)skeleton->own.inode,
		     (uintmax_t)folder.mount, fs.f_type == OVERLAYFS_SUPER_MAGIC,
		     skeleton->path) < 0 ||
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
