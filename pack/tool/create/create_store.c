/* import -> pipeline -> builder.
 *
 * The owner's thread asks the importer who comes next, puts that into the pipeline, whose
 * threads read and look at the bytes, and takes files out in the same order to store them: so
 * what is stored does not depend on how many threads there are. */
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/cli/pipeline.h"
#include "pack/tool/create/create.h"
#include "pack/tool/import/source.h"
#include <string.h>

/* Of files in memory: enough to go on reading while a batch is committed. */
#define INSIDE_BYTES ITEM_LARGE
#define INSIDE_ITEMS 1024
#define ITEM_COST    512 /* beside its bytes */

struct run {
	struct create *create;
	struct pipeline *pipeline;
	struct item *first, **last; /* those inside, oldest first */
	struct item *next;	    /* not inside yet */
	struct buf listed;	    /* as an item's, behind the last one */
	bool ended;		    /* the importer has no more */
};

static void free_item(struct item *item)
{
	buf_release(&item->path);
	buf_release(&item->bytes);
	buf_release(&item->listed);
	free(item);
}

/* What the importer found bad is listed, however the run ended. */
static void release(struct run *run)
{
	pipeline_free(run->pipeline);
	*run->last = run->next;
	while (run->first) {
		struct item *item = run->first;

		run->first = item->next;
		create_list_held(run->create, &item->listed);
		free_item(item);
	}
	create_list_held(run->create, &run->listed);
	buf_release(&run->listed);
}

bool create_is_deduped(const struct create *create, const struct item *item)
{
	return create->dedup && !item_is_large(item) && dedup_table_pays(item->bytes.len);
}

/* --- in the pipeline's threads ---------------------------------------------------------- */

static void work(void *context, unsigned worker, void *pointer)
{
	struct create *create = context;
	struct item *item = pointer;

	if (item_is_large(item))
		return;
	create->import->ops->read(create->import, worker, item);
	if (!item->error)
		create_shape(create, item);
	if (create_is_deduped(create, item))
		item->hash = dedup_table_hash(item->bytes.data, item->bytes.len);
}

/* --- in ----------------------------------------------------------------------------------- */

/* A large one goes through alone, and is read when it comes out. */
static uint64_t cost_of(const struct item *item)
{
	return item_is_large(item) ? UINT64_MAX : item->size + ITEM_COST;
}

/* Asks the importer for the next file. What it finds bad on the way is listed in its turn. */
static int ask_import(struct run *run, struct item *item)
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

/* The next file that is not in the pack yet: run->next, NULL at the end. */
static int ask(struct run *run)
{
	for (;;) {
		struct item *item = calloc(1, sizeof(*item));
		int r = item ? ask_import(run, item) : -ENOMEM;

		if (r == 0 && run->create->builder)
			r = create_resumed(run->create, item);
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
static int feed(struct run *run)
{
	while (!run->ended) {
		int r = run->next ? 0 : ask(run);
		struct item *item = run->next;

		if (r < 0 || !item || !pipeline_has_room(run->pipeline, cost_of(item)))
			return r;
		run->next = NULL;
		*run->last = item;
		run->last = &item->next;
		pipeline_put(run->pipeline, item, cost_of(item));
		/* It is to be read before the importer goes on. */
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

/* Refers to the bytes of an earlier file, where one has the same. */
static int store_once(struct create *create, struct item *item, struct err *err)
{
	uint32_t first;
	int r = dedup_table_find(&create->dedup_table, create->builder, item->hash,
				 item->bytes.data, item->bytes.len, &first);

	if (r == 0)
		return builder_alias(create->builder, item->id, first, err);
	if (r == -ENOENT)
		r = store_memory(create, item, err);
	return r < 0 ? r : dedup_table_add(&create->dedup_table, item->hash, item->id);
}

/* An error of the source itself is left in item->error. */
static int store_large(struct create *create, struct item *item, struct err *err)
{
	struct builder_source source;
	int r = create->import->ops->open(create->import, item, &source);

	if (r < 0)
		return 0;
	r = builder_store(create->builder, item->id, &source, err);
	create->import->ops->close(create->import, item);
	return item->error ? 0 : r;
}

static int drop(struct create *create, const struct item *item)
{
	int r = create_mark(create, item);

	return r < 0 ? r : builder_drop(create->builder, item->id);
}

/* The source could not be read. */
static int give_up(struct create *create, const struct item *item)
{
	if (item->error == -EINTR && interrupt_pending())
		return -EINTR;
	if (item->error == -ENOMEM)
		return -ENOMEM;
	return drop(create, item) < 0
		       ? -ENOMEM
		       : create_unreadable(create, item->path.data, source_error_text(item->error));
}

/* Stores a file that has been read, or is large. */
static int store_bytes(struct create *create, struct item *item)
{
	struct err err = {0};
	int r = create_mark(create, item);

	if (r < 0)
		return r;
	if (item_is_large(item))
		r = store_large(create, item, &err);
	else
		r = create_is_deduped(create, item) ? store_once(create, item, &err)
						    : store_memory(create, item, &err);
	if (r < 0)
		return create_fail(create, r, &err);
	if (item->error)
		return give_up(create, item);
	if (item->image.kind != IMAGE_UNKNOWN)
		builder_image(create->builder, item->id, &item->image);
	create->bytes_in += item->size;
	create->made += item->is_made;
	return 0;
}

static int store(struct create *create, struct item *item)
{
	int r = 0;

	if (item->error)
		return give_up(create, item);
	if (item->labels)
		return create_refuse_labels(create, item->path.data, item->labels);
	if (item->is_bad)
		r = create_found(create, item->path.data, &item->finding);
	if (r == 1)
		r = drop(create, item);
	else if (r == 0)
		r = store_bytes(create, item);
	create->progress.position = create->import->position;
	progress_add(&create->progress, 1, item->size);
	return r;
}

static struct item *take(struct run *run)
{
	struct item *item = pipeline_take(run->pipeline);

	if (item) {
		run->first = item->next;
		if (!run->first)
			run->last = &run->first;
	}
	return item;
}

static int run_all(struct run *run, int (*use)(struct create *create, struct item *item))
{
	struct item *item = NULL;
	int r;

	do {
		r = interrupt_pending() ? -EINTR : feed(run);
		if (r < 0)
			return r;
		item = take(run);
		if (item) {
			create_list_held(run->create, &item->listed);
			r = use(run->create, item);
			free_item(item);
		}
	} while (r == 0 && item);
	return r;
}

int create_run(struct create *create, int (*use)(struct create *create, struct item *item))
{
	SCOPE(release) struct run run = {.create = create, .last = &run.first};
	const struct pipeline_params params = {.workers = create->jobs,
					       .slots = INSIDE_ITEMS,
					       .bytes = INSIDE_BYTES,
					       .work = work,
					       .context = create};
	int r = pipeline_new(&params, &run.pipeline);

	return r < 0 ? r : run_all(&run, use);
}

int create_open_folder(struct create *create, const struct import_dir_params *params)
{
	struct err err = {0};
	int r = import_dir_new(params, &create->import, &err);

	if (r == 0 || !err.text[0])
		return r;
	progress_clear(&create->progress);
	log_error("%s", err.text);
	return CREATE_TOLD;
}

int create_store(struct create *create)
{
	struct err err = {0};
	int r = create_run(create, store);

	if (r == 0)
		r = create->import->ops->finish(create->import, &err);
	return err.text[0] ? create_fail(create, r, &err) : r;
}
