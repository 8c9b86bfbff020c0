#include "pack/tool/export/strays.h"

#include "base/scope.h"
#include <libgen.h>
#include <string.h>

/* The part of `name` after the last name of the target, or NULL. */
static const char *rest_of(const char *name, const char *base)
{
	size_t len = strlen(base);

	return strncmp(name, base, len) == 0 ? name + len : NULL;
}

static int look_for_strays(DIR *folder, const char *path, const char *base,
			   const struct export_format *format, uint64_t shards, struct err *err)
{
	struct dirent *found;

	while ((found = readdir(folder))) {
		const char *rest = rest_of(found->d_name, base);

		if (rest && format->is_stray(rest, shards))
			return err_set(err, -EEXIST,
				       "%s/%s: a shard of another export; remove those, or "
				       "choose another TARGET",
				       path, found->d_name);
	}
	return 0;
}

int strays_check(const struct export_format *format, const char *target, uint64_t shards,
		 struct err *err)
{
	SCOPE(buf_release) struct buf stem = BUF_INIT;
	SCOPE_FREE char *above = NULL, *last = NULL;
	SCOPE_DIR DIR *folder = NULL;
	const char *path;
	int r = format->stem(&stem, target);

	if (r < 0)
		return r;
	above = strdup(stem.data);
	last = strdup(stem.data);
	if (!above || !last)
		return -ENOMEM;
	path = dirname(above);
	folder = opendir(path);
	if (!folder)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return look_for_strays(folder, path, basename(last), format, shards, err);
}
