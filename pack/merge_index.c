/* From the rows of a merged tree to the hot sections of its index. */
#include "base/math.h"
#include "base/scope.h"
#include "pack/merge_internal.h"

struct making {
	struct index *index;
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

static void settle_links(struct making *m)
{
	for (uint32_t i = 0; i < m->rows->count; i++)
		m->at[m->rows->rows[i].origin] = i + 1;
	replace_missing(m, FORMAT_HARDLINK);
	replace_missing(m, FORMAT_ALIAS);
}

/* --- sections --------------------------------------------------------------------------------- */

/* Where the bytes of a row lie. */
struct place {
	const struct merge_pack *pack;
	uint64_t start, size;
};

static struct place place_of(const struct making *m, const struct merge_row *row)
{
	uint32_t entry;
	unsigned pack = merge_pack_of(m->merge, row->place, &entry);
	const struct index *index = m->params->packs[pack].index;

	return (struct place){.pack = &m->params->packs[pack],
			      .start = index_get(index, SECTION_START, entry),
			      .size = index_get(index, SECTION_SIZE, entry)};
}

static const enum format_section made[] = {SECTION_NAMES, SECTION_NAME_END, SECTION_PARENT,
					   SECTION_KIND,  SECTION_START,    SECTION_SIZE,
					   SECTION_PARTS, SECTION_TARGETS};

static int alloc_sections(struct making *m)
{
	uint64_t most[SECTION_COUNT] = {0}; /* as index_shape() wants it */
	int r = 0;

	for (uint32_t i = 0; i < m->rows->count; i++) {
		const struct merge_row *row = &m->rows->rows[i];
		struct place place = place_of(m, row);

		most[SECTION_NAMES] += row->name_len;
		/* For a folder this counts children; that may be more than it has in any one pack.
		 */
		most[SECTION_SIZE] = max(most[SECTION_SIZE], place.size);
		if (row->kind == FORMAT_SPLIT)
			most[SECTION_PARTS] += format_parts(place.size);
		if (row->kind == FORMAT_SYMLINK)
			most[SECTION_TARGETS] += place.size;
	}
	most[SECTION_NAME_END] = most[SECTION_NAMES];
	most[SECTION_PARENT] = m->rows->count;
	most[SECTION_SIZE] = max(most[SECTION_SIZE], m->rows->count);
	for (size_t i = 0; r == 0 && i < sizeof(made) / sizeof(made[0]); i++) {
		struct format_section_ref shape =
			index_shape(made[i], m->rows->count, most[made[i]]);

		r = index_section_alloc(&m->index->sections[made[i]],
					shape.width ? shape.count : shape.bytes, shape.width);
	}
	return r;
}

struct filled {
	uint64_t names, targets, parts; /* so far */
};

static uint64_t add_parts(struct making *m, const struct place *place, struct filled *filled)
{
	uint64_t first = filled->parts;

	for (uint64_t i = 0; i < format_parts(place->size); i++) {
		uint64_t offset = index_get(place->pack->index, SECTION_PARTS, place->start + i);

		index_put(m->index, SECTION_PARTS, filled->parts++, place->pack->start + offset);
	}
	return first;
}

static uint64_t add_target(struct making *m, const struct place *place, struct filled *filled)
{
	uint64_t first = filled->targets;

	memcpy(m->index->sections[SECTION_TARGETS].data + first,
	       place->pack->index->sections[SECTION_TARGETS].data + place->start, place->size);
	filled->targets += place->size;
	return first;
}

/* Sets start and size. Those of a folder are set as its children come. */
static void fill_place(struct making *m, uint32_t number, struct filled *filled)
{
	const struct merge_row *row = &m->rows->rows[number];
	struct place place = place_of(m, row);
	uint64_t start = 0;

	switch ((enum format_kind)row->kind) {
	case FORMAT_DIRECTORY:
		place.size = 0;
		break;
	case FORMAT_FILE:
		start = place.pack->start + place.start;
		break;
	case FORMAT_SPLIT:
		start = add_parts(m, &place, filled);
		break;
	case FORMAT_SYMLINK:
		start = add_target(m, &place, filled);
		break;
	case FORMAT_HARDLINK:
	case FORMAT_ALIAS:
		start = m->at[refers_to(m, row->place)] - 1;
		break;
	}
	index_put(m->index, SECTION_START, number, start);
	index_put(m->index, SECTION_SIZE, number, place.size);
}

static void count_child(struct making *m, uint32_t number, uint32_t parent)
{
	uint64_t children = index_get(m->index, SECTION_SIZE, parent);

	if (children == 0)
		index_put(m->index, SECTION_START, parent, number);
	index_put(m->index, SECTION_SIZE, parent, children + 1);
}

static void fill_sections(struct making *m)
{
	struct index *index = m->index;
	struct filled filled = {0};

	for (uint32_t i = 0; i < m->rows->count; i++) {
		const struct merge_row *row = &m->rows->rows[i];

		memcpy(index->sections[SECTION_NAMES].data + filled.names, row->name,
		       row->name_len);
		filled.names += row->name_len;
		index_put(index, SECTION_NAME_END, i, filled.names);
		index_put(index, SECTION_PARENT, i, row->parent);
		index_put(index, SECTION_KIND, i, row->kind);
		fill_place(m, i, &filled);
		if (i)
			count_child(m, i, row->parent);
		m->merge->origins[i] = row->origin;
	}
}

int merge_index(struct merge *merge, const struct merge_params *params, struct merge_rows *rows,
		struct err *err)
{
	SCOPE_FREE uint32_t *at = calloc(rows->origins, sizeof(*at));
	struct making m = {
		.index = &merge->index, .merge = merge, .params = params, .rows = rows, .at = at};
	int r;

	merge->index.entries = rows->count;
	merge->origins = calloc(rows->count, sizeof(*merge->origins));
	if (!at || !merge->origins)
		return -ENOMEM;
	settle_links(&m);
	r = alloc_sections(&m);
	if (r < 0)
		return r;
	fill_sections(&m);
	return index_check(&merge->index, UINT64_MAX, err);
}
