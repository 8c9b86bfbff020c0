#include "pack/write/store.h"
#include "base/bytes.h"
#include "base/io.h"
#include "base/le.h"
#include "base/scope.h"
#include "base/size.h"
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define BATCH	     (64 * MIB)	 /* bytes of pages after which a batch is committed */
#define MAP_STEP     4		 /* batches that the map grows by: its size is in the file */
#define INLINE_MAX   2000	 /* longer values get pages of their own */
#define NODE_COST    64		 /* of a record in its leaf and above, bytes beside the key */
#define OPEN_COST    (256 * KIB) /* at most, of a record beside its bytes */
#define FREE_LIST    0		 /* the database of free pages */
#define PAGE_SIZE_AT 40		 /* in a meta page */
#define PAGE	     4096	 /* bytes, of packs that are begun here */

struct store {
	char *path;
	uint64_t batch;
	MDB_env *env; /* from the first record of a transaction to its commit */
	MDB_txn *txn;
	bool reading; /* the transaction is one that only reads */
	bool failed;  /* a commit did: what is in the file is not known */
	bool revisited;
	MDB_dbi dbi;
	uint32_t page;	  /* bytes */
	uint64_t shared;  /* pages of the tree that this transaction has not copied yet */
	uint64_t batched; /* upper bound of what this transaction will write, bytes */
	uint64_t room;	  /* what the map has left for this transaction */
	uint8_t last_key[FORMAT_KEY_MAX];
	size_t last_key_len;
};

/* liblmdb turns short writes into EIO. One more write after the end of the file shows the reason;
 * the file is lost anyway. */
static int why_short(const struct store *store)
{
	SCOPE_CLOSE int fd = open(store->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	static const char block[4096];
	struct statvfs fs;

	if (fd < 0 || write(fd, block, sizeof(block)) < 0)
		return -errno;
	if (fstatvfs(fd, &fs) == 0 && fs.f_bavail * fs.f_frsize < store->batch)
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
	store->reading = false;
}

/* A record that sorts last fills a new leaf. Any other one makes a copy of its leaf, at most once
 * for each leaf in a transaction. */
static uint64_t record_cost(const struct store *store, size_t key_len, uint64_t size, bool last)
{
	uint64_t page = store->page;
	uint64_t value = size > INLINE_MAX ? (size + 16 + page - 1) / page * page : 2 * size;

	return value + 2 * (key_len + NODE_COST) + (!last && store->shared ? page : 0);
}

static int store_open(struct store *store, uint64_t map, unsigned flags)
{
	MDB_stat stat = {0};
	int code = mdb_env_create(&store->env);

	if (code == 0 && map)
		code = mdb_env_set_mapsize(store->env, map);
	if (code == 0)
		code = mdb_env_open(store->env, store->path,
				    MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC | MDB_NORDAHEAD | flags,
				    0600);
	if (code == 0)
		code = mdb_txn_begin(store->env, NULL, flags, &store->txn);
	if (code == 0)
		code = mdb_dbi_open(store->txn, NULL, 0, &store->dbi);
	if (code == 0)
		code = mdb_stat(store->txn, store->dbi, &stat);
	store->page = stat.ms_psize;
	store->shared = stat.ms_branch_pages + stat.ms_leaf_pages;
	store->reading = flags & MDB_RDONLY;
	if (code != 0)
		store_close(store);
	return store_errno(store, code);
}

/* liblmdb takes the page size of an empty file from the machine, and that of any other file from
 * its meta pages. Equal files must give equal packs on all machines. So a pack begins with the meta
 * pages that liblmdb would write for pages of 4 KiB; see pack/walker.h for their layout. */
static int begin_file(const struct store *store)
{
	SCOPE_CLOSE int fd = open(store->path, O_WRONLY | O_CLOEXEC);
	uint8_t pages[2 * PAGE] = {0};

	for (uint8_t number = 0; number < 2; number++) {
		uint8_t *page = pages + number * PAGE;

		page[0] = number;
		page[10] = 0x08; /* a meta page */
		le_put32(page + 16, 0xBEEFC0DE);
		page[20] = 1; /* the data format */
		le_put32(page + PAGE_SIZE_AT, PAGE);
		le_put16(page + 44, MDB_NOSUBDIR | MDB_INTEGERKEY); /* of the free list */
		le_put64(page + 80, UINT64_MAX);		    /* no root of it, */
		le_put64(page + 128, UINT64_MAX);		    /* nor of the main database */
		page[136] = 1;					    /* the last page */
	}
	return fd < 0 ? -errno : io_pwrite_full(fd, pages, sizeof(pages), 0);
}

static bool is_writing(const struct store *store)
{
	return store->txn && !store->reading;
}

/* To be called before any change. There is room for a full batch after a record of `size` bytes,
 * whatever that record costs. The size of the map is written to the file, so it must not depend on
 * the transaction before. */
static int store_begin(struct store *store, uint64_t size)
{
	uint64_t want = 2 * store->batch + size + OPEN_COST, step = MAP_STEP * store->batch;
	struct stat st;
	int r;

	if (store->failed)
		return -EIO;
	if (store->reading)
		store_close(store);
	if (store->txn)
		return 0;
	if (stat(store->path, &st) < 0)
		return -errno;
	r = st.st_size ? 0 : begin_file(store);
	if (r < 0)
		return r;
	store->batched = 0;
	store->room = store->batch + size + OPEN_COST;
	return store_open(store, ((uint64_t)st.st_size + want + step - 1) / step * step, 0);
}

/* To be called before any read. Between a commit and the next record there is no transaction. One
 * that writes must not begin here, since the next record decides how much room it gets. */
static int store_begin_reading(struct store *store)
{
	if (store->failed)
		return -EIO;
	return store->txn ? 0 : store_open(store, 0, MDB_RDONLY);
}

int store_new(const char *path, uint64_t batch, struct store **ret)
{
	struct store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->batch = batch ? batch : BATCH;
	store->path = strdup(path);
	if (!store->path) {
		free(store);
		return -ENOMEM;
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

void store_library(int *ret_major, int *ret_minor, int *ret_patch)
{
	mdb_version(ret_major, ret_minor, ret_patch);
}

int store_commit(struct store *store)
{
	MDB_envinfo info;
	struct stat st;
	uint64_t bytes;
	int r;

	if (store->failed)
		return -EIO;
	if (!is_writing(store)) {
		store_close(store);
		return 1;
	}
	r = store_errno(store, mdb_txn_commit(store->txn));
	store->txn = NULL;
	if (r == 0 && (mdb_env_info(store->env, &info) != 0 || stat(store->path, &st) < 0))
		r = -EIO;
	/* Pages at the end that were taken and freed within one transaction are never written. But
	 * a file that ends before its last page counts as truncated. */
	bytes = r == 0 ? ((uint64_t)info.me_last_pgno + 1) * store->page : 0;
	if (r == 0 && (uint64_t)st.st_size < bytes && truncate(store->path, (off_t)bytes) < 0)
		r = -errno;
	store->failed = r < 0;
	store_close(store);
	return r;
}

static bool sorts_last(const struct store *store, const void *key, size_t len)
{
	return bytes_compare(key, len, store->last_key, store->last_key_len) > 0;
}

bool store_full(const struct store *store, const void *key, size_t key_len, uint64_t size)
{
	uint64_t cost;

	if (!is_writing(store))
		return false;
	cost = record_cost(store, key_len, size, sorts_last(store, key, key_len));
	return store->batched > store->batch || store->batched + cost > store->room;
}

int store_put(struct store *store, const void *key, size_t key_len, uint64_t size, void **ret_space)
{
	MDB_val k = {.mv_size = key_len, .mv_data = (void *)(uintptr_t)key};
	MDB_val v = {.mv_size = size};
	bool last = sorts_last(store, key, key_len);
	uint64_t cost;
	int r = store_begin(store, size);

	if (r < 0)
		return r;
	cost = record_cost(store, key_len, size, last);
	r = store_errno(store, mdb_put(store->txn, store->dbi, &k, &v,
				       MDB_RESERVE | (last ? MDB_APPEND : MDB_NOOVERWRITE)));
	if (r < 0)
		return r;
	if (last) {
		memcpy(store->last_key, key, key_len);
		store->last_key_len = key_len;
	} else if (store->shared) {
		store->shared--;
	}
	store->revisited |= !last;
	store->batched += cost;
	*ret_space = v.mv_data;
	return 0;
}

int store_get(struct store *store, const void *key, size_t key_len, const void **ret_data,
	      uint64_t *ret_size)
{
	MDB_val k = {.mv_size = key_len, .mv_data = (void *)(uintptr_t)key}, v;
	int r = store_begin_reading(store);

	store->revisited = true;
	if (r == 0)
		r = store_errno(store, mdb_get(store->txn, store->dbi, &k, &v));
	if (r)
		return r;
	/* The map is not read ahead. A value of 110 KB that is not in memory takes 730 to 1,500 us
	 * page by page, and 140 to 160 us if it is asked for as a whole. Only a hint. */
	size_t lead = (uintptr_t)v.mv_data % store->page;

	madvise((char *)v.mv_data - lead, v.mv_size + lead, MADV_WILLNEED);
	*ret_data = v.mv_data;
	*ret_size = v.mv_size;
	return 0;
}

int store_delete(struct store *store, const void *key, size_t key_len)
{
	MDB_val k = {.mv_size = key_len, .mv_data = (void *)(uintptr_t)key};
	int r = store_begin(store, 0);

	return r < 0 ? r : store_errno(store, mdb_del(store->txn, store->dbi, &k, NULL));
}

/* --- free pages ----------------------------------------------------------------------------- */

int store_wipe(struct store *store)
{
	static const uint8_t zeros[64 * KIB];
	SCOPE_CLOSE int fd = open(store->path, O_WRONLY | O_CLOEXEC);
	MDB_cursor *cursor = NULL;
	MDB_val key, list;
	int code = 0, r = fd < 0 ? -errno : store_begin_reading(store);

	if (r == 0)
		code = mdb_cursor_open(store->txn, FREE_LIST, &cursor);
	/* A record of the free list: a count and as many page numbers. */
	while (r == 0 && code == 0) {
		code = mdb_cursor_get(cursor, &key, &list, MDB_NEXT);
		for (size_t at = 8; r == 0 && code == 0 && at + 8 <= list.mv_size; at += 8)
			r = io_pwrite_full(fd, zeros, store->page,
					   le_get64((char *)list.mv_data + at) * store->page);
	}
	if (cursor)
		mdb_cursor_close(cursor);
	if (r == 0 && code != MDB_NOTFOUND)
		r = store_errno(store, code);
	store_close(store);
	return r;
}

/* --- going back ----------------------------------------------------------------------------- */

int store_save(const struct store *store, struct store_state *ret)
{
	SCOPE_CLOSE int fd = open(store->path, O_RDONLY | O_CLOEXEC);
	struct store_state state = {.last_key_len = store->last_key_len};
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	r = io_pread_full(fd, state.metas[0], STORE_META_BYTES, 0);
	if (r < 0)
		return r;
	state.page = le_get32(state.metas[0] + PAGE_SIZE_AT);
	r = io_pread_full(fd, state.metas[1], STORE_META_BYTES, state.page);
	if (r < 0)
		return r;
	state.bytes = (uint64_t)st.st_size;
	state.revisited = store->revisited;
	memcpy(state.last_key, store->last_key, store->last_key_len);
	*ret = state;
	return 0;
}

int store_restore(struct store *store, const struct store_state *state)
{
	SCOPE_CLOSE int fd = open(store->path, O_WRONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = io_pwrite_full(fd, state->metas[0], STORE_META_BYTES, 0);
	if (r == 0)
		r = io_pwrite_full(fd, state->metas[1], STORE_META_BYTES, state->page);
	if (r == 0 && ftruncate(fd, (off_t)state->bytes) < 0)
		r = -errno;
	if (r < 0)
		return r;
	memcpy(store->last_key, state->last_key, state->last_key_len);
	store->last_key_len = state->last_key_len;
	return 0;
}
