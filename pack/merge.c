/* First the rows of the merged tree: which entries it has, in which order.
 *
 * A folder of the merged tree has parts: the folders with this path in the packs. The children of
 * all parts are sorted by name, and those of one name become one row. A row that is a folder has
 * those children as its parts. Folders wait on a stack for their turn, the first child on top,
 * which is the order of os.walk.
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
	uint32_t child, children; /* of a folder: its first row, and how many; while it waits for
				     its turn: its parts */
	uint8_t name_len;
	uint8_t kind;
};

struct part {
	const char *below; /* what is left of the path above the root of the pack; "": in it */
	unsigned pack;
	uint32_t entry;
};

struct child {
	const char *name;
	struct part part; /* that it is, if it is a folder */
	uint32_t len;	  /* bytes of the name */
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
	uint32_t *at;	     /* the row of each origin, plus 1; 0: none */
	struct buf parts;    /* struct part: of all folders */
	struct buf children; /* struct child: of the folder whose turn it is */
	struct buf waiting;  /* uint32_t: a stack of rows */
	struct conflict conflict;
	struct err *err;
};

static void merging_release(struct merging *m)
{
	free(m->rows);
	free(m->at);
	buf_release(&m->parts);
	buf_release(&m->children);
	buf_release(&m->waiting);
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

/* --- the children of a folder ----------------------------------------------------------------- */

static enum format_kind merged_kind(const struct merging *m, const struct part *part)
{
	return *part->below ? FORMAT_DIRECTORY : index_kind(index_of(m, part->pack), part->entry);
}

static int add_children(struct merging *m, const struct part *part)
{
	const struct index *index = index_of(m, part->pack);
	const struct renames *renames = &m->renames[part->pack];
	struct child child = {.part = *part, .name = part->below};
	uint64_t first, count;
	int r = 0;

	if (*part->below) {
		child.len = (uint32_t)strcspn(part->below, "/");
		child.part.below += child.len;
		child.part.below += *child.part.below == '/';
		return buf_add(&m->children, &child, sizeof(child));
	}
	first = index_get(index, SECTION_START, part->entry);
	count = index_get(index, SECTION_SIZE, part->entry);
	for (uint64_t place = first; r == 0 && place < first + count; place++) {
		size_t len;

		child.part.entry = renames_entry(renames, (uint32_t)place);
		child.name = renames_name(renames, index, child.part.entry, &len);
		child.len = (uint32_t)len;
		r = buf_add(&m->children, &child, sizeof(child));
	}
	return r;
}

/* Of two children with one name, that of the first pack comes first. */
static int compare_children(const void *left, const void *right)
{
	const struct child *a = left, *b = right;
	int order = bytes_compare(a->name, a->len, b->name, b->len);

	return order ? order : (a->part.pack > b->part.pack) - (a->part.pack < b->part.pack);
}

/* Those of one pack are in order, and so are mostly those of shards of one folder. */
static int find_children(struct merging *m, size_t first, size_t count)
{
	const struct child *all;
	size_t i = 1, children;
	int r = 0;

	m->children.len = 0;
	for (size_t part = first; r == 0 && part < first + count; part++)
		r = add_children(m, BUF_ITEMS(&m->parts, const struct part) + part);
	all = BUF_ITEMS(&m->children, const struct child);
	children = BUF_COUNT(&m->children, *all);
	while (i < children && compare_children(&all[i - 1], &all[i]) <= 0)
		i++;
	if (i < children)
		buf_sort(&m->children, sizeof(*all), compare_children);
	return r;
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

static int add_row(struct merging *m, const struct child *child, uint32_t parent)
{
	/* Of a part above the root of a pack, that root. */
	uint32_t origin = (uint32_t)m->packs->firsts[child->part.pack] + child->part.entry;
	struct merge_row *row = &m->rows[m->count++];

	*row = (struct merge_row){.name = child->name,
				  .name_len = (uint8_t)child->len,
				  .origin = origin,
				  .place = origin,
				  .parent = parent,
				  .kind = (uint8_t)merged_kind(m, &child->part)};
	if (row->kind != FORMAT_DIRECTORY)
		return 0;
	row->child = (uint32_t)BUF_COUNT(&m->parts, struct part);
	row->children = 1;
	return buf_add(&m->parts, &child->part, sizeof(child->part));
}

/* Adds one more child with the name of the last row to it. */
static int join_row(struct merging *m, const struct child *child)
{
	struct merge_row *row = &m->rows[m->count - 1];
	bool folder = merged_kind(m, &child->part) == FORMAT_DIRECTORY;
	int r = 0;

	if (folder && row->kind == FORMAT_DIRECTORY) {
		row->children++;
		return buf_add(&m->parts, &child->part, sizeof(child->part));
	}
	if (!folder && row->kind != FORMAT_DIRECTORY)
		r = same_file(m, row->origin, &child->part);
	if (r == 0)
		note_conflict(m, m->count - 1, &child->part,
			      folder || row->kind == FORMAT_DIRECTORY);
	return r < 0 ? r : 0;
}

static int merge_folder(struct merging *m, uint32_t folder)
{
	struct merge_row *row = &m->rows[folder];
	uint32_t begin = m->count;
	const struct child *all;
	int r = find_children(m, row->child, row->children);

	row->child = row->children = 0;
	all = BUF_ITEMS(&m->children, const struct child);
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&m->children, *all); i++)
		r = i && bytes_compare(all[i - 1].name, all[i - 1].len, all[i].name, all[i].len) ==
					    0
			    ? join_row(m, &all[i])
			    : add_row(m, &all[i], folder);
	for (uint32_t i = m->count; r == 0 && i-- > begin;)
		if (m->rows[i].kind == FORMAT_DIRECTORY)
			r = buf_add(&m->waiting, &i, sizeof(i));
	return r;
}

static int merge_folders(struct merging *m)
{
	uint32_t folder = 0;
	int r;

	m->rows[m->count++] = (struct merge_row){
		.name = "", .kind = FORMAT_DIRECTORY, .children = m->params->count};
	for (unsigned i = 0; i < m->params->count; i++) {
		const struct part part = {.pack = i, .below = m->params->packs[i].below};

		buf_add(&m->parts, &part, sizeof(part));
	}
	r = buf_error(&m->parts);
	if (r == 0)
		r = buf_add(&m->waiting, &folder, sizeof(folder));
	while (r == 0 && m->waiting.len) {
		m->waiting.len -= sizeof(folder);
		memcpy(&folder, m->waiting.data + m->waiting.len, sizeof(folder));
		r = merge_folder(m, folder);
	}
	return r;
}

static struct path_part part_of_row(const void *rows, uint32_t number)
{
	const struct merge_row *row = (const struct merge_row *)rows + number;

	return (struct path_part){row->name, row->name_len, row->parent};
}

static int refuse_conflicts(const struct merging *m)
{
	const struct conflict *c = &m->conflict;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct labels_style style;
	char more[64] = "";

	if (c->count == 0)
		return 0;
	if (path_add(&path, c->row, part_of_row, m->rows) < 0)
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
	struct path_walk walk = {0};
	int r = 0;

	for (uint32_t i = 1; r >= 0 && i < m->count; i++) {
		r = path_walk(&walk, i, part_of_row, m->rows);
		if (r == 0)
			r = select_match(m->select, walk.path.data);
		if (r > 0 || marks[m->rows[i].parent] & MATCHED)
			marks[i] = MATCHED;
	}
	buf_release(&walk.path);
	for (uint32_t i = m->count; i-- > 1;)
		if (marks[i])
			marks[m->rows[i].parent] |= NEEDED;
	return r < 0 ? r : 0;
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
	if (!m->packs->firsts)
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

/* --- the sections ----------------------------------------------------------------------------- */

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
