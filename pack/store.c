#include "pack/store.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/format.h"
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define BATCH	   (64 * MIB)  /* bytes of pages after which a batch is committed */
#define MAP_STEP   (256 * MIB) /* the map grows by such steps: its size is in the file */
#define INLINE_MAX 2000	       /* longer values get pages of their own */
#define NODE_COST  64	       /* of a record in its leaf and above, bytes beside the key */

struct store {
	char *path;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	uint32_t page;	  /* bytes */
	uint64_t shared;  /* pages of the tree that this transaction has not copied yet */
	uint64_t batched; /* upper bound of what this transaction will write, bytes */
	uint64_t room;	  /* what the map has left for this transaction */
	uint8_t last_key[FORMAT_KEY_MAX];
	size_t last_key_len;
};

/* liblmdb turns short writes into EIO. Why there was no room for more is heard from one more
 * write behind the end; the file is lost anyway. */
static int why_short(const struct store *store)
{
	SCOPE_CLOSE int fd = open(store->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	static const char block[4096];
	struct statvfs fs;

	if (fd < 0 || write(fd, block, sizeof(block)) < 0)
		return -errno;
	if (fstatvfs(fd, &fs) == 0 && fs.f_bavail * fs.f_frsize < BATCH)
		return -ENOSPC;
	return -EIO;
}

static int store_errno(const struct store *store, int code)
{
	switch (code) {
	case 0:
		return 0;
	case MDB_KEYEXIST:
		return -EEXIST;
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_BAD_VALSIZE:
		return -EINVAL;
	case MDB_MAP_FULL:
		return -ENOSPC;
	case EIO:
		return why_short(store);
	}
	return code > 0 ? -code : -EIO;
}

static void store_close(struct store *store)
{
	if (store->txn)
		mdb_txn_abort(store->txn);
	if (store->env)
		mdb_env_close(store->env);
	store->txn = NULL;
	store->env = NULL;
}

/* Records behind all others fill new leaves. Any other one has a leaf copied, at most once in a
 * transaction. */
static uint64_t record_cost(const struct store *store, size_t key_len, uint64_t size, bool last)
{
	uint64_t page = store->page;
	uint64_t value = size > INLINE_MAX ? (size + 16 + page - 1) / page * page : 2 * size;

	return value + 2 * (key_len + NODE_COST) + (!last && store->shared ? page : 0);
}

static int store_measure(struct store *store)
{
	MDB_stat stat;
	int code = mdb_stat(store->txn, store->dbi, &stat);

	if (code == 0) {
		store->page = stat.ms_psize;
		store->shared = stat.ms_branch_pages + stat.ms_leaf_pages;
	}
	return code;
}

/* Opens the environment with room for a full batch and a record of `size` bytes. */
static int store_open(struct store *store, uint64_t size)
{
	uint64_t want = 2 * BATCH + size;
	struct stat st;
	int code;

	if (stat(store->path, &st) < 0)
		return -errno;
	code = mdb_env_create(&store->env);
	if (code == 0)
		code = mdb_env_set_mapsize(store->env,
					   ((uint64_t)st.st_size + want + MAP_STEP - 1) / MAP_STEP *
						   MAP_STEP);
	if (code == 0)
		code = mdb_env_open(store->env, store->path,
				    MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD, 0600);
	if (code == 0)
		code = mdb_txn_begin(store->env, NULL, 0, &store->txn);
	if (code == 0)
		code = mdb_dbi_open(store->txn, NULL, 0, &store->dbi);
	if (code == 0)
		code = store_measure(store);
	if (code != 0)
		store_close(store);
	store->batched = 0;
	store->room = BATCH + size;
	return store_errno(store, code);
}

int store_new(const char *path, struct store **ret)
{
	struct store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->path = strdup(path);
	r = store->path ? store_open(store, 0) : -ENOMEM;
	if (r < 0) {
		store_free(store);
		return r;
	}
	*ret = store;
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	store_close(store);
	free(store->path);
	free(store);
}

/* Pages at the end that were taken and given back within a transaction are never written;
 * readers hold a file that ends before its last page for truncated. */
static int store_pad(const struct store *store)
{
	MDB_envinfo info;
	struct stat st;
	uint64_t bytes;

	if (mdb_env_info(store->env, &info) != 0 || stat(store->path, &st) < 0)
		return -EIO;
	bytes = ((uint64_t)info.me_last_pgno + 1) * store->page;
	if ((uint64_t)st.st_size < bytes && truncate(store->path, (off_t)bytes) < 0)
		return -errno;
	return 0;
}

/* Has the kernel begin to write what the batch left in memory: the disk then works while the
 * next one is read, and the sync at the end has little left to wait for. Only a hint. */
static void begin_writing(const struct store *store)
{
	int fd;

	if (mdb_env_get_fd(store->env, &fd) == 0)
		sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* Commits and opens anew, with room for a record of `size` bytes. */
static int store_turn(struct store *store, uint64_t size)
{
	int r = store_errno(store, mdb_txn_commit(store->txn));

	store->txn = NULL;
	if (r == 0)
		r = store_pad(store);
	if (r == 0)
		begin_writing(store);
	store_close(store);
	return r < 0 ? r : store_open(store, size);
}

void store_library(int *ret_major, int *ret_minor, int *ret_patch)
{
	mdb_version(ret_major, ret_minor, ret_patch);
}

int store_commit(struct store *store)
{
	return store->txn ? store_turn(store, 0) : -EIO;
}

static bool sorts_last(const struct store *store, const void *key, size_t len)
{
	size_t common = len < store->last_key_len ? len : store->last_key_len;
	int order = memcmp(key, store->last_key, common);

	return order ? order > 0 : len > store->last_key_len;
}

int store_put(struct store *store, const void *key, size_t key_len, uint64_t size, void **ret_space)
{
	MDB_val k = {.mv_size = key_len, .mv_data = (void *)(uintptr_t)key};
	MDB_val v = {.mv_size = size};
	bool last = sorts_last(store, key, key_len);
	uint64_t cost;
	int code;

	if (!store->txn)
		return -EIO; /* an earlier commit failed */
	cost = record_cost(store, key_len, size, last);
	if (store->batched + cost > store->room || (store->batched && store->batched > BATCH)) {
		int r = store_turn(store, cost);

		if (r < 0)
			return r;
	}
	code = mdb_put(store->txn, store->dbi, &k, &v,
		       MDB_RESERVE | (last ? MDB_APPEND : MDB_NOOVERWRITE));
	if (code != 0)
		return store_errno(store, code);
	if (last) {
		memcpy(store->last_key, key, key_len);
		store->last_key_len = key_len;
	} else if (store->shared) {
		store->shared--;
	}
	store->batched += cost;
	*ret_space = v.mv_data;
	return 0;
}

int store_delete(struct store *store, const void *key, size_t key_len)
{
	MDB_val k = {.mv_size = key_len, .mv_data = (void *)(uintptr_t)key};

	if (!store->txn)
		return -EIO;
	return store_errno(store, mdb_del(store->txn, store->dbi, &k, NULL));
}
