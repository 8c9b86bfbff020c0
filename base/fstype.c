#include "base/fstype.h"
#include <linux/magic.h>
#include <stddef.h>

static const long memory_fs[] = {TMPFS_MAGIC, RAMFS_MAGIC};
static const long remote_fs[] = {
	NFS_SUPER_MAGIC,   SMB_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
	AFS_SUPER_MAGIC,   CEPH_SUPER_MAGIC, V9FS_MAGIC,       FUSE_SUPER_MAGIC,
	OCFS2_SUPER_MAGIC, 0x0bd00bd0, /* Lustre */
	0x47504653,		       /* GPFS */
	0x19830326,		       /* BeeGFS */
	0x01161970,		       /* GFS2 */
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
