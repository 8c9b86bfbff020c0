#include "base/scope.h"
#include "pack/tool/export/pickle.h"
#include "pack/tool/export/sink.h"
#include "pack/write/store.h"
#include <inttypes.h>
#include <string.h>

struct sink_lmdb {
	struct store *store;
	int fd; /* of the file */
	uint64_t count;
};

int sink_lmdb_new(struct outputs *outputs, size_t number, struct sink_lmdb **ret)
{
	struct sink_lmdb *sink = calloc(1, sizeof(*sink));
	int r;

	if (!sink)
		return -ENOMEM;
	sink->fd = -1;
	r = outputs_create(outputs, number, &sink->fd);
	if (r == 0)
		r = store_new(outputs->list[number].partial, 0, &sink->store);
	if (r < 0) {
		sink_lmdb_free(sink);
		return r;
	}
	*ret = sink;
	return 0;
}

void sink_lmdb_free(struct sink_lmdb *sink)
{
	if (!sink)
		return;
	store_free(sink->store);
	scope_close(&sink->fd);
	free(sink);
}

static int put_record(struct sink_lmdb *sink, const char *key, const void *data, size_t len)
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

int sink_lmdb_put(struct sink_lmdb *sink, const void *record, size_t len)
{
	char key[24];

	snprintf(key, sizeof(key), "%" PRIu64, sink->count++);
	return put_record(sink, key, record, len);
}

int sink_lmdb_end(struct sink_lmdb *sink)
{
	SCOPE(buf_release) struct buf keys = BUF_INIT, len = BUF_INIT;
	int r = pickle_keys(sink->count, &keys);

	if (r == 0)
		r = pickle_int((uint32_t)sink->count, &len);
	if (r == 0)
		r = put_record(sink, "__keys__", keys.data, keys.len);
	if (r == 0)
		r = put_record(sink, "__len__", len.data, len.len);
	if (r == 0)
		r = store_commit(sink->store);
	if (r == 0)
		r = store_wipe(sink->store);
	return r < 0 ? r : outputs_close(steal_fd(&sink->fd));
}
