/* Kinds of filesystems, by their numbers: base/fstype.h. */
#include "base/fstype.h"
#include "tests/unit/test.h"

static struct statfs of_type(uint32_t type)
{
	/* Some C libraries keep it as a signed int. */
	return (struct statfs){.f_type = (__typeof__(((struct statfs *)0)->f_type))type};
}

TEST(what_other_machines_use_is_remote)
{
	/* NFS, SMB, CIFS, SMB2, AFS, kAFS, Ceph, 9P, FUSE, OCFS2, Lustre, GPFS, BeeGFS, GFS2,
	 * PanFS, StorNext, VxFS */
	const uint32_t types[] = {0x6969,     0x517b,	  0xff534d42, 0xfe534d42, 0x5346414f,
				  0x6b414653, 0x00c36400, 0x01021997, 0x65735546, 0x7461636f,
				  0x0bd00bd0, 0x47504653, 0x19830326, 0x01161970, 0xaad7aaea,
				  0xbeefdead, 0xa501fcf5};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct statfs fs = of_type(types[i]);

		assert_true(fstype_is_remote(&fs));
		assert_false(fstype_is_memory(&fs));
	}
}

TEST(disks_and_memory_are_not)
{
	/* ext4, XFS, Btrfs, overlayfs, tmpfs */
	const uint32_t types[] = {0xef53, 0x58465342, 0x9123683e, 0x794c7630, 0x01021994};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct statfs fs = of_type(types[i]);

		assert_false(fstype_is_remote(&fs));
		assert_int_equal(fstype_is_memory(&fs), types[i] == 0x01021994);
	}
}
