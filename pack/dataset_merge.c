#include "pack/dataset_merge.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/labels_join.h"
#include "pack/made_names.h"
#include "pack/options.h"
#include "pack/xxh3.h"

/* --- merging ---------------------------------------------------------------------------------- */

static int make_packs(struct dataset *dataset, const struct dataset_merge_params *params)
{
	struct dataset_packs *made =
		calloc(1, sizeof(*made) + params->count * sizeof(made->all[0]));

	dataset->packs = made;
	if (!made)
		return -ENOMEM;
	for (; made->count < params->count; made->count++) {
		const struct dataset_pack *pack = &params->packs[made->count];

		if (dataset_set_name(pack->dataset, pack->name) < 0)
			return -ENOMEM;
		made->all[made->count] = pack->dataset;
	}
	return 0;
}

static int compare_packs(const struct dataset_pack *a, const struct dataset_pack *b)
{
	int order = strcmp(dataset_info(a->dataset)->id, dataset_info(b->dataset)->id);

	return order ? order : strcmp(a->below, b->below);
}

/* Equal ones stay in the order of the words. */
static int compare_places(const void *left, const void *right)
{
	const struct dataset_pack *const *a = left, *const *b = right;
	int order = compare_packs(*a, *b);

	return order ? order : (*a > *b) - (*a < *b);
}

static bool repeats(const struct dataset *dataset)
{
	return dataset_info(dataset)->super->files && !dataset_lacks_base(dataset);
}

int dataset_merge_check(const struct dataset_pack *packs, unsigned count, struct err *err)
{
	SCOPE_FREE const struct dataset_pack **sorted = calloc(count, sizeof(*sorted));
	size_t some = 0;

	if (!sorted)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		if (repeats(packs[i].dataset))
			sorted[some++] = &packs[i];
	qsort(sorted, some, sizeof(*sorted), compare_places);
	for (size_t i = 1; i < some; i++)
		if (compare_packs(sorted[i - 1], sorted[i]) == 0)
			return err_set(err, -EEXIST, "%s and %s are the same pack: leave one out",
				       sorted[i - 1]->name, sorted[i]->name);
	return 0;
}

static int join_readers(struct dataset *dataset)
{
	const struct dataset_packs *packs = dataset->packs;
	SCOPE_FREE struct reader **readers = calloc(packs->count, sizeof(struct reader *));
	int r;

	if (!readers)
		return -ENOMEM;
	for (unsigned i = 0; i < packs->count; i++)
		readers[i] = packs->all[i]->reader;
	r = reader_volumes_new(readers, packs->count, &dataset->reader);
	dataset->index_reader = dataset->reader;
	return r;
}

static int load_checksums(void *context, unsigned pack, struct err *err)
{
	const struct dataset *dataset = context;
	return dataset_need_of_pack(dataset->packs, pack, SECTION_CHECKSUMS, err);
}

static int merge_indexes(struct dataset *dataset, const struct dataset_merge_params *params,
			 const struct renames *renames, struct select *select, struct err *err)
{
	const struct dataset_packs *packs = dataset->packs;
	SCOPE_FREE struct merge_pack *merged = calloc(params->count, sizeof(*merged));
	const struct merge_params merge = {.packs = merged,
					   .count = params->count,
					   .select = select,
					   .load_checksums = load_checksums,
					   .context = dataset};

	if (!merged)
		return -ENOMEM;
	for (unsigned i = 0; i < params->count; i++)
		merged[i] = (struct merge_pack){.index = &packs->all[i]->index,
						.start = reader_volumes_start(dataset->reader, i),
						.name = packs->all[i]->name,
						.below = params->packs[i].below,
						.renames = &renames[i]};
	return merge_init(&dataset->packs->merge, &merge, err);
}

/* The merged index replaces these. Gathering checksums still needs the kinds and sizes of each
 * pack. */
static void drop_hot_sections(struct dataset *pack)
{
	static const enum format_section merged[] = {
		SECTION_NAMES, SECTION_NAME_END, SECTION_PARENT,   SECTION_START,
		SECTION_PARTS, SECTION_TARGETS,	 SECTION_CHECKSUMS};

	for (size_t i = 0; i < sizeof(merged) / sizeof(merged[0]); i++)
		dataset_forget_section(pack, merged[i]);
}

/* --- what describes the whole ----------------------------------------------------------------- */

static void digest_text(XXH3_state_t *state, const char *text)
{
	XXH3_128bits_update(state, text, strlen(text) + 1);
}

static void make_id(const struct dataset_merge_params *params, uint8_t id[16])
{
	XXH128_canonical_t made;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (unsigned i = 0; i < params->count; i++) {
		const struct dataset_pack *pack = &params->packs[i];

		XXH3_128bits_update(&state, dataset_info(pack->dataset)->super->id, 16);
		digest_text(&state, pack->below);
	}
	for (size_t i = 0; i < params->select_count; i++)
		digest_text(&state, params->select[i]);
	XXH128_canonicalFromHash(&made, XXH3_128bits_digest(&state));
	memcpy(id, made.digest, 16);
}

/* Whether a line is one of the options of all packs. */
static bool is_common(const struct dataset_packs *packs, const struct option_line *line)
{
	bool common = true;

	for (unsigned i = 0; common && i < packs->count; i++) {
		const struct dataset_info *info = dataset_info(packs->all[i]);

		common = options_have(info->options, info->options_len, line);
	}
	return common;
}

/* They are the last line of the options. */
static int put_labels(struct dataset *dataset, struct labels *labels)
{
	struct index_section *options = &dataset->index.sections[SECTION_OPTIONS];
	SCOPE(buf_release) struct buf line = BUF_INIT;
	struct index_section made;
	int r = labels_write(labels, &line);

	if (r == 0)
		r = index_section_alloc(&made, options->bytes + line.len, 0);
	if (r < 0)
		return r;
	memcpy(made.data, options->data, options->bytes);
	if (line.len)
		memcpy(made.data + options->bytes, line.data, line.len);
	free(options->data);
	*options = made;
	return 0;
}

/* The options that all packs were made with, and of each those that changed bytes: so some files of
 * the whole are not what they were. */
static int make_options(struct dataset *dataset)
{
	const struct dataset_packs *packs = dataset->packs;
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct option_line line;
	int r = 0;

	for (unsigned i = 0; i < packs->count; i++) {
		const struct dataset_info *info = dataset_info(packs->all[i]);
		const char *at = info->options, *end = at + info->options_len;

		while (r == 0 && options_next(&at, end, &line))
			if (!options_have(text.data, text.len, &line) &&
			    (option_changes_bytes(&line) || (i == 0 && is_common(packs, &line))))
				r = buf_addf(&text, "%.*s\n", (int)line.len, line.text);
	}
	if (r < 0 ||
	    index_section_alloc(&dataset->index.sections[SECTION_OPTIONS], text.len, 0) < 0)
		return -ENOMEM;
	if (text.len)
		memcpy(dataset->index.sections[SECTION_OPTIONS].data, text.data, text.len);
	return 0;
}

static int describe_merged(struct dataset *dataset, const struct dataset_merge_params *params,
			   struct labels *labels)
{
	struct dataset_info *info = &dataset->info;

	dataset->super.version = FORMAT_VERSION;
	index_count(&dataset->index, &dataset->super);
	make_id(params, dataset->super.id);
	for (unsigned i = 0; i < params->count; i++) {
		const struct dataset_info *one = dataset_info(params->packs[i].dataset);

		info->pack_bytes += one->pack_bytes;
		info->relocated |= one->relocated;
		dataset->super.incompat |= one->super->incompat & FORMAT_UNCHECKED;
		dataset->super.left_out += dataset_left_out(params->packs[i].dataset);
	}
	if (make_options(dataset) < 0 || put_labels(dataset, labels) < 0)
		return -ENOMEM;
	dataset_fill_info(dataset);
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* What classes and files are called here follows from all packs. */
struct names_of_all {
	struct renames *renames; /* of each pack */
	unsigned count;
	struct labels labels;
	struct buf notes; /* lines that end with NUL */
};

static void names_of_all_release(struct names_of_all *all)
{
	for (unsigned i = 0; all->renames && i < all->count; i++)
		renames_release(&all->renames[i]);
	free(all->renames);
	labels_release(&all->labels);
	buf_release(&all->notes);
}

static int find_names(const struct dataset_merge_params *params, struct names_of_all *ret,
		      struct err *err)
{
	int r;

	ret->count = params->count;
	ret->renames = calloc(params->count, sizeof(*ret->renames));
	if (!ret->renames)
		return -ENOMEM;
	r = labels_join(params->packs, params->count, ret->renames, &ret->labels, &ret->notes, err);
	if (r == 0)
		r = made_names_part(params->packs, params->count, ret->renames);
	for (unsigned i = 0; r == 0 && i < params->count; i++)
		r = renames_sort(&ret->renames[i]);
	return r;
}

static void say_notes(const struct dataset_merge_params *params, const struct buf *notes)
{
	const char *line = notes->data, *end = line + notes->len;

	for (; params->notice && line < end; line += strlen(line) + 1)
		params->notice(line);
}

static int merge_datasets(struct dataset *dataset, const struct dataset_merge_params *params,
			  struct err *err)
{
	SCOPE(select_release) struct select *select = NULL;
	SCOPE(names_of_all_release) struct names_of_all names = {0};
	int r = join_readers(dataset);

	if (r == 0 && params->select_count)
		r = select_new(params->select, params->select_count, &select);
	if (r == 0)
		r = find_names(params, &names, err);
	if (r == 0)
		r = merge_indexes(dataset, params, names.renames, select, err);
	if (r < 0)
		return r;
	dataset->index = dataset->packs->merge.index;
	dataset->packs->merge.index = (struct index){0};
	r = describe_merged(dataset, params, &names.labels);
	for (unsigned i = 0; i < params->count; i++)
		drop_hot_sections(params->packs[i].dataset);
	if (r == 0)
		say_notes(params, &names.notes);
	return r;
}

int dataset_merge(const struct dataset_merge_params *params, struct dataset **ret, struct err *err)
{
	struct dataset *dataset = dataset_new(NULL);
	int r;

	if (!dataset)
		return -ENOMEM;
	r = make_packs(dataset, params);
	if (r == 0)
		r = merge_datasets(dataset, params, err);
	if (r == 0) {
		*ret = dataset;
		return 0;
	}
	for (unsigned i = 0; dataset->packs && i < dataset->packs->count; i++)
		dataset->packs->all[i] = NULL; /* they stay the caller's */
	dataset_free(dataset);
	return r;
}
