/* The way of a file from the importer through the pipeline into the builder:
 *
 *	ask_next	the next file that an interrupted run has not stored, nor the base has
 *	read_and_shape	in any thread: its bytes; checked, and changed
 *	store_item	in the order of asking: left out; or stored, unless the base or another
 *			file has the same bytes
 *
 * One thread asks and stores, so what is stored does not depend on the number of threads. */
#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create.h"
#include "pack/tool/create/shape.h"
#include "pack/tool/image/image.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/pipeline.h"
#include <string.h>

/* Bytes. A reference takes the path of the other file and 13 bytes. */
#define DEDUP_LEAST 513
#define REFERENCE   (sizeof(FORMAT_LINK_MAGIC) - 1)

/* Whether the bytes of a file are looked for among those of others. */
static bool is_deduped(const struct create *create, const struct create_item *item)
{
	return create->options.dedup && !item_is_large(&item->file) &&
	       item->file.bytes.len >= DEDUP_LEAST;
}

static const char *read_error_text(int error)
{
	switch (error) {
	case -ESTALE:
		return "changed while it was being packed";
	case -ENOENT:
		return "vanished while it was being packed";
	case -EBADMSG:
		return "damaged in the pack: checksum mismatch";
	case -EOVERFLOW:
		return IO_HAS_MORE;
	case -ENODATA:
		return IO_HAS_FEWER;
	default:
		return strerror(-error);
	}
}

/* --- what one run leaves to the next ------------------------------------------------------
 *
 * Each file has a note (builder_mark()) for a run that resumes this one:
 *
 *	flags, [the hash of its bytes], [damage, a tab, the reason], [NUL, why it was left]
 *
 * From the notes, that run makes the list of bad inputs, the counts and the table of equal files
 * again. */

enum note_flags {
	NOTE_HASH = 1,	 /* later files may have the same bytes */
	NOTE_BAD = 2,	 /* it stands in the list of bad inputs */
	NOTE_KEPT = 4,	 /* and was packed anyway */
	NOTE_MADE = 8,	 /* its bytes are not those of the source */
	NOTE_NAMED = 16, /* it has no header of an image, and that was all right */
	NOTE_LEFT = 32,	 /* it was not transformed */
	NOTE_MASK = 64,	 /* it was resized by the nearest pixel */
};

/* Before a file is stored or dropped. */
static int mark_item(struct create *create, const struct create_item *item)
{
	SCOPE(buf_release) struct buf note = BUF_INIT;
	const struct check_finding *finding = &item->finding;
	bool hash = !item->file.error && is_deduped(create, item);
	bool bad = !item->file.error && item->is_bad;
	int flags = (hash ? NOTE_HASH : 0) | (bad || item->file.error ? NOTE_BAD : 0) |
		    (bad && !finding->usable ? NOTE_KEPT : 0) | (item->is_made ? NOTE_MADE : 0) |
		    (bad && finding->usable && finding->named_only ? NOTE_NAMED : 0) |
		    (item->left ? NOTE_LEFT : 0) | (item->is_mask ? NOTE_MASK : 0);

	buf_addf(&note, "%c", flags);
	if (hash)
		buf_add(&note, &item->hash, sizeof(item->hash));
	if (item->file.error)
		buf_addf(&note, "%s\t%s", DAMAGE_UNREADABLE, read_error_text(item->file.error));
	else if (bad)
		buf_addf(&note, "%s\t%s", finding->damage, finding->text);
	if (item->left)
		buf_addf(&note, "%c%s", '\0', item->left);
	if (buf_error(&note) < 0)
		return -ENOMEM;
	return builder_mark(create->builder, item->file.fingerprint, note.data, note.len);
}

static int count_past(struct create *create, struct create_item *item,
		      const struct builder_past *past)
{
	SCOPE(buf_release) struct buf note = BUF_INIT; /* both of its texts NUL-ended */
	char *at, *left, *reason;
	int flags, r;

	if (past->note_len)
		buf_add(&note, past->note, past->note_len);
	if (buf_addf(&note, "%c%c", 0, 0) < 0)
		return -ENOMEM;
	at = note.data;
	flags = *at++;
	if ((flags & NOTE_HASH) && past->note_len > sizeof(item->hash)) {
		memcpy(&item->hash, at, sizeof(item->hash));
		at += sizeof(item->hash);
		r = past->stored ? number_table_add(&create->stored, item->hash, item->file.id) : 0;
		if (r < 0)
			return r;
	}
	left = at + strlen(at) + 1;
	if (flags & NOTE_BAD) {
		reason = at + strcspn(at, "\t");
		if (*reason)
			*reason++ = '\0';
		r = report_list_bad(&create->report, item->file.path.data, at, reason);
		if (r == 0 && (flags & NOTE_NAMED))
			r = report_named(&create->report, item->file.path.data, reason);
		if (r < 0)
			return r;
	}
	create->report.counts.made += (flags & NOTE_MADE) != 0;
	create->report.counts.masks += (flags & NOTE_MASK) != 0;
	if (past->dropped) {
		create->report.counts.skipped++;
		return 0;
	}
	create->report.counts.bytes_in += item->file.size;
	create->report.counts.kept += (flags & NOTE_KEPT) != 0;
	return flags & NOTE_LEFT ? report_left(&create->report, left, strlen(left)) : 0;
}

/* Records of other formats have no times of their own, and those of raw pixels all have one size:
 * the first file that was stored, the second, the fourth and so on are compared with their bytes.
 * What cannot be read proves nothing. */
static int compare_past(struct create *create, struct create_item *item,
			const struct builder_past *past)
{
	bool made = past->note_len && (*past->note & NOTE_MADE), same = true;
	uint64_t number = ++create->report.counts.compared;
	int r = 0;

	if (!create->source.dataset || !past->stored || made || item_is_large(&item->file) ||
	    (number & (number - 1)) != 0)
		return 0;
	create->import->ops->read(create->import, 0, &item->file);
	if (!item->file.error)
		r = builder_same(create->builder, item->file.id, item->file.bytes.data,
				 item->file.bytes.len, &same);
	if (r < 0 || same)
		return r;
	create->vain = true;
	report_log(&create->report, log_error, item->file.path.data, "%s",
		   "is not the file that was packed in this place before the interruption; "
		   "--force without --resume starts again");
	return CREATE_REPORTED;
}

/* Whether the next file was packed or left out before an interruption: 1 (then it was counted and
 * listed), 0, CREATE_REPORTED, or as builder_resumed(). */
static int is_resumed(struct create *create, struct create_item *item)
{
	struct builder_past past;
	struct err err = {0};
	int r = builder_resumed(create->builder, item->file.id, item->file.fingerprint, &past,
				&err);

	if (r == -ESTALE)
		return create_fail(create, r, &err);
	if (r <= 0)
		return r;
	r = compare_past(create, item, &past);
	if (r == 0)
		r = count_past(create, item, &past);
	progress_add(&create->report.progress, 1, item->file.size);
	return r < 0 ? r : 1;
}

/* --- in ----------------------------------------------------------------------------------- */

/* Bytes of files in memory: enough to go on reading while a batch is committed; more where each
 * thread has a larger one. */
#define INSIDE_BYTES   ITEM_LARGE
#define INSIDE_RESULTS (256 * MIB) /* of images that are decoded */
#define INSIDE_ITEMS   1024
#define ITEM_COST      512 /* beside its bytes */

struct store_run {
	struct create *create;
	struct shape *shape;
	struct pipeline *pipeline;
	struct create_item *next; /* not inside yet */
	bool ended;		  /* the importer has no more */
};

static void free_item(struct create_item *item)
{
	buf_release(&item->file.path);
	buf_release(&item->file.bytes);
	buf_release(&item->sums);
	free(item->left);
	free(item);
}

static void drop_unstored(void *run, void *item)
{
	(void)run;
	free_item(item);
}

static void run_release(struct store_run *run)
{
	pipeline_free(run->pipeline);
	if (run->next)
		free_item(run->next);
	shape_free(run->shape);
}

/* Sets run->next to the next file that is not in the pack yet; NULL at the end. */
static int ask_next(struct store_run *run)
{
	struct create *create = run->create;

	for (;;) {
		struct create_item *item = calloc(1, sizeof(*item));
		int r = item ? create->import->ops->next(create->import, &item->file) : -ENOMEM;

		run->ended = r == 1;
		if (r == 0) {
			r = since_take_unread(create->since, create->builder, &item->file);
			if (r == 1) {
				create->report.counts.bytes_in += item->file.size;
				progress_add(&create->report.progress, 1, item->file.size);
			}
		}
		if (r == 0)
			r = is_resumed(create, item);
		if (r == 0) {
			run->next = item;
			return 0;
		}
		if (item)
			free_item(item);
		if (r < 0 || run->ended)
			return r < 0 ? r : 0;
		if (interrupt_pending())
			return -EINTR;
	}
}

/* Fills the pipeline. A large file goes through alone, and is read when it comes out: before the
 * importer goes on. */
static int fill_pipeline(struct store_run *run)
{
	struct import *import = run->create->import;

	while (!run->ended) {
		int r = run->next ? 0 : ask_next(run);
		struct create_item *item = run->next;
		bool large = item && item_is_large(&item->file);
		uint64_t cost = large ? UINT64_MAX : item ? item->file.size + ITEM_COST : 0;

		if (r < 0 || !item || !pipeline_has_room(run->pipeline, cost))
			return r;
		run->next = NULL;
		if (import->ops->begin && !large)
			import->ops->begin(import, &item->file);
		pipeline_put(run->pipeline, item, cost);
		if (large)
			return 0;
	}
	return 0;
}

/* --- inside ------------------------------------------------------------------------------- */

static void read_and_shape(void *context, unsigned worker, void *pointer)
{
	struct store_run *run = context;
	struct create *create = run->create;
	struct create_item *item = pointer;
	uint64_t decoded;

	if (item_is_large(&item->file))
		return;
	create->import->ops->read(create->import, worker, &item->file);
	shape_inspect(item, item->file.bytes.data, item->file.bytes.len);
	decoded = item->file.error ? 0 : shape_decoded_size(run->shape, item);
	if (decoded)
		pipeline_charge(run->pipeline, worker, decoded);
	if (!item->file.error)
		shape_item(run->shape, item);
	if (create->photos.count && item->image.kind == IMAGE_UNKNOWN && !item->file.error)
		item->file.error = places_look(&create->photos, create->import, item);
	if (is_deduped(create, item))
		item->hash = entry_table_hash(item->file.bytes.data, item->file.bytes.len);
	since_sum(create->since, item);
}

/* --- out: a large file, which is looked at while it is stored ------------------------------ */

struct large_read {
	struct create_item *item;
	struct builder_source from;
	uint64_t at; /* bytes that were read */
	uint8_t start[IMAGE_START];
	uint64_t directory; /* where it is, if it is wanted; else 0 */
	struct buf kept;    /* what has come of it */
};

static void large_release(struct large_read *large)
{
	buf_release(&large->kept);
}

/* Keeps what these bytes, the next of the file, have of the directory. */
static int keep_directory(struct large_read *large, const char *buf, size_t len)
{
	uint64_t next = large->directory + large->kept.len;

	if (next < large->at || next >= large->at + len || large->kept.len >= IMAGE_DIRECTORY)
		return 0;
	len -= next - large->at;
	return buf_add(&large->kept, buf + (next - large->at),
		       min(len, IMAGE_DIRECTORY - large->kept.len));
}

static int read_large_file(void *context, void *buf, size_t len)
{
	struct large_read *large = context;
	int r = large->from.read(large->from.context, buf, len);

	if (r == 0 && large->at == 0) {
		shape_inspect(large->item, buf, len);
		if (large->item->image.width == 0)
			large->directory = image_directory(buf, len);
		memcpy(large->start, buf, min(len, IMAGE_START));
	}
	if (r == 0 && large->directory)
		r = keep_directory(large, buf, len);
	large->at += len;
	return r;
}

/* An error of the source itself is left in item->file.error. */
static int store_large(struct create *create, struct create_item *item, struct err *err)
{
	SCOPE(large_release) struct large_read large = {.item = item};
	const struct builder_source source = {
		.read = read_large_file, .context = &large, .size = item->file.size};
	int r = create->import->ops->open(create->import, &item->file, &large.from);

	if (r < 0)
		return 0;
	r = builder_store(create->builder, item->file.id, &source, err);
	if (create->import->ops->close)
		create->import->ops->close(create->import, &item->file);
	if (large.kept.len)
		image_inspect_directory(large.start, (const uint8_t *)large.kept.data,
					large.kept.len, &item->image);
	if (create->options.transforms)
		shape_leave(item, "over 64 MiB");
	return item->file.error ? 0 : r;
}

/* --- out ---------------------------------------------------------------------------------- */

static int read_memory(void *context, void *buf, size_t len)
{
	const char **at = context;

	memcpy(buf, *at, len);
	*at += len;
	return 0;
}

/* Stores the bytes of a file, or refers to those of an earlier one that has the same, unless that
 * takes more. */
static int store_read(struct create *create, struct create_item *item, struct err *err)
{
	const char *at = item->file.bytes.data;
	const struct builder_source source = {
		.read = read_memory, .context = &at, .size = item->file.bytes.len};
	SCOPE(buf_release) struct buf path = BUF_INIT;
	bool deduped = is_deduped(create, item), known;
	uint32_t first;
	int r = deduped ? entry_table_find_bytes(&create->stored, create->builder, item->hash,
						 item->file.bytes.data, item->file.bytes.len,
						 &first)
			: -ENOENT;

	known = r == 0;
	if (known)
		r = builder_path(create->builder, first, &path);
	if (r == 0 && REFERENCE + path.len <= item->file.bytes.len)
		return builder_alias(create->builder, item->file.id, first, err);
	if (r == 0 || r == -ENOENT)
		r = builder_store(create->builder, item->file.id, &source, err);
	return r < 0 || known || !deduped
		       ? r
		       : number_table_add(&create->stored, item->hash, item->file.id);
}

static int drop_item(struct create *create, const struct create_item *item)
{
	int r = mark_item(create, item);

	return r < 0 ? r : builder_drop(create->builder, item->file.id);
}

/* The source could not be read. */
static int give_up(struct create *create, const struct create_item *item)
{
	const char *path = item->file.path.data, *why = read_error_text(item->file.error);

	if (item->file.error == -ENOMEM || (item->file.error == -EINTR && interrupt_pending()))
		return item->file.error;
	/* What is stored is of the container as it was, so nothing of it is kept, whatever
	 * '--on-bad' says. */
	if (create->source.dataset && item->file.error == -ESTALE) {
		builder_spoil(create->builder);
		report_log(&create->report, log_error, path,
			   "%s; pack it again when nothing writes to it", why);
		return CREATE_REPORTED;
	}
	return !create->report.counts.refused && drop_item(create, item) < 0
		       ? -ENOMEM
		       : report_unreadable(&create->report, path, why);
}

/* Stores a file that has been read, or is large, unless the base has it. */
static int store_bytes(struct create *create, struct create_item *item)
{
	struct create_counts *counts = &create->report.counts;
	struct err err = {0};
	int r = mark_item(create, item);

	if (r < 0)
		return r;
	r = since_take_read(create->since, create->import, create->builder, item, &err);
	if (r == 0 && !item->file.error)
		r = item_is_large(&item->file) ? store_large(create, item, &err)
					       : store_read(create, item, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	if (item->file.error)
		return give_up(create, item);
	if (item->image.kind != IMAGE_UNKNOWN) {
		builder_image(create->builder, item->file.id, &item->image);
		counts->images++;
	}
	counts->bytes_in += item->file.size;
	counts->made += item->is_made;
	counts->masks += item->is_mask;
	counts->unsure += item->unsure;
	return item->left ? report_left(&create->report, item->left, strlen(item->left)) : 0;
}

static int store_item(struct create *create, struct create_item *item)
{
	struct err err = {0};
	int r;

	/* A program has failed. */
	if (item->file.error == -ECHILD)
		return create_fail(create, err_set(&err, -ECHILD, "%s", item->left), &err);
	if (item->file.error)
		return give_up(create, item);
	r = create->photos.count && item_is_large(&item->file)
		    ? places_look(&create->photos, create->import, item)
		    : 0;
	if (r == 0 && item->annotations.places)
		r = places_refuse(&create->report, item->file.path.data, &item->annotations, 0);
	else if (r == 0 && item->is_bad)
		r = report_found(&create->report, item->file.path.data, &item->finding);
	if (r >= 0 && create->report.counts.refused)
		r = 0; /* there will be no pack */
	else if (r == 1)
		r = drop_item(create, item);
	else if (r == 0)
		r = store_bytes(create, item);
	progress_add(&create->report.progress, 1, item->file.size);
	return r;
}

/* --- all of them -------------------------------------------------------------------------- */

static int store_files(struct create *create)
{
	SCOPE(run_release) struct store_run run = {.create = create};
	const struct pipeline_params params = {.workers = (unsigned)create->options.jobs,
					       .slots = INSIDE_ITEMS,
					       .bytes = INSIDE_BYTES,
					       .least = (unsigned)create->options.jobs,
					       .work = read_and_shape,
					       .drop = drop_unstored,
					       .results = INSIDE_RESULTS,
					       .context = &run};
	struct create_item *item = NULL;
	int r = shape_new(&create->options, &run.shape);

	if (r == 0)
		r = pipeline_new(&params, &run.pipeline);
	if (r < 0)
		return r;
	do {
		r = interrupt_pending() ? -EINTR : fill_pipeline(&run);
		item = r < 0 ? NULL : pipeline_take(run.pipeline);
		if (item) {
			r = store_item(create, item);
			free_item(item);
		}
	} while (r == 0 && item);
	return r;
}

/* Leaves out the other names of a file that was left out, and reports them. */
static int drop_link(struct create *create, uint32_t id)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, first = BUF_INIT, reason = BUF_INIT;
	struct builder *builder = create->builder;
	int r = builder_path(builder, builder_file(builder, id), &first);

	if (r == 0)
		r = builder_path(builder, id, &path);
	if (r == 0)
		r = buf_addf(&reason, "the same file as %s", first.data);
	if (r == 0)
		r = builder_drop(builder, id);
	return r < 0 ? r : report_unreadable(&create->report, path.data, reason.data);
}

int create_store(struct create *create)
{
	int r = store_files(create);

	if (r == 0 && create->report.counts.refused)
		r = report_refused(&create->report);
	for (uint32_t id = 1; r == 0 && id < builder_entries(create->builder); id++) {
		uint32_t file = builder_file(create->builder, id);

		if (file != id && builder_is_dropped(create->builder, file))
			r = drop_link(create, id);
	}
	return r;
}
