#include "fs/push.h"
#include <errno.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct push {
	struct mount *mount;
	int fd;
	pthread_t thread;
	bool started;
	_Atomic uint8_t *known; /* a bit for each entry */
};

int push_new(struct mount *mount, struct push **ret)
{
	struct push *push = calloc(1, sizeof(*push));

	if (!push)
		return -ENOMEM;
	push->mount = mount;
	push->known = calloc(dataset_entries(mount->dataset) / 8 + 1, 1);
	if (!push->known) {
		free(push);
		return -ENOMEM;
	}
	*ret = push;
	return 0;
}

void push_free(struct push *push)
{
	if (!push)
		return;
	free((void *)push->known);
	free(push);
}

bool push_lists(const struct mount *mount)
{
	return mount->push && dataset_entries(mount->dataset) <= PUSH_FILES;
}

void push_known(struct push *push, uint32_t inode, bool known)
{
	uint8_t bit = (uint8_t)(1 << inode % 8);

	if (!push)
		return;
	if (known)
		atomic_fetch_or_explicit(&push->known[inode / 8], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&push->known[inode / 8], (uint8_t)~bit,
					  memory_order_relaxed);
}

bool push_may(const struct push *push, uint32_t inode)
{
	return push && atomic_load_explicit(&push->known[inode / 8], memory_order_relaxed) &
			       (1 << inode % 8);
}

/* The message that fuse_lowlevel_notify_store() sends, without its copy of the bytes. */
static bool store(int fd, uint64_t ino, struct cache_push *push)
{
	struct fuse_notify_store_out out = {.nodeid = ino, .size = push->size};
	struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + sizeof(out)) +
						push->size,
					 .error = FUSE_NOTIFY_STORE};
	struct iovec iov[CACHE_PUSH_PIECES + 2] = {{&header, sizeof(header)}, {&out, sizeof(out)}};

	for (int i = 0; i < push->count; i++)
		iov[2 + i] = push->iov[i];
	return writev(fd, iov, 2 + push->count) > 0;
}

static void *push_thread(void *arg)
{
	struct push *push = arg;
	struct mount *mount = push->mount;
	struct cache_push next;

	while (cache_push_next(mount->cache, &next)) {
		struct dataset_extent x;
		bool taken;

		dataset_extent(mount->dataset, next.extent, &x);
		taken = store(push->fd, mount_ino(mount, x.entry), &next);
		if (taken)
			mount_count(mount, REQUEST_NOTIFY);
		else
			push_known(push, x.entry, false);
		cache_push_done(mount->cache, &next, taken);
	}
	return NULL;
}

int push_start(struct push *push, int fd)
{
	int r;

	push->fd = fd;
	r = pthread_create(&push->thread, NULL, push_thread, push);
	push->started = r == 0;
	return -r;
}

void push_stop(struct push *push)
{
	if (push->started)
		pthread_join(push->thread, NULL);
	push->started = false;
}
