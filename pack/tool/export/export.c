#include "pack/tool/export/export.h"

#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/export/sink.h"
#include "pack/tool/work/batch_ahead.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/pipeline.h"
#include <inttypes.h>
#include <string.h>

#define INSIDE	     (64 * MIB) /* bytes of samples at once */
#define INSIDE_COUNT 1024	/* samples at once */

/* A sample on its way. */
struct record {
	uint64_t number;
	int error;
	uint8_t *data;
	uint64_t len;
};

struct exporter {
	const struct export_params *params;
	struct sink *sink;
	struct record *ring;
	uint32_t *files; /* of all samples */
	struct batch_ahead *ahead;
	uint64_t next; /* sample to be put in */
	struct err *err;
};

/* --- the plan --------------------------------------------------------------------------- */

static uint64_t sample_size(const struct export_source *source, uint64_t number)
{
	return dataset_entry(source->dataset, source->samples->list[number].entry).size;
}

static int cut_shards(const struct export_params *params, struct shard_plan *plan)
{
	SCOPE(buf_release) struct buf head = BUF_INIT, tail = BUF_INIT;
	const struct export_source *source = params->source;
	uint64_t used = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < source->samples->count; i++) {
		head.len = tail.len = 0;
		r = params->format->frame(source, i, &head, &tail);
		if (r == 0)
			r = shard_plan_add(plan, head.len + sample_size(source, i) + tail.len,
					   sub_sat(params->shard_size, params->format->zeros),
					   &used);
	}
	return r;
}

static int cut_shard(const struct export_params *params, struct shard_plan *plan, struct err *err)
{
	uint64_t count = params->source->samples->count;

	if (params->shards == 0)
		return cut_shards(params, plan);
	if (params->shards > count)
		return err_set(err, -EINVAL,
			       "%" PRIu64 " shards are too many for %" PRIu64 " samples",
			       params->shards, count);
	return shard_plan_equal(count, params->shards, plan);
}

typedef int name_fn(struct buf *name, const char *target, uint64_t shard, uint64_t shards);

static int add_names(const struct export_params *params, const struct shard_plan *plan,
		     name_fn *name_of, struct outputs *outputs)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < plan->count; i++) {
		name.len = 0;
		r = name_of(&name, params->target, i, plan->count);
		if (r == 0)
			r = outputs_add(outputs, name.data);
	}
	return r;
}

static int add_side_file(const char *target, const char *suffix, struct outputs *outputs)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	int r = buf_addf(&name, "%s%s", target, suffix);

	return r < 0 ? r : outputs_add(outputs, name.data);
}

int export_plan(const struct export_params *params, struct shard_plan *plan,
		struct outputs *outputs, struct err *err)
{
	const struct export_format *format = params->format;
	int r = 0;

	if (!format->name) {
		r = add_side_file(params->target, "", outputs);
	} else {
		r = cut_shard(params, plan, err);
		if (r == 0)
			r = add_names(params, plan, format->name, outputs);
		if (r == 0 && format->list_name)
			r = add_names(params, plan, format->list_name, outputs);
	}
	if (r == 0)
		r = add_side_file(params->target, ".classes.txt", outputs);
	if (r == 0 && !format->name)
		r = add_side_file(params->target, ".names.txt", outputs);
	return r;
}

/* --- in any thread ---------------------------------------------------------------------- */

static int make_record(const struct exporter *exporter, struct record *record)
{
	SCOPE(buf_release) struct buf head = BUF_INIT, tail = BUF_INIT;
	const struct export_params *params = exporter->params;
	uint64_t size = sample_size(params->source, record->number);
	int r = params->format->frame(params->source, record->number, &head, &tail);

	if (r < 0)
		return r;
	record->len = head.len + size + tail.len;
	record->data = malloc(record->len);
	if (!record->data)
		return -ENOMEM;
	memcpy(record->data, head.data, head.len);
	r = batch_ahead_read(exporter->ahead, record->number, record->data + head.len);
	if (tail.len)
		memcpy(record->data + head.len + size, tail.data, tail.len);
	if (r == 0 && params->format->seal)
		params->format->seal(record->data, record->len);
	return r;
}

static void export_work(void *context, unsigned worker, void *item)
{
	const struct exporter *exporter = context;
	struct record *record = item;

	(void)worker;
	record->error = interrupt_pending() ? -EINTR : make_record(exporter, record);
}

static void drop_record(void *context, void *item)
{
	struct record *record = item;

	(void)context;
	free(record->data);
	record->data = NULL;
}

/* --- in the caller's thread --------------------------------------------------------------- */

static int name_sample(const struct exporter *exporter, uint64_t number, int error)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	const struct export_source *source = exporter->params->source;
	int r = dataset_path(source->dataset, source->samples->list[number].entry, &path);

	if (r < 0 || error == -EINTR || error == -ENOMEM)
		return r < 0 ? r : error;
	return err_set(exporter->err, error, "%s: %s", path.data,
		       error == -EBADMSG ? "damaged in the pack: checksum mismatch"
					 : strerror(-error));
}

static int put_sample(struct exporter *exporter, struct record *record)
{
	uint64_t size = sample_size(exporter->params->source, record->number);
	int r = record->error;

	if (r < 0)
		return name_sample(exporter, record->number, r);
	r = sink_put(exporter->sink, record->data, record->len);
	if (r == 0)
		progress_add(exporter->params->progress, 1, size);
	return r;
}

static void put_samples(struct exporter *exporter, struct pipeline *pipeline)
{
	const struct export_source *source = exporter->params->source;
	struct record *record;

	while (exporter->next < source->samples->count &&
	       pipeline_has_room(pipeline, sample_size(source, exporter->next))) {
		record = &exporter->ring[exporter->next % INSIDE_COUNT];
		*record = (struct record){.number = exporter->next++};
		batch_ahead_begin(exporter->ahead, record->number);
		pipeline_put(pipeline, record, sample_size(source, record->number));
	}
}

static int export_samples(struct exporter *exporter)
{
	const struct pipeline_params params = {.workers = exporter->params->jobs,
					       .slots = INSIDE_COUNT,
					       .bytes = INSIDE,
					       .work = export_work,
					       .drop = drop_record,
					       .context = exporter};
	struct pipeline *pipeline;
	struct record *record;
	int r = pipeline_new(&params, &pipeline);

	if (r < 0)
		return r;
	do {
		put_samples(exporter, pipeline);
		record = pipeline_take(pipeline);
		if (!record)
			break;
		r = put_sample(exporter, record);
		drop_record(NULL, record);
		if (r == 0 && interrupt_pending())
			r = -EINTR;
	} while (r == 0);
	pipeline_free(pipeline);
	return r;
}

/* --- beside them ------------------------------------------------------------------------ */

static int write_classes(const struct samples *samples, struct outputs *outputs, size_t number)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = samples_names(samples, &text);

	return r < 0 ? r : outputs_write(outputs, number, &text);
}

static int write_names(const struct samples *samples, struct outputs *outputs, size_t number)
{
	SCOPE(buf_release) struct buf text = BUF_INIT, path = BUF_INIT;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < samples->count; i++) {
		r = samples_path(samples, samples->list[i].entry, &path);
		if (r == 0)
			r = buf_addf(&text, "%s\n", path.data);
	}
	return r < 0 ? r : outputs_write(outputs, number, &text);
}

/* --- the interface ---------------------------------------------------------------------- */

static void exporter_release(struct exporter *exporter)
{
	sink_free(exporter->sink);
	batch_ahead_free(exporter->ahead);
	free(exporter->files);
	free(exporter->ring);
}

static int exporter_prepare(struct exporter *exporter, const struct shard_plan *plan,
			    struct outputs *outputs)
{
	const struct export_source *source = exporter->params->source;
	uint64_t count = source->samples->count;
	int r;

	exporter->ring = calloc(INSIDE_COUNT, sizeof(*exporter->ring));
	exporter->files = malloc(count * sizeof(*exporter->files) + 1);
	if (!exporter->ring || !exporter->files)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++)
		exporter->files[i] = source->samples->list[i].entry;
	r = batch_ahead_new(source->dataset, exporter->files, count, &exporter->ahead);
	return r < 0 ? r : sink_new(exporter->params->format, plan, outputs, &exporter->sink);
}

int export_run(const struct export_params *params, const struct shard_plan *plan,
	       struct outputs *outputs, struct err *err)
{
	SCOPE(exporter_release) struct exporter exporter = {.params = params, .err = err};
	const struct samples *samples = params->source->samples;
	bool named = params->format->name != NULL;
	int r = exporter_prepare(&exporter, plan, outputs);

	if (r == 0)
		r = export_samples(&exporter);
	if (r == 0)
		r = sink_end(exporter.sink);
	if (r == 0)
		r = write_classes(samples, outputs, outputs->count - (named ? 1 : 2));
	if (r == 0 && !named)
		r = write_names(samples, outputs, outputs->count - 1);
	return r;
}
