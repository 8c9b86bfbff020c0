#include "pack/tool/create/links.h"

#include "base/scope.h"
#include "pack/tool/import/entry_table.h"
#include <string.h>

/* Without its last component. */
static void go_up(struct buf *path)
{
	const char *slash = memrchr(path->data, '/', path->len);

	path->len = slash ? (size_t)(slash - path->data) : 0;
}

/* Sets ret to the path that a link at `path` leads to: 0, -EXDEV (out of the pack) or -ENOMEM. */
static int resolve_link(const char *path, const char *target, struct buf *ret)
{
	size_t len;
	int r = *target == '/' ? -EXDEV : 0;

	ret->len = 0;
	if (r == 0)
		r = buf_adds(ret, path);
	if (r == 0)
		go_up(ret);
	for (; r == 0 && *target; target += len) {
		target += strspn(target, "/");
		len = strcspn(target, "/");
		if (len == 0 || (len == 1 && *target == '.'))
			continue;
		if (len == 2 && memcmp(target, "..", 2) == 0 && ret->len == 0)
			return -EXDEV;
		if (len == 2 && memcmp(target, "..", 2) == 0)
			go_up(ret);
		else
			r = buf_addf(ret, "%s%.*s", ret->len ? "/" : "", (int)len, target);
	}
	return r < 0 ? r : buf_adds(ret, "");
}

/* Whether an entry is a link that is kept: then both texts. 1, 0 or -ENOMEM. */
static int read_link(const struct builder *builder, uint32_t id, struct buf *path,
		     struct buf *target)
{
	struct builder_entry entry;
	int r;

	if (builder_kind(builder, id) != FORMAT_SYMLINK || builder_is_dropped(builder, id))
		return 0;
	entry = builder_entry(builder, id);
	target->len = 0;
	r = buf_addf(target, "%.*s", (int)entry.target_len, entry.target);
	if (r == 0)
		r = builder_path(builder, id, path);
	return r < 0 ? r : 1;
}

/* The paths of what was dropped. */
static int map_dropped(const struct builder *builder, uint64_t entries, struct entry_table *map)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < entries; id++) {
		if (!builder_is_dropped(builder, id))
			continue;
		r = builder_path(builder, id, &path);
		if (r == 0)
			r = entry_table_add(map, entry_table_hash(path.data, path.len), id);
	}
	return r;
}

int links_find(const struct builder *builder, uint64_t entries, enum links_kind kind,
	       int (*found)(void *context, const char *path, const char *target), void *context)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, target = BUF_INIT, to = BUF_INIT;
	SCOPE(entry_table_release) struct entry_table dropped = {0};
	int r = kind == LINKS_DANGLING ? map_dropped(builder, entries, &dropped) : 0;
	uint32_t file;

	for (uint32_t id = 1; r >= 0 && id < entries; id++) {
		r = read_link(builder, id, &path, &target);
		if (r != 1)
			continue;
		r = resolve_link(path.data, target.data, &to);
		if (r == 0)
			r = entry_table_find_path(&dropped, builder, to.data, to.len, &file);
		if (r == (kind == LINKS_LEAVING ? -EXDEV : 0))
			r = found(context, path.data, r ? target.data : to.data);
		else if (r == -EXDEV || r == -ENOENT)
			r = 0;
	}
	return r < 0 ? r : 0;
}
