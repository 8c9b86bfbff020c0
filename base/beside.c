#include "base/beside.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int look(const char *folder, int len, const char *below, const char *name, struct buf *ret)
{
	int r;

	ret->len = 0;
	r = buf_addf(ret, "%.*s%s%s", len, folder, below, name);
	return r == 0 && access(ret->data, R_OK) < 0 ? -errno : r;
}

int beside_find(const char *built, const char *installed, const char *name, struct buf *ret)
{
	char self[PATH_MAX] = "";
	const char *slash;
	int len, r;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	slash = strrchr(self, '/');
	len = slash ? (int)(slash + 1 - self) : 0;
	r = look(self, len, built, name, ret);
	return r == -ENOENT ? look(self, len, installed, name, ret) : r;
}
