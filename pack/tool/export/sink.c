#include "pack/tool/export/sink.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/export/pickle.h"
#include "pack/write/store.h"
#include <inttypes.h>
#include <string.h>

struct sink {
	const struct export_format *format;
	const struct shard_plan *plan;
	struct outputs *outputs;
	struct store *store; /* of an LMDB; NULL: there are shards */
	uint64_t number;     /* of the next record */
	int fd;		     /* of the file that is written, or -1 */
	uint64_t shard;	     /* the one that is written */
	uint64_t offset;     /* of the next record in it */
	struct buf list;     /* of its records */
};

int sink_new(const struct export_format *format, const struct shard_plan *plan,
	     struct outputs *outputs, struct sink **ret)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	int r = 0;

	if (!sink)
		return -ENOMEM;
	*sink = (struct sink){.format = format, .plan = plan, .outputs = outputs, .fd = -1};
	if (!format->name)
		r = outputs_create(outputs, 0, &sink->fd);
	if (r == 0 && !format->name)
		r = store_new(outputs->list[0].partial, 0, &sink->store);
	if (r < 0)
		sink_free(sink);
	else
		*ret = sink;
	return r;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	store_free(sink->store);
	scope_close(&sink->fd);
	buf_release(&sink->list);
	free(sink);
}

/* --- an LMDB ------------------------------------------------------------------------------ */

static int put_by_key(struct sink *sink, const char *key, const void *data, size_t len)
{
	void *space;
	int r = 0;

	if (store_full(sink->store, key, strlen(key), len))
		r = store_commit(sink->store);
	if (r == 0)
		r = store_put(sink->store, key, strlen(key), len, &space);
	if (r == 0)
		memcpy(space, data, len);
	return r;
}

static int end_lmdb(struct sink *sink)
{
	SCOPE(buf_release) struct buf keys = BUF_INIT, len = BUF_INIT;
	int r = pickle_keys(sink->number, &keys);

	if (r == 0)
		r = pickle_int((uint32_t)sink->number, &len);
	if (r == 0)
		r = put_by_key(sink, "__keys__", keys.data, keys.len);
	if (r == 0)
		r = put_by_key(sink, "__len__", len.data, len.len);
	if (r == 0)
		r = store_commit(sink->store);
	if (r == 0)
		r = store_wipe(sink->store);
	return r < 0 ? r : outputs_close(steal_fd(&sink->fd));
}

/* --- shards ------------------------------------------------------------------------------- */

static int end_shard(struct sink *sink)
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

/* The last record of a shard ends it. */
static int put_in_shard(struct sink *sink, const void *record, size_t len)
{
	int r = 0;

	if (sink->fd < 0)
		r = outputs_create(sink->outputs, sink->shard, &sink->fd);
	if (r == 0)
		r = io_write_full(sink->fd, record, len);
	if (r == 0 && sink->format->list_name)
		r = buf_addf(&sink->list, "%" PRIu64 " %zu\n", sink->offset, len);
	sink->offset += len;
	if (r == 0 && sink->number == sink->plan->ends[sink->shard])
		r = end_shard(sink);
	return r;
}

/* --- both --------------------------------------------------------------------------------- */

int sink_put(struct sink *sink, const void *record, size_t len)
{
	uint64_t number = sink->number++;
	char key[24];

	if (!sink->store)
		return put_in_shard(sink, record, len);
	snprintf(key, sizeof(key), "%" PRIu64, number);
	return put_by_key(sink, key, record, len);
}

int sink_end(struct sink *sink)
{
	return sink->store ? end_lmdb(sink) : 0;
}
