#include "fs/notify_store.h"
#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>

struct notify_store {
	const struct tree *tree;
	struct cache *cache;
	_Atomic uint64_t *sent, *files;
	const atomic_uint *serving;
	atomic_uint storing; /* of the threads that serve */
	int fd;
	pthread_t thread;
	bool started;
	_Atomic uint8_t known[]; /* a bit for each entry */
};

int notify_store_new(const struct tree *tree, struct cache *cache, const atomic_uint *serving,
		     _Atomic uint64_t *sent, _Atomic uint64_t *files, struct notify_store **ret)
{
	struct notify_store *store =
		calloc(1, sizeof(*store) + dataset_entries(tree->dataset) / 8 + 1);

	if (!store)
		return -ENOMEM;
	store->tree = tree;
	store->cache = cache;
	store->serving = serving;
	store->sent = sent;
	store->files = files;
	*ret = store;
	return 0;
}

void notify_store_free(struct notify_store *store)
{
	free(store);
}

bool notify_store_lists(const struct notify_store *store)
{
	return store && dataset_entries(store->tree->dataset) <= NOTIFY_STORE_FILES;
}

void notify_store_known(struct notify_store *store, uint32_t inode, bool known)
{
	uint8_t bit = (uint8_t)(1 << inode % 8);

	if (store && known)
		store->known[inode / 8] |= bit;
	else if (store)
		store->known[inode / 8] &= (uint8_t)~bit;
}

bool notify_store_may(const struct notify_store *store, uint32_t inode)
{
	return store && store->known[inode / 8] & 1 << inode % 8;
}

/* Sends the message of fuse_lowlevel_notify_store(), without copying the bytes as that does. */
static bool send_store(struct notify_store *store, uint32_t inode, struct cache_push *push)
{
	struct fuse_notify_store_out out = {.nodeid = tree_ino(store->tree, inode),
					    .size = push->size};
	struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + sizeof(out)) +
						push->size,
					 .error = FUSE_NOTIFY_STORE};
	struct iovec iov[CACHE_PUSH_PIECES + 2] = {{&header, sizeof(header)}, {&out, sizeof(out)}};

	for (int i = 0; i < push->count; i++)
		iov[2 + i] = push->iov[i];
	if (writev(store->fd, iov, 2 + push->count) <= 0)
		return false;
	++*store->sent;
	++*store->files;
	return true;
}

void notify_store_opened(struct notify_store *store, uint32_t inode, uint32_t reader)
{
	struct cache_push push;
	bool taken;

	if (!store || !cache_opened(store->cache, dataset_first_extent(store->tree->dataset, inode),
				    reader, &push))
		return;
	taken = atomic_fetch_add(&store->storing, 1) + 1 < atomic_load(store->serving) &&
		send_store(store, inode, &push);
	atomic_fetch_sub(&store->storing, 1);
	cache_push_done(store->cache, &push, taken);
}

static void *store_thread(void *arg)
{
	struct notify_store *store = arg;
	struct cache_push next;

	while (cache_push_next(store->cache, &next)) {
		uint32_t inode = dataset_extent(store->tree->dataset, next.extent).entry;
		bool taken = send_store(store, inode, &next);

		if (!taken)
			notify_store_known(store, inode, false);
		cache_push_done(store->cache, &next, taken);
	}
	return NULL;
}

int notify_store_start(struct notify_store *store, int fd)
{
	int r;

	store->fd = fd;
	r = pthread_create(&store->thread, NULL, store_thread, store);
	store->started = r == 0;
	return -r;
}

void notify_store_stop(struct notify_store *store)
{
	if (store->started)
		pthread_join(store->thread, NULL);
	store->started = false;
}
