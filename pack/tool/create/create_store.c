/* import -> pipeline -> builder.
 *
 * The owner's thread asks the importer for the next file and puts it into the pipeline, whose
 * threads read the bytes and look at them. The owner takes files out in the same order and stores
 * them. So what is stored does not depend on the number of threads. */
#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_images.h"
#include "pack/tool/create/create_inputs.h"
#include "pack/tool/create/create_programs.h"
#include "pack/tool/create/create_since.h"
#include "pack/tool/image/image.h"
#include "pack/tool/import/source.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/pipeline.h"
#include <fcntl.h>
#include <string.h>

/* Bytes. A reference takes the path of the other file and 13 bytes. */
#define DEDUP_LEAST 513

/* Whether the bytes of a file are looked for among those of others. */
static bool is_deduped(const struct create *create, const struct item *item)
{
	return create->options.dedup && !item_is_large(item) && item->bytes.len >= DEDUP_LEAST;
}

/* --- what one run leaves to the next ------------------------------------------------------
 *
 * Each file has a note (builder_mark()) for a run that resumes this one:
 *
 *	flags, [the hash of its bytes], [damage, a tab, the reason]
 *
 * From the notes, that run makes the list of bad inputs, the counts and the table of equal files
 * again. */

enum note_flags {
	NOTE_HASH = 1,	 /* later files may have the same bytes */
	NOTE_BAD = 2,	 /* it stands in the list of bad inputs */
	NOTE_KEPT = 4,	 /* and was packed anyway */
	NOTE_MADE = 8,	 /* its bytes are not those of the source */
	NOTE_LEFT = 32,	 /* why it was not transformed comes last, behind a NUL */
	NOTE_NAMED = 16, /* it has no header of an image, and that was all right */
	NOTE_MASK = 64,	 /* it was resized by the nearest pixel */
};

static int add_reason(struct buf *note, const char *damage, const char *reason)
{
	note->data[0] |= NOTE_BAD;
	return buf_addf(note, "%s\t%s", damage, reason);
}

static int note_damage(const struct item *item, struct buf *note)
{
	if (item->error)
		return add_reason(note, DAMAGE_UNREADABLE, source_error_text(item->error));
	if (!item->is_bad)
		return 0;
	if (!item->finding.usable)
		note->data[0] |= NOTE_KEPT;
	else if (item->finding.named_only)
		note->data[0] |= NOTE_NAMED;
	return add_reason(note, item->finding.damage, item->finding.text);
}

static int make_note(const struct create *create, const struct item *item, struct buf *note)
{
	bool hash = !item->error && is_deduped(create, item);
	char flags = (char)((hash ? NOTE_HASH : 0) | (item->is_made ? NOTE_MADE : 0) |
			    (item->is_mask ? NOTE_MASK : 0));
	int r = buf_add(note, &flags, 1);

	if (r == 0 && hash)
		r = buf_add(note, &item->hash, sizeof(item->hash));
	if (r == 0)
		r = note_damage(item, note);
	if (r < 0 || !item->left)
		return r;
	note->data[0] |= NOTE_LEFT;
	return buf_addf(note, "%c%s", '\0', item->left);
}

/* Before a file is stored or dropped. */
static int mark_item(struct create *create, const struct item *item)
{
	SCOPE(buf_release) struct buf note = BUF_INIT;
	int r = make_note(create, item, &note);

	return r < 0 ? r : builder_mark(create->builder, item->fingerprint, note.data, note.len);
}

/* Adds a bad input of an earlier run to the list. `text` is the damage, a tab and the reason. */
static int list_again(struct create *create, const struct item *item, char flags, const char *text,
		      size_t len)
{
	SCOPE_FREE char *damage = strndup(text, len);
	char *reason;
	int r;

	if (!damage)
		return -ENOMEM;
	reason = damage + strcspn(damage, "\t");
	if (*reason)
		*reason++ = '\0';
	r = create_list_bad(create, item->path.data, damage, reason);
	if (r == 0 && (flags & NOTE_NAMED))
		r = create_note_named(create, item->path.data, reason);
	return r;
}

static int count_past(struct create *create, struct item *item, const struct builder_past *past)
{
	const char *at = past->note, *end = past->note + past->note_len;
	char flags = at < end ? *at++ : 0;
	const char *nul;
	int r = 0;

	create_list_held(create, &item->listed);
	if ((flags & NOTE_HASH) && (size_t)(end - at) >= sizeof(item->hash)) {
		memcpy(&item->hash, at, sizeof(item->hash));
		at += sizeof(item->hash);
		if (past->stored)
			r = entry_table_add(&create->stored, item->hash, item->id);
	}
	nul = memchr(at, '\0', (size_t)(end - at));
	if (r == 0 && (flags & NOTE_BAD))
		r = list_again(create, item, flags, at, (size_t)((nul ? nul : end) - at));
	if (r == 0 && (flags & NOTE_LEFT) && nul && !past->dropped)
		r = create_count_left(create, nul + 1, (size_t)(end - nul - 1));
	create->counts.bytes_in += past->dropped ? 0 : item->size;
	create->counts.made += (flags & NOTE_MADE) != 0;
	create->counts.masks += (flags & NOTE_MASK) != 0;
	create->counts.skipped += past->dropped;
	create->counts.kept += !past->dropped && (flags & NOTE_KEPT);
	return r;
}

/* Records of other formats have no times of their own, and those of raw pixels all have one size:
 * the first file that was stored, the second, the fourth and so on are compared with their bytes.
 * What cannot be read proves nothing. */
static int compare_past(struct create *create, struct item *item, const struct builder_past *past)
{
	bool made = past->note_len && (*past->note & NOTE_MADE), same = true;
	uint64_t number = ++create->compared;
	int r = 0;

	if (!create->dataset || !past->stored || made || item_is_large(item) ||
	    (number & (number - 1)) != 0)
		return 0;
	create->import->ops->read(create->import, 0, item);
	if (!item->error)
		r = builder_same(create->builder, item->id, item->bytes.data, item->bytes.len,
				 &same);
	if (r < 0 || same)
		return r;
	create->vain = true;
	create_say_of(create, log_error, item->path.data, "%s",
		      "is not the file that was packed in this place before the interruption; "
		      "--force without --resume starts again");
	return CREATE_REPORTED;
}

/* Whether the next file was packed or left out before an interruption: 1 (then it was counted and
 * listed), 0, CREATE_REPORTED, or as builder_resumed(). */
static int is_resumed(struct create *create, struct item *item)
{
	struct builder_past past;
	struct err err = {0};
	int r = builder_resumed(create->builder, item->id, item->fingerprint, &past, &err);

	if (r == -ESTALE)
		return create_fail(create, r, &err);
	if (r <= 0)
		return r;
	r = compare_past(create, item, &past);
	if (r == 0)
		r = count_past(create, item, &past);
	progress_add(&create->progress, 1, item->size);
	return r < 0 ? r : 1;
}

/* --- a run -------------------------------------------------------------------------------- */

/* Bytes of files in memory: enough to go on reading while a batch is committed; more where each
 * thread has a larger one. */
#define INSIDE_BYTES   ITEM_LARGE
#define INSIDE_RESULTS (256 * MIB) /* of images that are decoded */
#define INSIDE_ITEMS   1024
#define ITEM_COST      512 /* beside its bytes */

struct store_run {
	struct create *create;
	struct pipeline *pipeline;
	struct item *next; /* not inside yet */
	struct buf listed; /* as an item's, after the last one */
	bool ended;	   /* the importer has no more */
};

static void free_item(struct item *item)
{
	buf_release(&item->path);
	buf_release(&item->bytes);
	buf_release(&item->listed);
	buf_release(&item->sums);
	free(item->left);
	free(item);
}

/* Bad inputs are listed, however the run ended. */
static void drop_unstored(void *context, void *item)
{
	struct store_run *run = context;

	create_list_held(run->create, &((struct item *)item)->listed);
	free_item(item);
}

static void run_release(struct store_run *run)
{
	pipeline_free(run->pipeline);
	if (run->next)
		drop_unstored(run, run->next);
	programs_end(run->create);
	create_list_held(run->create, &run->listed);
	buf_release(&run->listed);
}

static void read_and_shape(void *context, unsigned worker, void *pointer)
{
	struct store_run *run = context;
	const struct create *create = run->create;
	struct item *item = pointer;
	uint64_t decoded;

	if (item_is_large(item))
		return;
	if (create->import->ops->read)
		create->import->ops->read(create->import, worker, item);
	create_inspect(item, item->bytes.data, item->bytes.len);
	decoded = item->error ? 0 : create_decoded_size(create, item);
	if (decoded)
		pipeline_charge(run->pipeline, worker, decoded);
	if (!item->error)
		create_shape(create, item);
	if (is_deduped(create, item))
		item->hash = entry_table_hash(item->bytes.data, item->bytes.len);
	create_sum(create, item);
}

/* --- in ----------------------------------------------------------------------------------- */

/* A large file goes through alone, and is read when it comes out. */
static uint64_t item_cost(const struct item *item)
{
	return item_is_large(item) ? UINT64_MAX : item->size + ITEM_COST;
}

/* Asks the importer for the next file. Bad inputs on the way to it are listed with that file. */
static int ask_import(struct store_run *run, struct item *item)
{
	struct create *create = run->create;
	struct err err = {0};
	int r;

	create->held = &item->listed;
	r = create->import->ops->next(create->import, item, &err);
	create->held = NULL;
	run->ended = r == 1;
	if (r != 0) {
		run->listed = item->listed;
		item->listed = BUF_INIT;
	}
	return r < 0 && err.text[0] ? create_fail(create, r, &err) : r;
}

/* Sets run->next to the next file that is not in the pack yet; NULL at the end. */
static int ask_next(struct store_run *run)
{
	for (;;) {
		struct item *item = calloc(1, sizeof(*item));
		int r = item ? ask_import(run, item) : -ENOMEM;

		if (r == 0)
			r = create_take_unread(run->create, item);
		if (r == 0 && run->create->builder)
			r = is_resumed(run->create, item);
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

/* Fills the pipeline. */
static int fill_pipeline(struct store_run *run)
{
	struct import *import = run->create->import;

	while (!run->ended) {
		int r = run->next ? 0 : ask_next(run);
		struct item *item = run->next;

		if (r < 0 || !item || !pipeline_has_room(run->pipeline, item_cost(item)))
			return r;
		run->next = NULL;
		if (import->ops->begin && !item_is_large(item))
			import->ops->begin(import, item);
		pipeline_put(run->pipeline, item, item_cost(item));
		/* A large file must be read before the importer goes on. */
		if (item_is_large(item))
			return 0;
	}
	return 0;
}

/* --- out ---------------------------------------------------------------------------------- */

static int read_memory(void *context, void *buf, size_t len)
{
	const char **at = context;

	memcpy(buf, *at, len);
	*at += len;
	return 0;
}

static int store_memory(struct create *create, struct item *item, struct err *err)
{
	const char *at = item->bytes.data;
	const struct builder_source source = {
		.read = read_memory, .context = &at, .size = item->bytes.len};

	return builder_store(create->builder, item->id, &source, err);
}

/* Refers to the bytes of an earlier file if one has the same bytes. */
static int store_once(struct create *create, struct item *item, struct err *err)
{
	uint32_t first;
	int r = entry_table_find_bytes(&create->stored, create->builder, item->hash,
				       item->bytes.data, item->bytes.len, &first);

	if (r == 0)
		return builder_alias(create->builder, item->id, first, err);
	if (r == -ENOENT)
		r = store_memory(create, item, err);
	return r < 0 ? r : entry_table_add(&create->stored, item->hash, item->id);
}

/* A large file, which is looked at while it is stored. */
struct large_read {
	struct item *item;
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

static void begin_large(struct large_read *large, const void *buf, size_t len)
{
	create_inspect(large->item, buf, len);
	if (large->item->image.width == 0)
		large->directory = image_directory(buf, len);
	memcpy(large->start, buf, min(len, IMAGE_START));
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

	if (r == 0 && large->at == 0)
		begin_large(large, buf, len);
	if (r == 0 && large->directory)
		r = keep_directory(large, buf, len);
	large->at += len;
	return r;
}

/* Stores a large file. An error of the source itself is left in item->error. */
static int store_large(struct create *create, struct item *item, struct err *err)
{
	SCOPE(large_release) struct large_read large = {.item = item};
	const struct builder_source source = {
		.read = read_large_file, .context = &large, .size = item->size};
	int r = create->import->ops->open(create->import, item, &large.from);

	if (r < 0)
		return 0;
	r = builder_store(create->builder, item->id, &source, err);
	if (create->import->ops->close)
		create->import->ops->close(create->import, item);
	if (large.kept.len)
		image_inspect_directory(large.start, (const uint8_t *)large.kept.data,
					large.kept.len, &item->image);
	if (create->transforms)
		create_leave(item, "over 64 MiB");
	return item->error ? 0 : r;
}

static int drop_item(struct create *create, const struct item *item)
{
	int r = mark_item(create, item);

	return r < 0 ? r : builder_drop(create->builder, item->id);
}

/* The source could not be read. */
static int give_up(struct create *create, const struct item *item)
{
	if (item->error == -EINTR && interrupt_pending())
		return -EINTR;
	if (item->error == -ENOMEM)
		return -ENOMEM;
	if (create->dataset && item->error == -ESTALE)
		return create_changed(create, item->path.data);
	return !create->counts.refused && drop_item(create, item) < 0
		       ? -ENOMEM
		       : create_unreadable(create, item->path.data, source_error_text(item->error));
}

static int store_new(struct create *create, struct item *item, struct err *err)
{
	if (item_is_large(item))
		return store_large(create, item, err);
	return is_deduped(create, item) ? store_once(create, item, err)
					: store_memory(create, item, err);
}

/* Stores a file that has been read, or is large, unless the base has it. */
static int store_bytes(struct create *create, struct item *item)
{
	struct err err = {0};
	int r = mark_item(create, item);

	if (r < 0)
		return r;
	r = create_take_read(create, item, &err);
	if (r == 0 && !item->error)
		r = store_new(create, item, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	if (item->error)
		return give_up(create, item);
	create->counts.images += item->image.kind != IMAGE_UNKNOWN;
	if (item->image.kind != IMAGE_UNKNOWN)
		builder_image(create->builder, item->id, &item->image);
	create->counts.bytes_in += item->size;
	create->counts.made += item->is_made;
	create->counts.masks += item->is_mask;
	create->counts.unsure += item->unsure;
	return item->left ? create_count_left(create, item->left, strlen(item->left)) : 0;
}

/* Returns 0 to store it, 1 to leave it out, or an error. */
static int judge_item(struct create *create, const struct item *item)
{
	if (item->annotations.places)
		return create_refuse_annotations(create, item->path.data, &item->annotations, 0);
	return item->is_bad ? create_found(create, item->path.data, &item->finding) : 0;
}

static int store_item(struct create *create, struct item *item)
{
	int r;

	if (item->error)
		return give_up(create, item);
	r = create->images && item_is_large(item) ? create_look_through(create, item) : 0;
	if (r == 0)
		r = judge_item(create, item);
	if (r >= 0 && create->counts.refused)
		r = 0; /* there will be no pack */
	else if (r == 1)
		r = drop_item(create, item);
	else if (r == 0)
		r = store_bytes(create, item);
	progress_add(&create->progress, 1, item->size);
	return r;
}

static int run_all(struct store_run *run, int (*use)(struct create *create, struct item *item))
{
	struct item *item = NULL;
	int r;

	do {
		r = interrupt_pending() ? -EINTR : fill_pipeline(run);
		if (r < 0)
			return r;
		item = pipeline_take(run->pipeline);
		if (item) {
			create_list_held(run->create, &item->listed);
			r = item->error == -ECHILD ? programs_fail(run->create, item)
						   : use(run->create, item);
			free_item(item);
		}
	} while (r == 0 && item);
	return r;
}

int create_run(struct create *create, int (*use)(struct create *create, struct item *item))
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
	int r = programs_begin(create);

	if (r == 0)
		r = pipeline_new(&params, &run.pipeline);
	return r < 0 ? r : run_all(&run, use);
}

struct import_dir_params create_folder_params(const struct create *create)
{
	const struct create_options *options = &create->options;

	return (struct import_dir_params){.scan = {.root = create->root,
						   .jobs = (unsigned)options->jobs,
						   .patience_ns = SCAN_PATIENCE_NS,
						   .follow = options->dereference,
						   .filter = &options->filter,
						   .watch = &create->watch,
						   .builder = create->builder},
					  .order = &options->order,
					  .slices = create->slice.slices,
					  .slice = create->slice.number};
}

int create_open_folder(struct create *create, const struct import_dir_params *params)
{
	struct err err = {0};
	int r = import_dir_new(params, &create->import, &err);

	if (r == 0 || !err.text[0])
		return r;
	progress_clear(&create->progress);
	return log_fail(CREATE_REPORTED, "%s", err.text);
}

int create_store(struct create *create)
{
	const struct import *import = create->import;
	int r = create_run(create, store_item);

	if (r == 0 && create->counts.refused)
		r = create_refuse(create);
	if (r == 0)
		r = import_drop_links(create->builder, import->entries, &create->watch);
	return r == 0 && import->ops->finish ? import->ops->finish(create->import) : r;
}
