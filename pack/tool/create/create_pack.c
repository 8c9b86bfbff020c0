/* Makes a pack, by calling its parts in order:
 *
 *	SOURCE is looked through: an entry for each name -> files are stored, one after the other,
 *	each on its way through create_store.c -> the pack gets its name */
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create.h"
#include "pack/tool/create/handover.h"
#include "pack/tool/create/leftovers.h"
#include "pack/tool/create/target.h"
#include "pack/tool/work/interrupt.h"
#include <sys/stat.h>
#include <unistd.h>

void create_begin(struct create *create, const char *pack)
{
	create->source.pack = create->report.pack = pack;
	create->source.options = &create->options;
	create->report.options = &create->options;
	create->report.source = create->source.names[0];
	create->watch = report_watch(&create->report);
}

void create_end(struct create *create)
{
	report_release(&create->report);
	import_free(create->import);
	number_table_release(&create->stored);
	builder_free(create->builder);
	labels_release(&create->labels);
	*create = (struct create){.options = create->options,
				  .source = create->source,
				  .since = create->since,
				  .photos = create->photos,
				  .slice = create->slice};
}

void create_release(struct create *create)
{
	create_end(create);
	slices_free(create->slice.slices);
	photo_names_release(&create->photos);
	since_free(create->since);
	create_source_release(&create->source);
}

/* A warning before an hour of packing is better than a failure after it. What is in the pack
 * already needs no more room. CREATE_REPORTED if not even the bytes of the files fit, unless
 * options.anyway is set, as for a filesystem that compresses. */
static int check_space(struct create *create)
{
	uint64_t available = target_free(create->report.pack), need;
	char free_text[SIZE_TEXT], need_text[SIZE_TEXT];
	struct builder_kept kept = {0};
	bool sure;

	builder_kept(create->builder, &kept);
	need = sub_sat(create->need, kept.bytes);
	if (available == 0 || available >= need)
		return 0;
	sure = !create->options.dedup &&
	       available < sub_sat(create->import->bytes + create->slice.later, kept.bytes);
	size_format(need, need_text);
	size_format(available, free_text);
	if (!sure || create->options.anyway) {
		log_notice("%s: about %s needed, only %s free", create->report.pack, need_text,
			   free_text);
		return 0;
	}
	return log_fail(
		CREATE_REPORTED,
		"%s: about %s needed, only %s free; make room, choose another place for PACK, or "
		"use --anyway if the filesystem compresses",
		create->report.pack, need_text, free_text);
}

/* Prints what an interrupted run left to go on with; false: nothing. */
static bool say_kept(struct create *create, const char *words)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT];
	struct builder_kept kept;

	if (!create->builder || !builder_kept(create->builder, &kept))
		return false;
	create->report.counts.bytes_before = kept.bytes;
	log_notice("%s: %s %s, %s", create->report.pack, words,
		   count_noun(kept.files, "file", files), size_format(kept.bytes, bytes));
	return true;
}

/* Without options. */
static struct builder_params builder_params_of(const struct create *create)
{
	return (struct builder_params){.path = create->report.pack,
				       .replace = create->options.force,
				       .resume = create->options.resume};
}

static int open_builder(struct create *create)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct err err = {0};
	int r = create_options_text(&create->options, create->source.dataset, &text);
	struct builder_params params = builder_params_of(create);

	params.options = text.data;
	params.base = since_base(create->since);
	if (r == 0)
		r = target_check(create->report.pack, create->source.root, &err);
	if (r == 0)
		r = builder_new(&params, &create->builder, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	say_kept(create, "resuming after");
	return report_empty_list(&create->report);
}

static struct leftovers leftovers_of(struct create *create)
{
	return (struct leftovers){.report = &create->report,
				  .builder = create->builder,
				  .archive = create_source_is_archive(&create->source)};
}

/* Looks through all of the source. */
static int look(struct create *create)
{
	bool folder = !create->source.dataset;
	struct leftovers left;
	int r = 0;

	if (!folder) {
		create->report.counts.skipped += dataset_left_out(create->source.dataset);
		r = create_source_tell_flaws(&create->source, &create->report);
	}
	if (r == 0)
		r = create_import(create);
	if (r == 0 && !create->slice.slices)
		r = create_look_ahead(create, create->builder);
	if (r < 0 || !folder)
		return r;
	log_detail("%s: %u entries, %lu bytes, found in %.2f s", create->report.source,
		   builder_entries(create->builder), create->import->bytes,
		   progress_now() - create->report.progress.began);
	left = leftovers_of(create);
	return leftovers_name_links(&left);
}

static int store_all(struct create *create)
{
	const struct import *import = create->import;
	struct leftovers left;
	int r;

	/* This is not known for a tar, nor if images are changed, nor what the base has. */
	if (!create->options.transforms && !create->since)
		create->need = target_estimate(import->bytes + create->slice.later,
					       builder_entries(create->builder));
	r = check_space(create);
	if (r < 0)
		return r;
	progress_begin(&create->report.progress, "packing", cmd_progress(&create->options.common));
	create->report.progress.files_total = import->files;
	create->report.progress.bytes_total = import->bytes;
	r = create_store(create);
	if (r == 0)
		r = create_source_tell_broken(&create->source, &create->report, create->builder);
	if (r < 0)
		return r;
	left = leftovers_of(create);
	return leftovers_name(&left);
}

static int pack_source(struct create *create)
{
	int r = report_open_list(&create->report, create->source.root);

	create->began = progress_now();
	if (r == 0 && transform_decodes(&create->options.how) && !create->slice.slices)
		create_warn_of_bitmaps(create);
	if (r == 0)
		r = open_builder(create);
	if (r == 0)
		r = look(create);
	if (r == 0)
		r = store_all(create);
	if (r == 0)
		r = report_close_list(&create->report);
	return r < 0 ? r : create_finish(create);
}

/* --- how it ends ------------------------------------------------------------------------------ */

/* Ends a run early, and returns whether --resume can continue it. */
static bool leave_create(struct create *create)
{
	bool kept = !create->vain && say_kept(create, "--resume continues after");

	create_end(create);
	return kept;
}

int create_interrupted(struct create *create)
{
	const char *pack = create->report.pack;
	struct handover *handover = create->slice.handover;
	bool kept = leave_create(create) || handover;

	handover_await(handover);
	log_error("%s: interrupted%s", pack, kept ? "" : "; nothing was left behind");
	return interrupt_die();
}

int create_failed(struct create *create, int error)
{
	create_fail(create, error, NULL);
	return error == CREATE_REFUSED	 ? EXIT_USAGE
	       : error == CREATE_DAMAGED ? EXIT_DAMAGED
					 : (int)exit_status_of(error);
}

/* Whether there is nothing to resume but a finished pack. Scripts resume whatever there is. */
static bool is_finished(const struct create *create)
{
	const struct create_options *options = &create->options;
	SCOPE(buf_release) struct buf partial = BUF_INIT;

	return options->resume && !options->force && target_replaceable(create->report.pack) &&
	       buf_addf(&partial, "%s.partial", create->report.pack) == 0 &&
	       access(partial.data, F_OK) < 0;
}

int create_check_target(struct create *create)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct builder_params params = builder_params_of(create);
	struct err err = {0};
	struct stat st;
	int r;

	if ((fstat(create->source.root, &st) == 0 && S_ISDIR(st.st_mode)) || is_finished(create))
		return EXIT_DONE;
	r = create_options_text(&create->options, NULL, &text);
	if (create->source.stream)
		params.options = text.data;
	if (r == 0)
		r = target_check(create->report.pack, create->source.root, &err);
	if (r == 0)
		r = builder_check(&params, &err);
	return r < 0 ? create_failed(create, create_fail(create, r, &err)) : EXIT_DONE;
}

int create_pack(struct create *create)
{
	int r;

	if (is_finished(create)) {
		r = create_log_finished(create);
		if (r != EXIT_DONE)
			return r;
		builder_tidy(create->report.pack);
	} else {
		r = pack_source(create);
		if (r == -EINTR)
			return create_interrupted(create);
		if (r < 0) {
			r = create_failed(create, r);
			leave_create(create);
			return r;
		}
	}
	return create->report.counts.skipped ? EXIT_SKIPPED : EXIT_DONE;
}
