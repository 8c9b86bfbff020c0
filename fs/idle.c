#include "fs/idle.h"
#include <errno.h>
#include <sys/mount.h>

int idle_expire(const char *path)
{
	if (umount2(path, MNT_EXPIRE | UMOUNT_NOFOLLOW) == 0)
		return 1;
	return errno == EAGAIN || errno == EBUSY ? 0 : -errno;
}
