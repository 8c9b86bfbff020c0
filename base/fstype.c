#include "base/fstype.h"
#include <stddef.h>
#include <stdint.h>

/* As linux/magic.h has them, which lacks some on older systems. */
static const uint32_t memory_fs[] = {
	0x01021994, /* tmpfs */
	0x858458f6, /* ramfs */
};
static const uint32_t remote_fs[] = {
	0x6969,	    /* NFS */
	0x517b,	    /* SMB */
	0xff534d42, /* CIFS */
	0xfe534d42, /* SMB2 */
	0x5346414f, /* AFS */
	0x6b414653, /* kAFS */
	0x00c36400, /* Ceph */
	0x01021997, /* 9P */
	0x65735546, /* FUSE */
	0x7461636f, /* OCFS2 */
	0x0bd00bd0, /* Lustre */
	0x47504653, /* GPFS */
	0x19830326, /* BeeGFS */
	0x01161970, /* GFS2 */
	0xaad7aaea, /* PanFS */
	0xbeefdead, /* StorNext */
	0xa501fcf5, /* VxFS */
};

/* The type of f_type is not the same in all C libraries. */
static bool one_of(const struct statfs *fs, const uint32_t *types, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (types[i] == (uint32_t)fs->f_type)
			return true;
	return false;
}

bool fstype_is_remote(const struct statfs *fs)
{
	return one_of(fs, remote_fs, sizeof(remote_fs) / sizeof(remote_fs[0]));
}

bool fstype_is_memory(const struct statfs *fs)
{
	return one_of(fs, memory_fs, sizeof(memory_fs) / sizeof(memory_fs[0]));
}
