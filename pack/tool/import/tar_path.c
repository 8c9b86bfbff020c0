#include "pack/tool/import/tar_path.h"

#include "pack/format.h"
#include <errno.h>
#include <string.h>

static const char *const suffixes[] = {".tar",	  ".tar.gz",  ".tgz",	  ".tar.zst",
				       ".tar.xz", ".tar.bz2", ".tar.lz4", NULL};

static const char *component_fault(const char *component, size_t len)
{
	if (len > FORMAT_NAME_MAX)
		return "a name over 255 bytes";
	if (len == 2 && memcmp(component, "..", 2) == 0)
		return "a path with '..'";
	return NULL;
}

static int add_component(struct buf *path, const char *component, size_t len)
{
	int r = path->len ? buf_add(path, "/", 1) : 0;

	return r < 0 ? r : buf_add(path, component, len);
}

int tar_path_add(struct buf *path, const char *name, const char **ret_fault)
{
	const char *fault = NULL;
	int r = 0;

	for (size_t len; r == 0 && !fault && *name; name += len) {
		name += strspn(name, "/");
		len = strcspn(name, "/");
		if (len == 0 || (len == 1 && *name == '.'))
			continue;
		fault = component_fault(name, len);
		if (!fault)
			r = add_component(path, name, len);
	}
	if (r == 0)
		r = buf_adds(path, "");
	if (r == 0 && path->len > TAR_PATH_MAX)
		fault = "a path over 16383 bytes";
	if (r < 0 || !fault)
		return r;
	*ret_fault = fault;
	return -EINVAL;
}

size_t tar_path_stem(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	for (const char *const *suffix = suffixes; *suffix; suffix++) {
		size_t cut = strlen(*suffix);

		if (len > cut && strcasecmp(name + len - cut, *suffix) == 0)
			return (size_t)(name - path) + len - cut;
	}
	return 0;
}
