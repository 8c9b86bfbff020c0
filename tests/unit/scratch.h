/* Where tests write, and how that goes again. */
#pragma once

#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

/* A folder, in memory where there is room: what is tested there is synced often. */
static inline void scratch_make(char dir[32])
{
	struct statvfs room;
	bool fits = statvfs("/dev/shm", &room) == 0 &&
		    room.f_bavail * room.f_frsize > (uint64_t)4 << 30;

	snprintf(dir, 32, "%s/test.XXXXXX", fits ? "/dev/shm" : "/tmp");
	if (!mkdtemp(dir))
		abort();
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* A folder and all that is in it; links are not followed. Returns 0, or what nftw(3) does. */
static inline int scratch_remove(const char *dir)
{
	return nftw(dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
