#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/export/sink.h"
#include <inttypes.h>

struct sink_shards {
	const struct export_format *format;
	const struct shard_plan *plan;
	struct outputs *outputs;
	uint64_t shard;	 /* the one that is written */
	uint64_t number; /* of the next record */
	uint64_t offset; /* of that in the shard */
	int fd;		 /* of the shard, or -1 */
	struct buf list; /* of its records */
};

int sink_shards_new(const struct export_format *format, const struct shard_plan *plan,
		    struct outputs *outputs, struct sink_shards **ret)
{
	struct sink_shards *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return -ENOMEM;
	*sink = (struct sink_shards){.format = format, .plan = plan, .outputs = outputs, .fd = -1};
	*ret = sink;
	return 0;
}

void sink_shards_free(struct sink_shards *sink)
{
	if (!sink)
		return;
	scope_close(&sink->fd);
	buf_release(&sink->list);
	free(sink);
}

static int end_shard(struct sink_shards *sink)
{
	static const char zeros[4096];
	int r = io_write_full(sink->fd, zeros, sink->format->zeros);

	if (r == 0)
		r = outputs_close(steal_fd(&sink->fd));
	if (r == 0 && sink->format->list_name)
		r = outputs_write(sink->outputs, sink->plan->count + sink->shard, &sink->list);
	sink->list.len = 0;
	sink->offset = 0;
	sink->shard++;
	return r;
}

static int note_record(struct sink_shards *sink, size_t len)
{
	uint64_t offset = sink->offset;

	sink->offset += len;
	sink->number++;
	if (!sink->format->list_name)
		return 0;
	return buf_addf(&sink->list, "%" PRIu64 " %zu\n", offset, len);
}

int sink_shards_put(struct sink_shards *sink, const void *record, size_t len)
{
	int r = 0;

	if (sink->fd < 0)
		r = outputs_create(sink->outputs, sink->shard, &sink->fd);
	if (r == 0)
		r = io_write_full(sink->fd, record, len);
	if (r == 0)
		r = note_record(sink, len);
	if (r == 0 && sink->number == sink->plan->ends[sink->shard])
		r = end_shard(sink);
	return r;
}
