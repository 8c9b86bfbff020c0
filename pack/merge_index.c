/* From the rows of a merged tree to the hot sections of its index. */
#include "base/scope.h"
#include "pack/index_rows.h"
#include "pack/merge_internal.h"

struct making {
	const struct merge *merge;
	const struct merge_params *params;
	struct merge_rows *rows;
	uint32_t *at; /* the row of each origin, plus 1; 0: none */
};

/* --- links whose file is not in the tree ------------------------------------------------------
 *
 * A path that is in two packs, or a selection, can leave out files that hard links and aliases of
 * their pack refer to. The first such link that is kept becomes the file: a hard link takes all of
 * it, an alias only its bytes. Hard links come first: a hard link to a file is that file, and then
 * aliases of the file have a holder. */

static uint32_t refers_to(const struct making *m, uint32_t origin)
{
	uint32_t entry;
	unsigned pack = merge_pack_of(m->merge, origin, &entry);

	return (uint32_t)m->merge->firsts[pack] +
	       (uint32_t)index_get(m->params->packs[pack].index, SECTION_START, entry);
}

static enum format_kind kind_of_origin(const struct making *m, uint32_t origin)
{
	uint32_t entry;
	unsigned pack = merge_pack_of(m->merge, origin, &entry);

	return index_kind(m->params->packs[pack].index, entry);
}

/* Lets the rows of a kind take the place of what they refer to, where that has no row. */
static void replace_missing(struct making *m, enum format_kind kind)
{
	for (uint32_t i = 1; i < m->rows->count; i++) {
		struct merge_row *row = &m->rows->rows[i];
		uint32_t target;

		if (row->kind != kind)
			continue;
		target = refers_to(m, row->place);
		if (m->at[target])
			continue;
		m->at[target] = i + 1;
		row->place = target;
		row->kind = (uint8_t)kind_of_origin(m, target);
		if (kind == FORMAT_HARDLINK)
			row->origin = target;
	}
}

/* --- sections --------------------------------------------------------------------------------- */

static void count_children(struct merge_rows *rows)
{
	for (uint32_t i = rows->count; i-- > 1;) {
		struct merge_row *parent = &rows->rows[rows->rows[i].parent];

		parent->child = i;
		parent->children++;
	}
}

static struct index_row merge_row_of(const void *context, uint32_t number)
{
	const struct making *m = context;
	const struct merge_row *row = &m->rows->rows[number];
	uint32_t entry;
	unsigned pack = merge_pack_of(m->merge, row->place, &entry);
	const struct merge_pack *of = &m->params->packs[pack];
	uint64_t start = index_get(of->index, SECTION_START, entry);
	struct index_row ret = {.name = row->name,
				.name_len = row->name_len,
				.parent = row->parent,
				.kind = (enum format_kind)row->kind,
				.size = index_get(of->index, SECTION_SIZE, entry)};

	switch (ret.kind) {
	case FORMAT_DIRECTORY:
		ret.start = row->child;
		ret.size = row->children;
		break;
	case FORMAT_FILE:
		ret.start = of->start + start;
		break;
	case FORMAT_SPLIT:
		ret.start = of->start;
		ret.parts = of->index->sections[SECTION_PARTS].data + 8 * start;
		break;
	case FORMAT_SYMLINK:
		ret.target = (const char *)of->index->sections[SECTION_TARGETS].data + start;
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

int merge_index(struct merge *merge, const struct merge_params *params, struct merge_rows *rows,
		struct err *err)
{
	SCOPE_FREE uint32_t *at = calloc(rows->origins, sizeof(*at));
	struct making m = {.merge = merge, .params = params, .rows = rows, .at = at};
	const struct index_rows all = {.count = rows->count, .row = merge_row_of, .context = &m};
	int r;

	merge->origins = calloc(rows->count, sizeof(*merge->origins));
	if (!at || !merge->origins)
		return -ENOMEM;
	for (uint32_t i = 0; i < rows->count; i++)
		at[rows->rows[i].origin] = i + 1;
	replace_missing(&m, FORMAT_HARDLINK);
	replace_missing(&m, FORMAT_ALIAS);
	count_children(rows);
	for (uint32_t i = 0; i < rows->count; i++)
		merge->origins[i] = rows->rows[i].origin;
	r = index_rows_make(&all, SECTION_CHECKSUMS, &merge->index);
	return r < 0 ? r : index_check(&merge->index, UINT64_MAX, err);
}
