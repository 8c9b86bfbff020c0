/* From the files of a foreign tree to the sections of its index, whose entries lie as those of a
 * pack: see pack/write/builder_finish.c. */
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include "pack/index_rows.h"
#include <string.h>

#define NO_ROW UINT32_MAX /* a folder of which only files tell */

/* An entry of the index, and the rows that are below it. */
struct entry {
	uint32_t parent;
	uint32_t row;
	uint32_t name, name_len; /* within the path of the row `first` */
	uint32_t first, end;	 /* rows: its own, and those below */
	uint32_t child, children;
};

struct making {
	struct foreign_tree *tree;
	const uint64_t *starts; /* of the volumes */
	struct buf entries;	/* struct entry */
	struct buf stack;	/* uint32_t: folders whose children are to come */
	uint32_t *files;	/* by tree_row.links: the entry that has the bytes; 0: not known */
};

static struct entry *entry_at(const struct making *m, uint32_t entry)
{
	return BUF_ITEMS(&m->entries, struct entry) + entry;
}

static uint32_t entry_count(const struct making *m)
{
	return (uint32_t)BUF_COUNT(&m->entries, struct entry);
}

static const char *path_of(const struct foreign_tree *tree, uint32_t row)
{
	return tree->paths.data + tree_rows(tree)[row].path;
}

static bool is_directory(const struct making *m, const struct entry *entry)
{
	return entry->row == NO_ROW || tree_rows(m->tree)[entry->row].kind == FORMAT_DIRECTORY;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Finds the next child, and the rows that begin with its name, from `first` on. Returns 0 or
 * -EEXIST. */
static int find_child(const struct making *m, uint32_t first, uint32_t end, uint32_t above,
		      struct entry *ret, struct err *err)
{
	const struct tree_row *rows = tree_rows(m->tree);
	const char *path = path_of(m->tree, first) + above;
	uint32_t len = rows[first].path_len - above, i = first + 1;
	const char *slash = memchr(path, '/', len);

	ret->name = above;
	ret->name_len = slash ? (uint32_t)(slash - path) : len;
	ret->row = slash ? NO_ROW : first;
	ret->first = first;
	for (; i < end; i++) {
		const char *other = path_of(m->tree, i) + above;
		uint32_t rest = rows[i].path_len - above;

		if (rest < ret->name_len || memcmp(other, path, ret->name_len) != 0 ||
		    (rest > ret->name_len && other[ret->name_len] != '/'))
			break;
		if (rest > ret->name_len
			    ? !is_directory(m, ret)
			    : rows[i].kind != FORMAT_DIRECTORY || !is_directory(m, ret))
			return err_set(err, -EEXIST,
				       "records %u and %u are both '%.*s'%s: '--names' gives them "
				       "other names",
				       rows[i - 1].record, rows[i].record,
				       (int)min(rows[i - 1].path_len, 200), path_of(m->tree, i - 1),
				       rest > ret->name_len ? ", a file and a folder" : "");
	}
	ret->end = i;
	return 0;
}

static int add_children(struct making *m, uint32_t folder, struct err *err)
{
	const struct entry own = *entry_at(m, folder);
	/* Bytes of the folder's path, with its slash, in the paths of the rows below it. */
	uint32_t above = folder ? own.name + own.name_len + 1 : 0;
	uint32_t row = own.first, end = own.end, child = entry_count(m);
	int r = 0;

	/* Its own rows come before those below it. */
	while (row < end && tree_rows(m->tree)[row].path_len < max(above, 1))
		row++;
	entry_at(m, folder)->child = row < end ? child : 0;
	while (r == 0 && row < end) {
		struct entry entry = {.parent = folder};

		r = find_child(m, row, end, above, &entry, err);
		row = entry.end;
		if (r == 0)
			r = buf_add(&m->entries, &entry, sizeof(entry));
	}
	entry_at(m, folder)->children = entry_count(m) - child;
	for (uint32_t i = entry_count(m); r == 0 && i-- > child;)
		if (is_directory(m, entry_at(m, i)))
			r = buf_add(&m->stack, &i, sizeof(i));
	return r;
}

/* --- sections --------------------------------------------------------------------------------- */

static const struct tree_row *row_of(const struct making *m, const struct entry *entry)
{
	return entry->row == NO_ROW ? NULL : &tree_rows(m->tree)[entry->row];
}

static struct index_row index_row_of(const void *context, uint32_t e)
{
	const struct making *m = context;
	const struct entry *entry = entry_at(m, e);
	const struct tree_row *row = row_of(m, entry);
	struct index_row ret = {.name = e ? path_of(m->tree, entry->first) + entry->name : "",
				.name_len = entry->name_len,
				.parent = entry->parent,
				.kind = row ? (enum format_kind)row->kind : FORMAT_DIRECTORY,
				.start = entry->child,
				.size = entry->children,
				.mtime = row ? row->mtime : 0};

	if (ret.kind == FORMAT_FILE && row->links && m->files[row->links] != e)
		ret.kind = FORMAT_HARDLINK;
	else if (ret.kind == FORMAT_FILE && format_parts(row->size))
		ret.kind = FORMAT_SPLIT;
	ret.mode = row && row->has_mode ? row->mode : ret.kind == FORMAT_DIRECTORY ? 0755 : 0644;
	if (ret.kind == FORMAT_DIRECTORY)
		return ret;
	ret.size = row->size;
	ret.start = row->size ? row->offset + m->starts[row->volume] : 0;
	if (ret.kind == FORMAT_SYMLINK) {
		ret.target = m->tree->targets.data + row->offset;
	} else if (ret.kind == FORMAT_HARDLINK) {
		ret.start = m->files[row->links];
		ret.size = 0;
	}
	return ret;
}

static void making_release(struct making *m)
{
	buf_release(&m->entries);
	buf_release(&m->stack);
	free(m->files);
}

int tree_index(struct foreign_tree *tree, const uint64_t starts[TREE_VOLUMES], struct index *ret,
	       struct labels *ret_labels, struct err *err)
{
	SCOPE(making_release) struct making m = {.tree = tree, .starts = starts};
	struct index_rows rows = {.row = index_row_of, .context = &m};
	size_t count = tree_count(tree), kept = 0;
	struct tree_row *all = tree_rows(tree);
	struct entry root = {0};
	uint32_t folder = 0;
	int r;

	for (size_t i = 0; i < count; i++)
		if (!all[i].dropped)
			all[kept++] = all[i];
	tree->rows.len = kept * sizeof(*all);
	r = tree_classes(tree, ret_labels, err);
	if (r < 0)
		return r;
	/* The root, and what is below each folder that waits on the stack. */
	root.row = tree_count(tree) && tree_rows(tree)->path_len == 0 ? 0 : NO_ROW;
	root.end = (uint32_t)tree_count(tree);
	r = buf_add(&m.entries, &root, sizeof(root));
	if (r == 0)
		r = buf_add(&m.stack, &folder, sizeof(folder));
	while (r == 0 && m.stack.len) {
		m.stack.len -= sizeof(folder);
		memcpy(&folder, m.stack.data + m.stack.len, sizeof(folder));
		r = add_children(&m, folder, err);
	}
	if (r < 0)
		return r;
	/* Of the names of a file, the one that came first has its bytes, if it is still there. */
	m.files = calloc(tree->most_links + 1, sizeof(*m.files));
	if (!m.files)
		return -ENOMEM;
	for (uint32_t e = 1; tree->most_links && e < entry_count(&m); e++) {
		const struct tree_row *row = row_of(&m, entry_at(&m, e));

		if (row && row->links && (row->first_name || !m.files[row->links]))
			m.files[row->links] = e;
	}
	rows.count = entry_count(&m);
	return index_rows_make(&rows, SECTION_OPTIONS, ret);
}
