#include "fs/nofuse/store.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/uapi.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>

#define BUCKETS 4096
#define PIECE	(2 * CACHE_EXTENT_MAX) /* of a request */

/* A copy, or one that is being made. */
struct item {
	struct item *next;	    /* of a bucket */
	struct item *older, *newer; /* of those that are complete */
	uint32_t entry;
	uint64_t size;
	int fd; /* -1: not complete */
};

struct store {
	struct mount *mount;
	const struct resolver *resolver;
	struct store_limits limits;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* a copy is complete, or could not be made */
	/* What follows is protected by lock: */
	struct item *buckets[BUCKETS];
	struct item ring; /* newer: the oldest copy; older: the newest */
	uint64_t bytes, files, making;
	bool said; /* that a file is too large */
};

struct store *store_new(struct mount *mount, const struct resolver *resolver,
			const struct store_limits *limits)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->mount = mount;
	store->resolver = resolver;
	store->limits = *limits;
	store->ring.older = store->ring.newer = &store->ring;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
	return store;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		struct item *item = store->buckets[i];

		while (item) {
			struct item *next = item->next;

			close(item->fd);
			free(item);
			item = next;
		}
	}
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

/* --- copies that are kept: lock held --------------------------------------------------------- */

static struct item **find(struct store *store, uint32_t entry)
{
	struct item **at = &store->buckets[entry % BUCKETS];

	while (*at && (*at)->entry != entry)
		at = &(*at)->next;
	return at;
}

static void link_newest(struct store *store, struct item *item)
{
	item->newer = &store->ring;
	item->older = store->ring.older;
	item->older->newer = item->newer->older = item;
}

static void unlink_copy(struct item *item)
{
	item->older->newer = item->newer;
	item->newer->older = item->older;
}

static void forget(struct store *store, struct item *item)
{
	*find(store, item->entry) = item->next;
	free(item);
}

/* Nobody asks the cache for what is kept here. */
static void tell_cache(struct store *store, const struct item *item, bool kept)
{
	const struct tree *tree = mount_tree(store->mount);

	if (item->size)
		cache_kept(mount_cache(store->mount),
			   dataset_first_extent(tree->dataset, item->entry), kept);
}

/* Takes the oldest copy out, if there are too many. The newest stays. Returns its descriptor or -1.
 */
static int take_surplus(struct store *store)
{
	SCOPE_LOCK(&store->lock);
	struct item *item = store->ring.newer;
	int fd = item->fd;

	if ((store->bytes <= store->limits.bytes && store->files <= store->limits.files) ||
	    item == store->ring.older)
		return -1;
	tell_cache(store, item, false);
	unlink_copy(item);
	store->bytes -= item->size;
	store->files--;
	forget(store, item);
	return fd;
}

/* A large file takes a while to go, so none goes under the lock. */
static void drop_surplus(struct store *store)
{
	int fd;

	while ((fd = take_surplus(store)) >= 0)
		close(fd);
}

/* --- making a copy --------------------------------------------------------------------------- */

/* A piece on its way into the file in memory. */
struct piece {
	int fd;
	off_t at;
	int error;
	bool done; /* protected by lock */
	pthread_mutex_t lock;
	pthread_cond_t turn;
};

static int write_all(int fd, const struct iovec *iov, int count, off_t at)
{
	for (int i = 0; i < count; i++) {
		size_t done = 0;

		while (done < iov[i].iov_len) {
			ssize_t n = pwrite(fd, (const char *)iov[i].iov_base + done,
					   iov[i].iov_len - done, at);

			if (n < 0 && errno != EINTR)
				return -errno;
			done += n > 0 ? (size_t)n : 0;
			at += n > 0 ? n : 0;
		}
	}
	return 0;
}

static void take_piece(void *arg, int error, const struct iovec *iov, int count)
{
	struct piece *piece = arg;

	piece->error = error ? error : write_all(piece->fd, iov, count, piece->at);
	SCOPE_LOCK(&piece->lock);
	piece->done = true;
	pthread_cond_signal(&piece->turn);
}

static int copy_piece(struct store *store, struct piece *piece, uint64_t extent, uint32_t size,
		      struct opener *opener)
{
	mount_count(store->mount, REQUEST_READ);
	piece->done = false;
	cache_read(mount_cache(store->mount), &(struct cache_request){.extent = extent,
								      .size = size,
								      .reader = opener->reader,
								      .done = take_piece,
								      .arg = piece});
	SCOPE_LOCK(&piece->lock);
	if (!piece->done)
		opener_waits(opener);
	while (!piece->done)
		pthread_cond_wait(&piece->turn, &piece->lock);
	return piece->error;
}

static int copy_bytes(struct store *store, uint32_t entry, uint64_t size, struct opener *opener,
		      int fd)
{
	const struct tree *tree = mount_tree(store->mount);
	struct piece piece = {
		.fd = fd, .lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER};
	uint64_t extent = dataset_first_extent(tree->dataset, entry);
	int r = 0;

	mount_count_file(store->mount);
	if (size > PIECE)
		opener_waits(opener);
	for (uint64_t at = 0; r == 0 && at < size; at += PIECE) {
		piece.at = (off_t)at;
		r = copy_piece(store, &piece, extent + at / CACHE_EXTENT_MAX,
			       (uint32_t)min(PIECE, size - at), opener);
	}
	return r == 0 || r == -ENOMEM ? r : -EIO;
}

/* Before Linux 6.3, files in memory can be executed. */
static int create_memory(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

/* Returns the descriptor of a complete copy, or -errno. */
static int make_copy(struct store *store, uint32_t entry, uint64_t size, struct opener *opener)
{
	char name[64];
	SCOPE_CLOSE int fd = -1;
	int r;

	resolver_name(store->resolver, entry, name);
	fd = create_memory(name);
	if (fd < 0)
		return fd;
	r = size ? copy_bytes(store, entry, size, opener, fd) : 0;
	if (r == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	return r < 0 ? r : steal_fd(&fd);
}

static int refuse_large(struct store *store, uint32_t entry, uint64_t size)
{
	const struct dataset_entry e = dataset_entry(mount_tree(store->mount)->dataset, entry);
	char has[SIZE_TEXT], may[SIZE_TEXT];

	SCOPE_LOCK(&store->lock);
	if (!store->said)
		log_error(
			"'%.*s' has %s, and '--no-fuse' opens files of up to %s, which it "
			"copies whole: a mount reads them in parts",
			(int)e.name_len, e.name, size_format(size, has),
			size_format(store->limits.largest, may));
	store->said = true;
	return -EFBIG;
}

/* --- opening --------------------------------------------------------------------------------- */

/* A description of its own, so that nobody shares its offset. */
static int reopen(int fd, int flags)
{
	char name[64];
	int r;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	r = open(name, flags | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/* Lock held, which it drops while it copies. */
static int add_copy(struct store *store, uint32_t entry, uint64_t size, struct opener *opener)
{
	struct item *item = malloc(sizeof(*item));
	int fd;

	if (!item)
		return -ENOMEM;
	*item = (struct item){.entry = entry, .size = size, .fd = -1};
	*find(store, entry) = item;
	store->making++;
	pthread_mutex_unlock(&store->lock);
	fd = make_copy(store, entry, size, opener);
	pthread_mutex_lock(&store->lock);
	store->making--;
	pthread_cond_broadcast(&store->changed);
	if (fd < 0) {
		forget(store, item);
		return fd;
	}
	item->fd = fd;
	link_newest(store, item);
	store->bytes += size;
	store->files++;
	tell_cache(store, item, true);
	return 0;
}

static int open_copy(struct store *store, uint32_t entry, uint64_t size, struct opener *opener,
		     int flags)
{
	SCOPE_LOCK(&store->lock);
	struct item *item;

	while (!(item = *find(store, entry)) || item->fd < 0) {
		int r = 0;

		if (item || store->making >= store->limits.making) {
			opener_waits(opener);
			pthread_cond_wait(&store->changed, &store->lock);
		} else {
			r = add_copy(store, entry, size, opener);
		}
		if (r < 0)
			return r;
	}
	unlink_copy(item);
	link_newest(store, item);
	return reopen(item->fd, flags);
}

int store_open(struct store *store, uint32_t entry, int flags, struct opener *opener)
{
	const struct tree *tree = mount_tree(store->mount);
	uint64_t size = dataset_entry(tree->dataset, entry).size;
	int fd;

	if (size > store->limits.largest)
		return refuse_large(store, entry, size);
	if (size)
		cache_opened(mount_cache(store->mount), dataset_first_extent(tree->dataset, entry),
			     opener->reader, NULL);
	fd = open_copy(store, entry, size, opener, flags);
	drop_surplus(store);
	return fd;
}
