/* First the rows of the merged tree: which entries it has, in which order.
 *
 * A folder of the merged tree has parts: the folders with this path in the packs. The children of
 * each part are sorted, so a merge of the parts brings all children in order, with those of one
 * name next to each other. Children of one name become one row. A row that is a folder has those
 * children as its parts. Folders wait on a stack for their turn, the first child on top, which is
 * the order of os.walk.
 *
 * What goes below a folder "a/b" has two parts that are in no pack: one with the only child "a",
 * and one with the only child "b". */
#include "pack/merge.h"
#include "base/bytes.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/dataset_internal.h"
#include "pack/dataset_merge.h"
#include "pack/index_rows.h"
#include "pack/labels.h"

/* An entry of the merged tree. */
struct merge_row {
	const char *name;	  /* in the names of its pack, or in dataset_pack.below */
	uint32_t origin;	  /* where its attributes come from */
	uint32_t place;		  /* where its bytes come from: an origin, too */
	uint32_t parent;	  /* a row before it; the root is its own */
	uint32_t child, children; /* of a folder: its first row, and how many */
	uint8_t name_len;
	uint8_t kind;
};

struct part {
	unsigned pack;
	const char
		*below; /* what is left of the path above the root of the pack; "": in the pack */
	uint32_t entry;
};

/* How far the merge of a folder has come in one of its parts. */
struct cursor {
	struct part part;
	uint32_t next, end; /* places of its children: pack/renames.h */
	uint32_t entry;	    /* at `next`, */
	const char *name;   /* and its name */
	size_t len;
};

/* A folder whose turn is still to come. */
struct folder {
	uint32_t row;
	size_t first, count; /* parts */
};

struct conflict {
	uint64_t count;
	uint32_t row;		/* of the first */
	unsigned pack, another; /* that have it */
	bool folder;		/* in one of them it is a folder */
};

struct merging {
	struct dataset *dataset;
	struct dataset_packs *packs; /* its */
	const struct dataset_merge_params *params;
	const struct renames *renames;
	struct select *select;
	struct merge_row *rows;
	uint32_t count;
	uint32_t *at;		   /* the row of each origin, plus 1; 0: none */
	struct buf parts, folders; /* struct part: all of them; struct folder: a stack */
	struct cursor *heap;	   /* one for each part; the smallest name on top */
	size_t heaped;
	struct conflict conflict;
	struct err *err;
};

static void merging_release(struct merging *m)
{
	free(m->rows);
	free(m->at);
	free(m->heap);
	buf_release(&m->parts);
	buf_release(&m->folders);
}

static const struct index *index_of(const struct merging *m, unsigned pack)
{
	return &m->packs->all[pack]->index;
}

unsigned merge_pack_of(const struct dataset_packs *packs, uint32_t origin, uint32_t *ret_entry)
{
	size_t pack = search_last(packs->firsts, packs->count, sizeof(*packs->firsts), origin);

	*ret_entry = origin - (uint32_t)packs->firsts[pack];
	return (unsigned)pack;
}

int merge_need_section(const struct dataset_packs *packs, unsigned i, enum format_section section,
		       struct err *err)
{
	struct err reason = {0};
	int r = dataset_need_section(packs->all[i], section, &reason);

	return r < 0 ? err_set(err, r, "%s: %s", packs->all[i]->name, err_text(&reason, r)) : 0;
}

/* --- the children of one part ----------------------------------------------------------------- */

/* Sets the name of the next child; false: there is none. */
static bool cursor_look(const struct merging *m, struct cursor *cursor)
{
	const struct index *index = index_of(m, cursor->part.pack);
	const struct renames *renames = &m->renames[cursor->part.pack];

	if (cursor->next == cursor->end)
		return false;
	if (*cursor->part.below) {
		cursor->name = cursor->part.below;
		cursor->len = strcspn(cursor->name, "/");
	} else {
		cursor->entry = renames_entry(renames, cursor->next);
		cursor->name = renames_name(renames, index, cursor->entry, &cursor->len);
	}
	return true;
}

/* The next child as a part of its folder, if it is a folder. */
static struct part child_of(const struct cursor *cursor)
{
	struct part part = cursor->part;

	if (*part.below) {
		part.below += cursor->len;
		part.below += *part.below == '/';
	} else {
		part.entry = cursor->entry;
	}
	return part;
}

static enum format_kind merged_kind(const struct merging *m, const struct part *part)
{
	return *part->below ? FORMAT_DIRECTORY : index_kind(index_of(m, part->pack), part->entry);
}

/* --- the heap --------------------------------------------------------------------------------- */

/* Of two children with one name, that of the first pack comes first. */
static bool comes_before(const struct cursor *a, const struct cursor *b)
{
	int order = bytes_compare(a->name, a->len, b->name, b->len);

	return order ? order < 0 : a->part.pack < b->part.pack;
}

static void heap_sink(struct merging *m, size_t at)
{
	struct cursor moving = m->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= m->heaped)
			break;
		if (child + 1 < m->heaped && comes_before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!comes_before(&m->heap[child], &moving))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = moving;
}

/* The smallest child of all parts has been used. */
static void heap_advance(struct merging *m)
{
	struct cursor *top = &m->heap[0];

	top->next++;
	if (!cursor_look(m, top))
		*top = m->heap[--m->heaped];
	if (m->heaped)
		heap_sink(m, 0);
}

/* --- one path in several packs ---------------------------------------------------------------- */

static void note_conflict(struct merging *m, uint32_t row, const struct part *another, bool folder)
{
	uint32_t entry;

	if (m->conflict.count++)
		return;
	m->conflict.row = row;
	m->conflict.pack = merge_pack_of(m->packs, m->rows[row].origin, &entry);
	m->conflict.another = another->pack;
	m->conflict.folder = folder;
}

/* Whether two entries that are not folders are the same file: 1, 0 or -errno. */
static int same_file(struct merging *m, uint32_t origin, const struct part *another)
{
	uint32_t x, y = another->entry;
	unsigned pack = merge_pack_of(m->packs, origin, &x);
	const struct index *a = index_of(m, pack), *b = index_of(m, another->pack);
	int r;

	x = index_inode(a, x);
	y = index_inode(b, y);
	if (format_is_file(index_kind(a, x)) != format_is_file(index_kind(b, y)) ||
	    index_get(a, SECTION_SIZE, x) != index_get(b, SECTION_SIZE, y))
		return 0;
	if (!format_is_file(index_kind(a, x)))
		return memcmp(a->sections[SECTION_TARGETS].data + index_get(a, SECTION_START, x),
			      b->sections[SECTION_TARGETS].data + index_get(b, SECTION_START, y),
			      index_get(a, SECTION_SIZE, x)) == 0;
	r = merge_need_section(m->packs, pack, SECTION_CHECKSUMS, m->err);
	if (r == 0)
		r = merge_need_section(m->packs, another->pack, SECTION_CHECKSUMS, m->err);
	return r < 0 ? r : index_same_checksums(a, x, b, y);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Adds a row for the child on top of the heap. */
static int add_row(struct merging *m, const struct cursor *top, uint32_t parent)
{
	const struct part part = child_of(top);
	struct folder folder = {.row = m->count, .first = BUF_COUNT(&m->parts, part), .count = 1};
	/* Of a part above the root of a pack, that root. */
	uint32_t origin = (uint32_t)m->packs->firsts[part.pack] + part.entry;
	struct merge_row *row = &m->rows[m->count++];

	*row = (struct merge_row){.name = top->name,
				  .name_len = (uint8_t)top->len,
				  .origin = origin,
				  .place = origin,
				  .parent = parent,
				  .kind = (uint8_t)merged_kind(m, &part)};
	if (row->kind != FORMAT_DIRECTORY)
		return 0;
	if (buf_add(&m->parts, &part, sizeof(part)) < 0)
		return -ENOMEM;
	return buf_add(&m->folders, &folder, sizeof(folder));
}

/* Adds one more child with the name of the last row to it. */
static int join_row(struct merging *m, const struct cursor *top)
{
	const struct part part = child_of(top);
	uint32_t number = m->count - 1;
	bool folder = merged_kind(m, &part) == FORMAT_DIRECTORY;
	int r = 0;

	if (folder != (m->rows[number].kind == FORMAT_DIRECTORY)) {
		note_conflict(m, number, &part, true);
		return 0;
	}
	if (folder) {
		((struct folder *)(m->folders.data + m->folders.len))[-1].count++;
		return buf_add(&m->parts, &part, sizeof(part));
	}
	r = same_file(m, m->rows[number].origin, &part);
	if (r == 0)
		note_conflict(m, number, &part, false);
	return r < 0 ? r : 0;
}

static int merge_folder(struct merging *m, const struct folder *folder)
{
	const struct part *parts = BUF_ITEMS(&m->parts, const struct part) + folder->first;
	size_t low = BUF_COUNT(&m->folders, struct folder);
	struct folder *folders;
	int r = 0;

	m->heaped = 0;
	for (size_t i = 0; i < folder->count; i++) {
		const struct index *index = index_of(m, parts[i].pack);
		struct cursor cursor = {.part = parts[i], .end = 1};

		if (!*parts[i].below) {
			cursor.next = (uint32_t)index_get(index, SECTION_START, parts[i].entry);
			cursor.end = cursor.next +
				     (uint32_t)index_get(index, SECTION_SIZE, parts[i].entry);
		}
		if (cursor_look(m, &cursor))
			m->heap[m->heaped++] = cursor;
	}
	for (size_t i = m->heaped / 2; i-- > 0;)
		heap_sink(m, i);
	while (r == 0 && m->heaped) {
		const struct cursor first = m->heap[0];

		r = add_row(m, &first, folder->row);
		heap_advance(m);
		while (r == 0 && m->heaped &&
		       bytes_compare(m->heap[0].name, m->heap[0].len, first.name, first.len) == 0) {
			r = join_row(m, &m->heap[0]);
			heap_advance(m);
		}
	}
	/* Turns the folders that this one has put on the stack around: the first is to be on top.
	 */
	folders = BUF_ITEMS(&m->folders, struct folder);
	for (size_t high = BUF_COUNT(&m->folders, *folders); low + 1 < high; low++) {
		struct folder swapped = folders[--high];

		folders[high] = folders[low];
		folders[low] = swapped;
	}
	return r;
}

static int merge_folders(struct merging *m)
{
	const struct folder root = {.count = m->params->count};
	int r = 0;

	m->rows[m->count++] = (struct merge_row){.name = "", .kind = FORMAT_DIRECTORY};
	for (unsigned i = 0; i < m->params->count; i++) {
		const struct part part = {.pack = i, .below = m->params->packs[i].below};

		buf_add(&m->parts, &part, sizeof(part));
	}
	r = buf_error(&m->parts);
	if (r == 0)
		r = buf_add(&m->folders, &root, sizeof(root));
	while (r == 0 && m->folders.len) {
		struct folder folder;

		m->folders.len -= sizeof(folder);
		memcpy(&folder, m->folders.data + m->folders.len, sizeof(folder));
		r = merge_folder(m, &folder);
	}
	return r;
}

static struct path_part part_of_row(const void *rows, uint32_t number)
{
	const struct merge_row *row = (const struct merge_row *)rows + number;

	return (struct path_part){row->name, row->name_len, row->parent};
}

static int row_path(const struct merging *m, uint32_t number, struct buf *path)
{
	path->len = 0;
	return path_add(path, number, part_of_row, m->rows);
}

static int refuse_conflicts(const struct merging *m)
{
	const struct conflict *c = &m->conflict;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct labels_style style;
	char more[64] = "";

	if (c->count == 0)
		return 0;
	if (row_path(m, c->row, &path) < 0)
		return -ENOMEM;
	if (c->count > 1)
		snprintf(more, sizeof(more), ", and %llu more paths are in two packs",
			 (unsigned long long)c->count - 1);
	return err_set(m->err, -EEXIST,
		       "'%s' is %s in %s and in %s%s; 'NAME/=' in front of one puts it into a "
		       "folder of its own%s",
		       path.data, c->folder ? "a folder and a file" : "another file",
		       m->params->packs[c->pack].name, m->params->packs[c->another].name, more,
		       !c->folder && labels_style_read(m->params->packs[c->pack].dataset, &style)
			       ? "; --name-key='' keeps one tree, of files with numbers"
			       : "");
}

/* --- what was selected ------------------------------------------------------------------------ */

#define MATCHED 1 /* by a pattern, or its parent is */
#define NEEDED	2 /* has such an entry in it */

static int mark_matches(const struct merging *m, uint8_t *marks)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	uint32_t parent = UINT32_MAX;
	size_t above = 0;

	for (uint32_t i = 1; i < m->count; i++) {
		const struct merge_row *row = &m->rows[i];
		int r = 0;

		if (row->parent != parent) {
			parent = row->parent;
			r = row_path(m, parent, &path);
			above = path.len;
		}
		path.len = above;
		if (r == 0)
			r = buf_addf(&path, "%s%.*s", above ? "/" : "", row->name_len, row->name);
		if (r == 0)
			r = select_match(m->select, path.data);
		if (r < 0)
			return r;
		marks[i] = r || marks[parent] & MATCHED ? MATCHED : 0;
	}
	for (uint32_t i = m->count; i-- > 1;)
		if (marks[i])
			marks[m->rows[i].parent] |= NEEDED;
	return 0;
}

/* Children stay together and in order when some of them go. */
static int drop_rows(struct merging *m)
{
	struct merge_row *rows = m->rows;
	SCOPE_FREE uint8_t *marks = calloc(m->count, 1);
	SCOPE_FREE uint32_t *number = calloc(m->count, sizeof(*number));
	const char *unused;
	char more[64] = "";
	uint32_t kept = 1;
	size_t count;
	int r = marks && number ? mark_matches(m, marks) : -ENOMEM;

	if (r < 0)
		return r;
	unused = select_unused(m->select, &count);
	if (unused && count > 1)
		snprintf(more, sizeof(more), ", and nothing matches %zu more", count - 1);
	if (unused)
		return err_set(m->err, -ENOENT, "'--select': nothing matches '%s'%s", unused, more);
	for (uint32_t i = 1; i < m->count; i++) {
		if (!marks[i])
			continue;
		number[i] = kept;
		rows[kept] = rows[i];
		rows[kept++].parent = number[rows[i].parent];
	}
	m->count = kept;
	return 0;
}

/* Numbers the origins, and makes room for the largest possible number of rows. */
static int reserve_rows(struct merging *m)
{
	const struct dataset_merge_params *params = m->params;
	uint64_t entries = 0, rows = 1;

	m->packs->firsts = calloc(params->count + (size_t)1, sizeof(*m->packs->firsts));
	m->heap = calloc(params->count, sizeof(*m->heap));
	if (!m->packs->firsts || !m->heap)
		return -ENOMEM;
	for (unsigned i = 0; i < params->count; i++) {
		entries += index_of(m, i)->entries;
		rows += index_of(m, i)->entries + (*params->packs[i].below != '\0');
		for (const char *at = params->packs[i].below; *at; at++)
			rows += *at == '/';
		if (rows > UINT32_MAX)
			return err_set(m->err, -EOVERFLOW, "more than %u files and folders",
				       UINT32_MAX);
		m->packs->firsts[i + 1] = entries;
	}
	m->rows = calloc(rows, sizeof(*m->rows));
	m->at = calloc(entries, sizeof(*m->at));
	return m->rows && m->at ? 0 : -ENOMEM;
}
/* --- the sections
 * --------------------------------------------------------------------------------- */

/* A path that is in two packs, or a selection, can leave out files that hard links and aliases of
 * their pack refer to. The first such link that is kept becomes the file: a hard link takes all of
 * it, an alias only its bytes. Hard links come first: a hard link to a file is that file, and then
 * aliases of the file have a holder. */

static uint32_t refers_to(const struct merging *m, uint32_t origin)
{
	uint32_t entry;
	unsigned pack = merge_pack_of(m->packs, origin, &entry);

	return (uint32_t)m->packs->firsts[pack] +
	       (uint32_t)index_get(index_of(m, pack), SECTION_START, entry);
}

/* Lets the rows of a kind take the place of what they refer to, where that has no row. */
static void replace_missing(struct merging *m, enum format_kind kind)
{
	for (uint32_t i = 1; i < m->count; i++) {
		struct merge_row *row = &m->rows[i];
		uint32_t target, entry;
		unsigned pack;

		if (row->kind != kind)
			continue;
		target = refers_to(m, row->place);
		if (m->at[target])
			continue;
		m->at[target] = i + 1;
		pack = merge_pack_of(m->packs, target, &entry);
		row->place = target;
		row->kind = (uint8_t)index_kind(index_of(m, pack), entry);
		if (kind == FORMAT_HARDLINK)
			row->origin = target;
	}
}

static struct index_row merge_row_of(const void *context, uint32_t number)
{
	const struct merging *m = context;
	const struct merge_row *row = &m->rows[number];
	uint32_t entry;
	unsigned pack = merge_pack_of(m->packs, row->place, &entry);
	const struct index *of = index_of(m, pack);
	uint64_t offset = reader_volumes_start(m->dataset->reader, pack);
	uint64_t start = index_get(of, SECTION_START, entry);
	struct index_row ret = {.name = row->name,
				.name_len = row->name_len,
				.parent = row->parent,
				.kind = (enum format_kind)row->kind,
				.size = index_get(of, SECTION_SIZE, entry)};

	switch (ret.kind) {
	case FORMAT_DIRECTORY:
		ret.start = row->child;
		ret.size = row->children;
		break;
	case FORMAT_FILE:
		ret.start = offset + start;
		break;
	case FORMAT_SPLIT:
		ret.start = offset;
		ret.parts = of->sections[SECTION_PARTS].data + 8 * start;
		break;
	case FORMAT_SYMLINK:
		ret.target = (const char *)of->sections[SECTION_TARGETS].data + start;
		break;
	case FORMAT_HARDLINK:
	case FORMAT_ALIAS:
		ret.start = m->at[refers_to(m, row->place)] - 1;
		break;
	case FORMAT_BASE: /* a delta is on its base before it is merged */
		break;
	}
	return ret;
}

/* Makes the hot sections from the rows, and checks them. */
static int merge_index(struct merging *m)
{
	const struct index_rows all = {.count = m->count, .row = merge_row_of, .context = m};
	struct dataset_packs *packs = m->packs;
	int r;

	packs->origins = calloc(m->count, sizeof(*packs->origins));
	if (!packs->origins)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->count; i++)
		m->at[m->rows[i].origin] = i + 1;
	replace_missing(m, FORMAT_HARDLINK);
	replace_missing(m, FORMAT_ALIAS);
	for (uint32_t i = m->count; i-- > 1;) {
		struct merge_row *parent = &m->rows[m->rows[i].parent];

		parent->child = i;
		parent->children++;
	}
	for (uint32_t i = 0; i < m->count; i++)
		packs->origins[i] = m->rows[i].origin;
	r = index_rows_make(&all, SECTION_CHECKSUMS, &m->dataset->index);
	return r < 0 ? r : index_check(&m->dataset->index, UINT64_MAX, m->err);
}

/* --- all of it -------------------------------------------------------------------------------- */

int merge_indexes(struct dataset *dataset, const struct dataset_merge_params *params,
		  const struct renames *renames, struct select *select, struct err *err)
{
	SCOPE(merging_release)
	struct merging m = {.dataset = dataset,
			    .packs = dataset->packs,
			    .params = params,
			    .renames = renames,
			    .select = select,
			    .err = err};
	int r = reserve_rows(&m);

	if (r == 0)
		r = merge_folders(&m);
	if (r == 0)
		r = refuse_conflicts(&m);
	if (r == 0 && select)
		r = drop_rows(&m);
	return r < 0 ? r : merge_index(&m);
}
