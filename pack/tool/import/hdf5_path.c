#include "pack/tool/import/hdf5_path.h"

#include "base/scope.h"
#include "pack/tool/hdf5/report.h"
#include <stdlib.h>
#include <string.h>

struct hdf5_paths {
	struct name_tree *names;
	uint64_t number; /* of the entry */
	struct buf path;
};

int hdf5_paths_new(const struct foreign_settings *settings, const char *shown,
		   struct hdf5_paths **ret, struct err *err)
{
	struct hdf5_paths *paths = calloc(1, sizeof(*paths));
	int r = paths ? name_tree_new(settings, shown, &paths->names, err) : -ENOMEM;

	if (r < 0)
		free(paths);
	else
		*ret = paths;
	return r;
}

void hdf5_paths_free(struct hdf5_paths *paths)
{
	if (!paths)
		return;
	name_tree_free(paths->names);
	buf_release(&paths->path);
	free(paths);
}

/* A name that is a path has the class, too. */
static struct foreign_file file_of(const struct hdf5_paths *paths, const char *name, int64_t label)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
	struct foreign_file file = {
		.record = paths->number, .label = label, .name = {base, strlen(base)}};

	if (slash)
		file.class = (struct foreign_text){name, (size_t)(slash - name)};
	return file;
}

int hdf5_path(struct hdf5_paths *paths, struct tar_entry *entry, struct err *err)
{
	const char *mark = strchr(entry->path, HDF5_LABEL);
	SCOPE(buf_release) struct buf below = BUF_INIT;
	struct foreign_file file;
	struct foreign_text made;
	char *name;
	int64_t label;
	int r;

	if (!mark)
		return 0;
	label = strtoll(mark + 1, &name, 10);
	file = file_of(paths, name + (*name == '/'), label);
	paths->number++;
	r = foreign_add(name_tree_of(paths->names), &file, err);
	if (r == 0)
		r = buf_addf(&below, "%.*s", (int)(mark - entry->path), entry->path);
	if (r < 0)
		return r;
	made = foreign_tree_path(name_tree_of(paths->names), 0);
	paths->path.len = 0;
	r = buf_addf(&paths->path, "%s%.*s", below.data, (int)made.len, made.data);
	entry->path = paths->path.data;
	return r < 0 ? r : name_tree_forget(paths->names, below.data);
}
