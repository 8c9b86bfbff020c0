/* Removes what a test has written. */
#pragma once

#include <ftw.h>
#include <stdio.h>

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
