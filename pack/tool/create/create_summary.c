/* The end of a run: labels, and the summary. */
#include "base/json.h"
#include "base/libc.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* --- labels ----------------------------------------------------------------------------------- */

/* Makes a folder, unless it is there, in one that is. */
static int make_folder(struct create *create, struct number_table *folders, const char *path,
		       size_t len, struct err *err)
{
	const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
	struct pack_entry entry = {.kind = FORMAT_DIRECTORY,
				   .parent = PACK_ROOT,
				   .name = name,
				   .name_len = (size_t)(path + len - name),
				   .mode = 0755};
	uint32_t id;
	int r = entry_table_find_path(folders, create->builder, path, len, &id);

	if (r != -ENOENT)
		return r;
	r = slash ? entry_table_find_path(folders, create->builder, path, (size_t)(slash - path),
					  &entry.parent)
		  : 0;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = builder_add(create->builder, &entry, &id, err);
	return r < 0 ? r : entry_table_add_path(folders, create->builder, id);
}

static int add_number(const void *context, int64_t label, struct buf *above, struct labels *labels)
{
	int r = buf_addf(above, "%04" PRId64, label);

	(void)context;
	return r < 0 ? r : labels_add(labels, label, above->data, above->len);
}

static int add_empty(struct create *create, struct err *err)
{
	SCOPE(number_table_release) struct number_table folders = {0};
	const struct builder *builder = create->builder;
	struct labels *labels = &create->labels;
	int r;

	labels_sort(labels);
	r = labels_add_gaps(labels, add_number, NULL, err);
	for (uint32_t id = 1; r == 0 && id < builder_entries(builder); id++)
		if (builder_kind(builder, id) == FORMAT_DIRECTORY &&
		    !builder_is_dropped(builder, id))
			r = entry_table_add_path(&folders, builder, id);
	for (size_t i = 0; r == 0 && i < labels_count(labels); i++)
		r = make_folder(create, &folders, labels_folder(labels, i),
				labels_row(labels, i)->len, err);
	return r;
}

/* Once all files are stored: gives the pack the labels of the source (pack/labels.h), and, where
 * that was asked for, folders for those without an image. */
static int keep_labels(struct create *create, struct err *err)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	int r = 0;

	if (create->source.dataset)
		r = labels_add_dataset(&create->labels, create->source.dataset, "");
	if (r == 0 && create->options.common.foreign.empty_classes)
		r = add_empty(create, err);
	if (r == 0)
		r = labels_write(&create->labels, &line);
	return r < 0 || !line.len ? r : builder_add_options(create->builder, line.data);
}

/* --- the summary ----------------------------------------------------------------------------- */

void create_warn_of_bitmaps(const struct create *create)
{
	log_notice(
		"%s: will be many times as large as the images, which are decoded; "
		"torchvision.io and TurboJPEG cannot read them",
		create->report.pack);
}

int create_print_json(const struct create *create, const struct builder_summary *summary,
		      double seconds)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct json json = json_begin(&text);

	json_object(&json, NULL);
	json_u64(&json, "files", summary->files);
	json_u64(&json, "bytes_in", create->report.counts.bytes_in);
	json_u64(&json, "bytes_out", summary->pack_bytes);
	json_u64(&json, "skipped", create->report.counts.skipped);
	json_u64(&json, "kept", create->report.counts.kept);
	json_u64(&json, "left", create->report.counts.left);
	json_u64(&json, "masks", create->report.counts.masks);
	json_u64(&json, "deduped", summary->aliases);
	if (create->since)
		json_u64(&json, "based", summary->based);
	json_double(&json, "seconds", seconds);
	json_string(&json, "id", summary->id);
	json_string(&json, "content_id", summary->content_id);
	json_end(&json);
	return cmd_print_json(&text);
}

void create_log_skipped(const struct create *create)
{
	char count[SIZE_TEXT];

	if (create->report.counts.skipped)
		log_notice("%s: %s of the inputs left out", create->report.pack,
			   count_format(create->report.counts.skipped, count));
}

static void say_made(const struct create *create)
{
	char count[SIZE_TEXT], bytes[SIZE_TEXT], masks[SIZE_TEXT], nearest[2 * SIZE_TEXT] = "";

	if (create->report.counts.masks)
		snprintf(nearest, sizeof(nearest), ", %s of them as masks, by the nearest pixel",
			 count_format(create->report.counts.masks, masks));
	if (create->report.counts.made)
		log_info("%s: %s changed%s; the files had %s before", create->report.pack,
			 count_noun(create->report.counts.made, "image", count), nearest,
			 size_format(create->report.counts.bytes_in, bytes));
}

static void say_left(const struct create *create)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	uint64_t images = create->report.counts.left;
	char count[SIZE_TEXT];
	int r = 0;

	for (size_t i = 0; r == 0 && i < LEFT_REASONS && create->report.left[i].why; i++)
		r = buf_addf(&text, "%s%s (%s)", i ? ", " : "",
			     count_format(create->report.left[i].images, count),
			     create->report.left[i].why);
	if (r == 0 && text.len)
		log_notice("%s: %s left as %s: %s", create->report.pack,
			   count_noun(images, "image", count), images == 1 ? "it is" : "they are",
			   text.data);
}

static void print_summary(const struct create *create, const struct builder_summary *summary,
			  double seconds)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT], pack[SIZE_TEXT];

	log_info("%s: %s, %s, packed into %s in %.1f s (%.0f MB/s), id %s", create->report.pack,
		 count_noun(summary->files, "file", files), size_format(summary->bytes, bytes),
		 size_format(summary->pack_bytes, pack), seconds,
		 (double)sub_sat(summary->bytes - summary->based_bytes,
				 create->report.counts.bytes_before) *
			 1e-6 / seconds,
		 summary->id);
	if (create->since)
		log_info("%s: %s, %s, of these are in %s", create->report.pack,
			 count_noun(summary->based, "file", files),
			 size_format(summary->based_bytes, bytes), create->options.since.items[0]);
	if (summary->files == 0 && summary->symlinks > 0)
		log_notice(
			"%s: no file, only symbolic links (%s); --dereference packs what they "
			"lead to",
			create->report.pack, count_format(summary->symlinks, files));
	if (summary->aliases)
		log_info("%s: %s %s the bytes of others, which saves %s", create->report.pack,
			 count_noun(summary->aliases, "file", files),
			 summary->aliases == 1 ? "has" : "have",
			 size_format(summary->alias_bytes, bytes));
	say_made(create);
	if (summary->no_mode)
		log_notice("%s: its mode could not be set (fchmod: %s)", create->report.pack,
			   strerror(-summary->no_mode));
	if (summary->no_sync)
		log_notice(
			"%s: the filesystem does not sync on request (fsync: %s); after a power "
			"failure, check it with 'foldpack verify'",
			create->report.pack, strerror(-summary->no_sync));
	say_left(create);
	if (create->report.counts.kept)
		log_notice("%s: %s of them bad, and packed anyway", create->report.pack,
			   count_format(create->report.counts.kept, files));
	create_log_skipped(create);
}

int create_finish(struct create *create)
{
	SCOPE(cmd_close) struct dataset *pack = NULL;
	struct builder_summary summary;
	struct err err = {0};
	double seconds;
	int r;

	/* With millions of files, each of these is as large as the last batch and the index, which
	 * come now. */
	r = keep_labels(create, &err);
	import_free(steal_ptr(&create->import));
	number_table_release(&create->stored);
	malloc_trim(0);
	if (r == 0)
		r = builder_finish(create->builder, create->report.counts.skipped, &summary, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	progress_end(&create->report.progress);
	seconds = progress_now() - create->began;
	if (labels_count(&create->labels) && dataset_open(create->report.pack, &pack, NULL) == 0)
		cmd_say_labels(create->report.pack, pack);
	print_summary(create, &summary, seconds);
	return create->options.json ? create_print_json(create, &summary, seconds) : 0;
}
