#include "base/log.h"
#include "pack/tool/create/create.h"
#include "pack/tool/import/import_packs.h"

struct import_dir_params create_folder_params(const struct create *create)
{
	const struct create_options *options = &create->options;

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

int create_look_ahead(struct create *create, const struct builder *entries, uint64_t count)
{
	int r = places_begin(&create->places, &create->options, entries, count);

	return r < 0 ? r
		     : places_look_ahead(&create->places, &create->report, create->source.root,
					 entries, count);
}
