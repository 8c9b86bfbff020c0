#include "fs/life/stats.h"
#include "base/scope.h"
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

ssize_t stats_read(const char *path, char **ret)
{
	*ret = malloc(XATTR_SIZE_MAX + 1);
	return *ret ? getxattr(path, STATS_NAME, *ret, XATTR_SIZE_MAX) : -1;
}

bool stats_say_leaving(const char *path)
{
	static const char says[] = "\"leaving\": true";
	SCOPE_FREE char *stats = NULL;
	ssize_t len = stats_read(path, &stats);

	return len > 0 && memmem(stats, (size_t)len, says, strlen(says));
}
