#include "base/statx.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DONT_SYNC 0x4000 /* AT_STATX_DONT_SYNC */
#define WITHOUT	  0x1800 /* AT_NO_AUTOMOUNT | AT_EMPTY_PATH */
#define INODE	  0x1101 /* STATX_INO | STATX_TYPE | STATX_MNT_ID */
#define BTIME	  0x800	 /* STATX_BTIME */
#define DIOALIGN  0x2000 /* STATX_DIOALIGN */

/* struct statx of linux/stat.h, with names for what is used here. */
struct statx_result {
	uint32_t mask;
	uint32_t before[6];
	uint16_t mode, spare;
	uint64_t inode;
	uint32_t between[10];
	int64_t made_s;
	uint32_t made_ns;
	uint32_t times[11];
	uint32_t dev_major, dev_minor;
	uint64_t mnt_id;
	uint32_t dio_mem_align, dio_offset_align;
	uint64_t after[12];
};

_Static_assert(sizeof(struct statx_result) == 256, "as the kernel writes it");

static int statx_call(int folder, const char *path, int flags, unsigned mask,
		      struct statx_result *ret)
{
	return syscall(SYS_statx, folder, path, flags, mask, ret) < 0 ? -errno : 0;
}

int statx_direct_io(int fd, uint32_t *ret_memory, uint32_t *ret_offset)
{
	struct statx_result st;
	int r = statx_call(fd, "", AT_EMPTY_PATH, DIOALIGN, &st);

	if (r < 0)
		return r;
	if (!(st.mask & DIOALIGN))
		return -EOPNOTSUPP;
	*ret_memory = st.dio_mem_align;
	*ret_offset = st.dio_offset_align;
	return 0;
}

int statx_file(int folder, const char *path, struct statx_file *ret)
{
	struct statx_result st;
	int flags = DONT_SYNC | WITHOUT | AT_SYMLINK_NOFOLLOW;
	int r = statx_call(folder, path, flags, INODE | BTIME, &st);

	if (r < 0)
		return r;
	*ret = (struct statx_file){.device = makedev(st.dev_major, st.dev_minor),
				   .inode = st.inode,
				   .type = st.mode & S_IFMT,
				   .mount = st.mnt_id};
	if (st.mask & BTIME)
		ret->made = st.made_s * 1000000000 + st.made_ns;
	return 0;
}
