#include "pack/tool/export/strays.h"

#include "base/scope.h"
#include "pack/tool/export/outputs.h"
#include <libgen.h>
#include <string.h>

/* The part of `name` after the last name of the target, or NULL. */
static const char *rest_of(const char *name, const char *base)
{
	size_t len = strlen(base);

	return strncmp(name, base, len) == 0 ? name + len : NULL;
}

/* An export that was killed leaves partial files. */
static bool is_stray(const struct export_format *format, const char *rest, uint64_t shards)
{
	const char *end = strstr(rest, OUTPUT_PARTIAL);
	SCOPE_FREE char *name = strndup(rest, end ? (size_t)(end - rest) : strlen(rest));

	return name && format->is_stray(name, shards);
}

static int look_for_strays(DIR *folder, const char *path, const char *base,
			   const struct export_format *format, uint64_t shards, struct err *err)
{
	struct dirent *found;

	while ((found = readdir(folder))) {
		const char *rest = rest_of(found->d_name, base);

		if (rest && is_stray(format, rest, shards))
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
