#include "fs/nofuse/store.h"
#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/uapi.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/uio.h>

#define PIECE (2 * CACHE_EXTENT_MAX) /* of a request */
#define INODE (2 * KIB)		     /* and what else the kernel has for a file, beside its pages */
#define PART  16		     /* of a larger set so much is kept: see store_new() */

/* A place for a copy. */
struct copy {
	uint32_t entry;
	int fd; /* 0: there is none */
	bool in_making;
	uint64_t size;
};

struct store {
	struct mount *mount;
	const struct resolver *resolver;
	struct store_limits limits;
	bool has_room_for_all;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* a copy is complete, or could not be made */
	/* What follows is protected by lock: */
	uint64_t bytes, most; /* that are kept; and may be */
	uint64_t in_making;
	uint64_t hand;	      /* the place that is to be given up next */
	bool logged;	      /* that a file is too large */
	struct copy copies[]; /* limits.files; each entry has one place, which it shares */
};

/* Bytes of memory. */
static uint64_t cost_of(uint64_t size)
{
	uint64_t page = (uint64_t)getpagesize();

	return (size + page - 1) / page * page + INODE;
}

/* What the planner reads ahead is in vain where a copy is left from the epoch before. Of a set that
 * has no room, copies are of little use anyway: those of a part p of it meet p^2 / 2 of the opens
 * of the next epoch, if that is shuffled. */
struct store *store_new(struct mount *mount, const struct resolver *resolver,
			const struct store_limits *limits)
{
	const struct dataset *dataset = mount_tree(mount)->dataset;
	uint64_t all = dataset_entries(dataset), places = min(limits->files, all);
	uint64_t bytes = dataset_info(dataset)->super->bytes + all * cost_of(1);
	struct store *store = calloc(1, sizeof(*store) + places * sizeof(store->copies[0]));

	if (!store)
		return NULL;
	store->mount = mount;
	store->resolver = resolver;
	store->limits = *limits;
	store->limits.files = places;
	store->has_room_for_all = places == all && bytes <= limits->bytes;
	if (!store->has_room_for_all)
		store->limits.bytes = min(limits->bytes, bytes / PART);
	store->most = store->limits.bytes;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
	return store;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	for (uint64_t i = 0; i < store->limits.files; i++)
		if (store->copies[i].fd)
			close(store->copies[i].fd);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

/* --- copies that are kept: lock held --------------------------------------------------------- */

/* Nobody asks the cache for what is kept here. But what leaves before it is opened would not have
 * been read ahead, so this is said only where all has room. */
static void tell_cache(struct store *store, const struct copy *copy, bool kept)
{
	const struct tree *tree = mount_tree(store->mount);

	if (copy->size && store->has_room_for_all)
		cache_kept(mount_cache(store->mount),
			   dataset_first_extent(tree->dataset, copy->entry), kept);
}

/* Empties a place. Returns the descriptor that is to be closed without the lock, as a large file
 * takes a while to go, or -1. */
static int take_out(struct store *store, struct copy *copy)
{
	int fd = copy->fd;

	if (!fd)
		return -1;
	tell_cache(store, copy, false);
	store->bytes -= cost_of(copy->size);
	*copy = (struct copy){0};
	return fd;
}

/* The next in turn; or, unless it is to be one in any case, of what is too much. */
static bool give_up(struct store *store, bool any)
{
	int fd = -1;

	pthread_mutex_lock(&store->lock);
	for (uint64_t i = 0;
	     i < store->limits.files && fd < 0 && store->bytes > (any ? 0 : store->most); i++)
		fd = take_out(store, &store->copies[store->hand++ % store->limits.files]);
	pthread_mutex_unlock(&store->lock);
	scope_close(&fd);
	return fd >= 0;
}

bool store_give_up(struct store *store)
{
	return give_up(store, true);
}

static void give_up_surplus(struct store *store)
{
	while (give_up(store, false))
		;
}

void store_limit(struct store *store, uint64_t part, uint64_t whole)
{
	pthread_mutex_lock(&store->lock);
	store->most = (uint64_t)((double)store->limits.bytes / (double)whole * (double)part);
	pthread_mutex_unlock(&store->lock);
	give_up_surplus(store);
}

/* --- making a copy --------------------------------------------------------------------------- */

/* A piece on its way into the file in memory. */
struct piece {
	int fd;
	uint64_t at;
	int error;
	sem_t done;
};

static void take_piece(void *arg, int error, const struct iovec *iov, int count)
{
	struct piece *piece = arg;

	for (int i = 0; error == 0 && i < count; i++) {
		error = io_pwrite_full(piece->fd, iov[i].iov_base, iov[i].iov_len, piece->at);
		piece->at += iov[i].iov_len;
	}
	piece->error = error;
	sem_post(&piece->done);
}

static int copy_piece(struct store *store, struct piece *piece, uint64_t extent, uint32_t size,
		      struct opener *opener)
{
	mount_count(store->mount, REQUEST_READ);
	cache_read(mount_cache(store->mount), &(struct cache_request){.extent = extent,
								      .size = size,
								      .reader = opener->reader,
								      .done = take_piece,
								      .arg = piece});
	if (sem_trywait(&piece->done) == 0)
		return piece->error;
	opener_waits(opener);
	while (sem_wait(&piece->done) < 0)
		; /* interrupted */
	return piece->error;
}

static int copy_bytes(struct store *store, uint32_t entry, uint64_t size, struct opener *opener,
		      int fd)
{
	const struct tree *tree = mount_tree(store->mount);
	struct piece piece = {.fd = fd};
	uint64_t extent = dataset_first_extent(tree->dataset, entry);
	int r = 0;

	sem_init(&piece.done, 0, 0);
	mount_count_file(store->mount);
	if (size > PIECE)
		opener_waits(opener);
	while (r == 0 && piece.at < size)
		r = copy_piece(store, &piece, extent + piece.at / CACHE_EXTENT_MAX,
			       (uint32_t)min(PIECE, size - piece.at), opener);
	sem_destroy(&piece.done);
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
	if (r == 0 && fcntl(fd, F_ADD_SEALS,
			    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) < 0)
		r = -errno;
	return r < 0 ? r : steal_fd(&fd);
}

static int refuse_large(struct store *store, uint32_t entry, uint64_t size)
{
	const struct dataset_entry e = dataset_entry(mount_tree(store->mount)->dataset, entry);
	uint64_t most = min(store->limits.largest, store->limits.writable);
	char has[SIZE_TEXT], may[SIZE_TEXT];

	SCOPE_LOCK(&store->lock);
	if (!store->logged)
		log_error(
			"'%.*s' has %s, and '--no-fuse' opens files of up to %s%s, which it "
			"copies whole: a mount reads them in parts",
			(int)e.name_len, e.name, size_format(size, has), size_format(most, may),
			most < store->limits.largest ? ", as 'ulimit -f' says" : "");
	store->logged = true;
	return -EFBIG;
}

/* --- opening --------------------------------------------------------------------------------- */

/* Lock held, which it drops while it copies. */
static int add_copy(struct store *store, struct copy *copy, uint32_t entry, uint64_t size,
		    struct opener *opener)
{
	int fd = take_out(store, copy);

	*copy = (struct copy){.entry = entry, .size = size, .in_making = true};
	store->bytes += cost_of(size);
	store->in_making++;
	pthread_mutex_unlock(&store->lock);
	if (fd >= 0)
		close(fd);
	give_up_surplus(store);
	fd = make_copy(store, entry, size, opener);
	pthread_mutex_lock(&store->lock);
	store->in_making--;
	pthread_cond_broadcast(&store->changed);
	copy->in_making = false;
	if (fd < 0) {
		store->bytes -= cost_of(size);
		return fd;
	}
	copy->fd = fd;
	tell_cache(store, copy, true);
	return 0;
}

static int open_copy(struct store *store, uint32_t entry, uint64_t size, struct opener *opener,
		     int flags)
{
	SCOPE_LOCK(&store->lock);
	struct copy *copy = &store->copies[entry % store->limits.files];

	while (!copy->fd || copy->entry != entry) {
		int r = 0;

		if (copy->in_making || store->in_making >= store->limits.making) {
			opener_waits(opener);
			pthread_cond_wait(&store->changed, &store->lock);
		} else {
			r = add_copy(store, copy, entry, size, opener);
		}
		if (r < 0)
			return r;
	}
	return io_open_again(copy->fd, flags); /* so that nobody shares its offset */
}

int store_open(struct store *store, uint32_t entry, int flags, struct opener *opener)
{
	const struct tree *tree = mount_tree(store->mount);
	uint64_t size = dataset_entry(tree->dataset, entry).size;

	if (size > min(store->limits.largest, store->limits.writable))
		return refuse_large(store, entry, size);
	if (size)
		cache_opened(mount_cache(store->mount), dataset_first_extent(tree->dataset, entry),
			     opener->reader, NULL);
	return open_copy(store, entry, size, opener, flags);
}
