#include "pack/tool/import/zarr_tree.h"

#include "base/scope.h"
#include "base/size.h"
#include <fcntl.h>
#include <string.h>

#define META_MOST  (16 * MIB)
#define DEPTH_MOST 64

struct zarr_walk {
	struct buf *found;
	struct zarr_others *others;
	struct buf path; /* of the folder */
	struct err *err;
};

/* Returns an enum zarr_node, or a failure. */
static int read_meta(struct zarr_walk *walk, int folder, enum zarr_version version,
		     struct zarr_array *ret)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	const char *name = zarr_meta_name(version);
	struct err why = {0};
	int r = zarr_read_file(folder, name, META_MOST, &text, &why);

	if (r == -ENOENT)
		return ZARR_NOTHING;
	if (r == 0)
		r = zarr_meta_read(version, text.data, text.len, ret, &why);
	if (r < 0)
		err_set(walk->err, r, "%s%s: %s", walk->path.len ? walk->path.data : "", name,
			r == -ELOOP ? "is a symbolic link" : err_text(&why, r));
	/* A folder of other things may have a file of that name. */
	return r < 0 && walk->path.len == 0 && r != -EOPNOTSUPP && r != -ENOMEM ? ZARR_NOTHING : r;
}

static int look_at_folder(struct zarr_walk *walk, int folder, struct zarr_found *ret)
{
	int r = ZARR_NOTHING;

	for (enum zarr_version version = 0; r == ZARR_NOTHING && version < ZARR_VERSIONS; version++)
		r = read_meta(walk, folder, version, &ret->array);
	if (r == ZARR_NOTHING && faccessat(folder, ".zgroup", F_OK, 0) == 0)
		r = ZARR_GROUP;
	return r;
}

static int add_found(struct zarr_walk *walk, struct zarr_found *found)
{
	size_t len = walk->path.len;
	int r;

	found->path = strndup(len ? walk->path.data : "", len ? len - 1 : 0);
	r = found->path ? buf_add(walk->found, found, sizeof(*found)) : -ENOMEM;
	if (r < 0)
		free(found->path);
	return r;
}

static int walk_below(struct zarr_walk *walk, int folder, unsigned depth);

/* Folders of N5 need no metadata. */
static int walk_folder(struct zarr_walk *walk, int folder, unsigned depth)
{
	struct zarr_found found = {0};
	int r = look_at_folder(walk, folder, &found);

	if (r == ZARR_ARRAY)
		return add_found(walk, &found);
	if (r == ZARR_NOTHING && depth == 0)
		return -ENOMSG;
	return r < 0 ? r : walk_below(walk, folder, depth);
}

static bool is_meta(const char *name)
{
	bool found = false;

	for (enum zarr_version version = 0; !found && version < ZARR_VERSIONS; version++)
		found = strcmp(name, zarr_meta_name(version)) == 0;
	return found;
}

static int note_other(struct zarr_walk *walk, const char *name)
{
	struct zarr_others *others = walk->others;

	if (is_meta(name) || others->count++)
		return 0;
	return buf_addf(&others->first, "%s%s", walk->path.len ? walk->path.data : "", name);
}

static int enter(struct zarr_walk *walk, int above, const char *name, unsigned depth)
{
	SCOPE_CLOSE int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t len = walk->path.len;
	int r;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return note_other(walk, name);
	if (fd < 0)
		return err_set(walk->err, -errno, "%s%s: %s", len ? walk->path.data : "", name,
			       strerror(errno));
	r = buf_addf(&walk->path, "%s/", name);
	if (r == 0 && depth > DEPTH_MOST)
		r = err_set(walk->err, -ELOOP, "%s: over %d folders deep", walk->path.data,
			    DEPTH_MOST);
	if (r == 0)
		r = walk_folder(walk, fd, depth);
	walk->path.len = len;
	if (len)
		walk->path.data[len] = '\0';
	return r;
}

static int walk_below(struct zarr_walk *walk, int folder, unsigned depth)
{
	struct dirent **list = NULL;
	int count = zarr_list(folder, &list), r = count < 0 ? count : 0;

	for (int i = 0; r == 0 && i < count; i++)
		if (list[i]->d_name[0] != '.')
			r = enter(walk, folder, list[i]->d_name, depth + 1);
	zarr_list_free(list, count);
	return r;
}

/* --- labels ----------------------------------------------------------------------------------- */

static int compare_found(const void *a, const void *b)
{
	return strcmp(((const struct zarr_found *)a)->path, ((const struct zarr_found *)b)->path);
}

static bool are_labels(const struct zarr_array *array, uint64_t count)
{
	return array->chunks != ZARR_IMAGE && array->rank == 1 && array->width &&
	       array->shape[0] == count;
}

static int find_labels(struct zarr_found *images, const struct buf *all, struct err *err)
{
	static const char *const names[] = {"labels", "label", "targets", "target", "y"};
	const char *slash = strrchr(images->path, '/');
	SCOPE(buf_release) struct buf path = BUF_INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !images->labels; i++) {
		struct zarr_found *found, key = {0};

		path.len = 0;
		if (buf_addf(&path, "%.*s%s", slash ? (int)(slash + 1 - images->path) : 0,
			     images->path, names[i]) < 0)
			return -ENOMEM;
		key.path = path.data;
		found = buf_find(all, &key, sizeof(key), compare_found);
		if (!found || !are_labels(&found->array, images->array.shape[0]))
			continue;
		if (found->array.chunks != ZARR_VALUES)
			return err_set(err, -EOPNOTSUPP,
				       "%s: labels are read where they are compressed by gzip, "
				       "zlib, zstd or blosc, or not at all",
				       found->path);
		images->labels = found;
		found->images++;
	}
	return 0;
}

int zarr_tree_find(int root, struct buf *ret, struct zarr_others *others, struct err *err)
{
	struct zarr_walk walk = {.found = ret, .others = others, .err = err};
	int r = walk_folder(&walk, root, 0);
	struct zarr_found *all = BUF_ITEMS(ret, struct zarr_found);
	size_t count = BUF_COUNT(ret, *all);

	buf_release(&walk.path);
	buf_sort(ret, sizeof(*all), compare_found);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (all[i].array.chunks == ZARR_IMAGE && all[i].array.chunk[0] == 1)
			r = find_labels(&all[i], ret, err);
	return r;
}

void zarr_tree_release(struct buf *found)
{
	struct zarr_found *all = BUF_ITEMS(found, struct zarr_found);

	for (size_t i = 0; i < BUF_COUNT(found, *all); i++)
		free(all[i].path);
	buf_release(found);
}
