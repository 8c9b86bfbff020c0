#include "base/fstype.h"
#include <stddef.h>

/* As linux/magic.h has them, which lacks some on older systems. */
static const long memory_fs[] = {
	0x01021994, /* tmpfs */
	0x858458f6, /* ramfs */
};
static const long remote_fs[] = {
	0x6969,	    /* NFS */
	0x517b,	    /* SMB */
	0xff534d42, /* CIFS */
	0xfe534d42, /* SMB2 */
	0x5346414f, /* AFS */
	0x00c36400, /* Ceph */
	0x01021997, /* 9P */
	0x65735546, /* FUSE */
	0x7461636f, /* OCFS2 */
	0x0bd00bd0, /* Lustre */
	0x47504653, /* GPFS */
	0x19830326, /* BeeGFS */
	0x01161970, /* GFS2 */
};

static bool one_of(long type, const long *types, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (types[i] == type)
			return true;
	return false;
}

bool fstype_is_remote(long type)
{
	return one_of(type, remote_fs, sizeof(remote_fs) / sizeof(remote_fs[0]));
}

bool fstype_is_memory(long type)
{
	return one_of(type, memory_fs, sizeof(memory_fs) / sizeof(memory_fs[0]));
}
