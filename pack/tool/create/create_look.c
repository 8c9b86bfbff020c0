#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include "pack/tool/import/import_packs.h"

struct import_dir_params create_folder_params(struct create *create)
{
	struct create_options *options = &create->options;

	return (struct import_dir_params){.scan = {.root = create->source.root,
						   .jobs = (unsigned)options->jobs,
						   .patience_ns = SCAN_PATIENCE_NS,
						   .follow = options->dereference,
						   .filter = &options->filter,
						   .watch = &create->watch},
					  .builder = create->builder,
					  .order = &options->order,
					  .slices = create->slice.slices,
					  .slice = create->slice.number};
}

int create_import(struct create *create)
{
	struct dataset *dataset = create->source.dataset;
	const struct import_dir_params folder = create_folder_params(create);
	const struct import_packs_params packs = {.dataset = dataset,
						  .filter = &create->options.filter,
						  .watch = &create->watch,
						  .builder = create->builder};
	struct err err = {0};
	int r;

	progress_begin(&create->report.progress, "looking", cmd_progress(&create->options.common));
	r = dataset ? import_packs_new(&packs, &create->import, &err)
		    : import_dir_new(&folder, &create->import, &err);
	progress_clear(&create->report.progress);
	if (r == 0 || !err.text[0])
		return r;
	return dataset ? create_fail(create, r, &err) : log_fail(CREATE_REPORTED, "%s", err.text);
}

/* --- patterns --------------------------------------------------------------------------------- */

static int name_unmatched(struct create *create, const char *option, const struct opt_list *list,
			  uint64_t used)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;

	for (size_t i = 0; i < list->count; i++)
		if (!(used >> i & 1))
			buf_addf(&text, "%s'%s'", text.len ? ", " : "", list->items[i]);
	if (text.len)
		report_log(&create->report, log_notice, "", "'--%s': nothing matches %s", option,
			   text.data);
	return buf_error(&text);
}

/* Those of --transform are asked about all of the source here: its images may be in a pack that is
 * there already. */
static int name_patterns(struct create *create, const struct builder *entries)
{
	struct filter *filter = &create->options.filter;
	const struct opt_list *touch = &create->options.touch;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	uint64_t touched = 0, files = 0;
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < builder_entries(entries); id++) {
		if (builder_kind(entries, id) == FORMAT_DIRECTORY)
			continue;
		files++;
		r = touch->count ? builder_path(entries, id, &path) : 0;
		if (r == 0 && touch->count)
			filter_matches(touch, path.data, &touched);
	}
	if (r == 0)
		r = name_unmatched(create, "include", &filter->include, filter->included);
	if (r == 0)
		r = name_unmatched(create, "exclude", &filter->exclude, filter->excluded);
	if (r == 0)
		r = name_unmatched(create, "transform", touch, touched);
	if (r < 0 || files || filter_wants_all(filter))
		return r;
	report_log(&create->report, log_error, "", "--include and --exclude leave no file of it");
	return CREATE_REPORTED;
}

/* --- ahead ------------------------------------------------------------------------------------ */

int create_look_ahead(struct create *create, const struct builder *entries)
{
	int r = name_patterns(create, entries);

	if (r == 0)
		r = places_begin(&create->photos, &create->options, entries);
	if (r < 0 || create->source.dataset)
		return r;
	return places_look_ahead(&create->photos, &create->report, create->source.root, entries);
}
