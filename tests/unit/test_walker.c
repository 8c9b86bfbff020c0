/* The page walker against liblmdb: the same records at the same places, and every kind of
 * damage told by page and field. */
#include "base/io.h"
#include "base/le.h"
#include "base/reader_file.h"
#include "pack/walker.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

#define assert_done(r) assert_int_equal(r, 0)

/* --- a file of one's own ------------------------------------------------------------------- */

struct fixture {
	char dir[64];
	char path[80];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
	int fd;
	struct reader *reader; /* of fd */
	struct err err;
};

static unsigned asked_for; /* pages that the kernel was told of beforehand */

/* Takes the place of the C library's. */
int posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
	(void)fd;
	(void)offset;
	(void)len;
	asked_for += advice == POSIX_FADV_WILLNEED;
	return 0;
}

static void setup(struct fixture *f)
{
	scratch_make(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/data.lmdb", f->dir);
	f->fd = -1;
}

static void close_file(struct fixture *f)
{
	reader_free(f->reader);
	f->reader = NULL;
	if (f->fd >= 0)
		close(f->fd);
}

static void teardown(struct fixture *f)
{
	if (f->txn)
		mdb_txn_abort(f->txn);
	if (f->env)
		mdb_env_close(f->env);
	close_file(f);
	unlink(f->path);
	rmdir(f->dir);
}

static void begin(struct fixture *f)
{
	if (!f->env) {
		assert_done(mdb_env_create(&f->env));
		assert_done(mdb_env_set_mapsize(f->env, (size_t)1 << 30));
		assert_done(mdb_env_set_maxdbs(f->env, 4));
		assert_done(mdb_env_open(f->env, f->path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC,
					 0600));
	}
	assert_done(mdb_txn_begin(f->env, NULL, 0, &f->txn));
	assert_done(mdb_dbi_open(f->txn, NULL, 0, &f->dbi));
}

static void commit(struct fixture *f)
{
	assert_done(mdb_txn_commit(f->txn));
	f->txn = NULL;
}

/* Bytes that tell one record from another. */
static void put(struct fixture *f, const void *key, size_t key_len, size_t size)
{
	MDB_val k = {key_len, (void *)key}, v = {size, NULL};
	uint8_t *bytes;
	unsigned seed = 1;

	for (size_t i = 0; i < key_len; i++)
		seed = seed * 31 + ((const uint8_t *)key)[i];
	assert_done(mdb_put(f->txn, f->dbi, &k, &v, MDB_RESERVE));
	bytes = v.mv_data;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(seed + i * 7 + i / 251);
}

static void del(struct fixture *f, const void *key, size_t key_len)
{
	MDB_val k = {key_len, (void *)key};

	assert_done(mdb_del(f->txn, f->dbi, &k, NULL));
}

static size_t numbered(char key[32], unsigned i)
{
	return (size_t)snprintf(key, 32, "class%03u/image%05u.jpg", i / 100, i);
}

static void put_numbered(struct fixture *f, unsigned from, unsigned to, size_t size)
{
	char key[32];

	begin(f);
	for (unsigned i = from; i < to; i++)
		put(f, key, numbered(key, i), size);
	commit(f);
}

static void reopen(struct fixture *f)
{
	close_file(f);
	f->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(f->fd >= 0);
	assert_done(reader_file_borrow(f->fd, &f->reader));
	f->err.text[0] = '\0';
}

static struct walker *walker_of(struct fixture *f)
{
	struct walker *walker = NULL;
	int r;

	reopen(f);
	r = walker_new(f->reader, &walker, &f->err);
	if (r < 0)
		fail_msg("walker_new: %d: %s", r, err_text(&f->err, r));
	return walker;
}

static struct walker_info info_of(struct fixture *f)
{
	struct walker *walker = walker_of(f);
	struct walker_info info = *walker_info(walker);

	walker_free(walker);
	return info;
}

static uint64_t file_size(const struct fixture *f)
{
	struct stat st;

	assert_done(stat(f->path, &st));
	return (uint64_t)st.st_size;
}

static void write_file(struct fixture *f, const void *data, size_t len)
{
	reopen(f);
	assert_done(ftruncate(f->fd, 0));
	assert_done(io_pwrite_full(f->fd, data, len, 0));
}

/* --- against liblmdb ----------------------------------------------------------------------- */

static void assert_record(const struct fixture *f, const struct walker_record *record,
			  const MDB_val *key, const MDB_val *value)
{
	uint8_t *bytes = malloc(value->mv_size + 1);

	assert_non_null(bytes);
	assert_int_equal(record->key_len, key->mv_size);
	assert_memory_equal(record->key, key->mv_data, key->mv_size);
	assert_int_equal(record->size, value->mv_size);
	assert_done(io_pread_full(f->fd, bytes, value->mv_size, record->offset));
	if (value->mv_size > 0)
		assert_memory_equal(bytes, value->mv_data, value->mv_size);
	free(bytes);
}

static void assert_info(const struct fixture *f, const struct walker *walker)
{
	const struct walker_info *info = walker_info(walker);
	MDB_envinfo env;
	MDB_stat st;

	assert_done(mdb_env_info(f->env, &env));
	assert_done(mdb_stat(f->txn, f->dbi, &st));
	assert_int_equal(info->page_size, st.ms_psize);
	assert_int_equal(info->depth, st.ms_depth);
	assert_int_equal(info->branch_pages, st.ms_branch_pages);
	assert_int_equal(info->leaf_pages, st.ms_leaf_pages);
	assert_int_equal(info->overflow_pages, st.ms_overflow_pages);
	assert_int_equal(info->entries, st.ms_entries);
	assert_int_equal(info->last_page, env.me_last_pgno);
	assert_int_equal(info->txnid, env.me_last_txnid);
}

/* Both readers from the smallest key that is not before this one, or from the first, to the end. */
static void assert_same_from(struct fixture *f, struct walker *walker, const char *text, size_t len)
{
	MDB_val key = {len, (void *)text}, value;
	struct walker_record record;
	MDB_cursor *cursor;
	int r = text ? walker_seek(walker, text, len, &record, &f->err)
		     : walker_first(walker, &record, &f->err);
	int expected;

	assert_done(mdb_cursor_open(f->txn, f->dbi, &cursor));
	expected = mdb_cursor_get(cursor, &key, &value, text ? MDB_SET_RANGE : MDB_FIRST);
	for (; expected == 0; expected = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		if (r != 0)
			fail_msg("walk from '%s': %d: %s", text ? text : "", r, f->err.text);
		assert_record(f, &record, &key, &value);
		r = walker_next(walker, &record, &f->err);
	}
	assert_int_equal(expected, MDB_NOTFOUND);
	assert_int_equal(r, 1);
	assert_int_equal(walker_next(walker, &record, &f->err), 1);
	mdb_cursor_close(cursor);
}

static void assert_same_as_liblmdb(struct fixture *f)
{
	struct walker *walker = walker_of(f);

	begin(f);
	assert_info(f, walker);
	assert_same_from(f, walker, NULL, 0);
	mdb_txn_abort(f->txn);
	f->txn = NULL;
	walker_free(walker);
}

FIXTURE(f, struct fixture, setup, teardown);

TEST_OF(f, an_lmdb_without_records_is_empty)
{
	begin(f);
	commit(f);
	assert_same_as_liblmdb(f);
}

TEST_OF(f, an_lmdb_emptied_again_is_empty)
{
	char key[32];

	put_numbered(f, 0, 500, 100);
	begin(f);
	for (unsigned i = 0; i < 500; i++)
		del(f, key, numbered(key, i));
	commit(f);
	assert_same_as_liblmdb(f);
	assert_int_equal(info_of(f).root, UINT64_MAX);
}

TEST_OF(f, values_of_all_sizes)
{
	static const size_t sizes[] = {0,    1,	   10,	  2000,	  2020,	  2021,	  2022,
				       2023, 2024, 2025,  2026,	  2027,	  2028,	  2030,
				       2048, 2049, 4079,  4080,	  4081,	  8175,	  8176,
				       8177, 9000, 65536, 110000, 112640, 3000000};
	char key[32];

	begin(f);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		put(f, key, numbered(key, i), sizes[i]);
	commit(f);
	assert_same_as_liblmdb(f);
}

TEST_OF(f, keys_of_511_bytes_and_of_one)
{
	uint8_t key[511];

	begin(f);
	for (unsigned i = 0; i < 600; i++) {
		memset(key, 'a', sizeof(key));
		le_put16(key + 509, (uint16_t)(i * 40503));
		put(f, key, sizeof(key), i % 7 ? 20 : 3000);
	}
	for (unsigned i = 0; i < 256; i++) {
		key[0] = (uint8_t)i;
		put(f, key, 1, i);
	}
	commit(f);
	assert_same_as_liblmdb(f);
	assert_true(info_of(f).depth >= 3);
}

/* A mount wants its superblock alone: other leaves would only be in its way. */
TEST_OF(f, leaves_are_asked_for_when_a_walk_goes_on)
{
	struct walker_record record;
	struct walker *walker;
	char key[32];

	put_numbered(f, 0, 600, 8000); /* each leaf behind the values of the one before */
	asked_for = 0;
	walker = walker_of(f);
	for (unsigned i = 0; i < 600; i++)
		assert_done(walker_seek(walker, key, numbered(key, i), &record, &f->err));
	assert_int_equal(asked_for, 0);
	assert_done(walker_first(walker, &record, &f->err));
	assert_int_equal(asked_for, 0);
	while (walker_next(walker, &record, &f->err) == 0)
		;
	assert_true(asked_for > 0);
	walker_free(walker);
}

TEST_OF(f, many_commits_and_deletes)
{
	char key[32];

	for (unsigned round = 0; round < 12; round++) {
		begin(f);
		for (unsigned i = 0; i < 400; i++)
			put(f, key, numbered(key, (i * 37 + round * 211) % 3000),
			    (i * 131 + round * 977) % 7000);
		for (unsigned i = 0; i < 150; i++)
			del(f, key, numbered(key, (i * 37 + round * 211) % 3000));
		commit(f);
		assert_same_as_liblmdb(f);
	}
}

/* --- finding ------------------------------------------------------------------------------- */

TEST_OF(f, before_the_first_call_a_walk_is_at_its_end)
{
	struct walker *walker;
	struct walker_record record;

	put_numbered(f, 0, 3, 10);
	walker = walker_of(f);
	assert_int_equal(walker_next(walker, &record, &f->err), 1);
	walker_free(walker);
}

TEST_OF(f, a_seek_finds_what_liblmdb_finds)
{
	static const unsigned counts[] = {1, 10, 400, 5000}, depths[] = {1, 1, 2, 3};
	unsigned from = 0;

	for (unsigned i = 0; i < 4; from = counts[i++]) {
		struct walker *walker;
		char key[32];

		put_numbered(f, from, counts[i], 300);
		assert_same_as_liblmdb(f);
		walker = walker_of(f);
		assert_int_equal(walker_info(walker)->depth, depths[i]);
		begin(f);
		assert_same_from(f, walker, "\0", 1);
		assert_same_from(f, walker, "z", 1);
		for (unsigned k = 0; k < counts[i]; k += 1 + counts[i] / 50) {
			size_t len = numbered(key, k);

			assert_same_from(f, walker, key, len);
			key[len - 1]++; /* behind it, and before the next */
			assert_same_from(f, walker, key, len);
		}
		mdb_txn_abort(f->txn);
		f->txn = NULL;
		walker_free(walker);
	}
}

TEST_OF(f, a_seek_finds_nothing_where_there_is_nothing)
{
	struct walker_record record;
	struct walker *walker;

	begin(f);
	commit(f);
	walker = walker_of(f);
	assert_int_equal(walker_seek(walker, "k", 1, &record, &f->err), 1);
	walker_free(walker);
}

/* --- damage by name ------------------------------------------------------------------------ */

struct field {
	const char *name;
	unsigned offset; /* in the page; of a node: in the node */
	unsigned width;
};

static const struct field fields[] = {
	{"pgno", 0, 8},		{"flags", 10, 2},	    {"lower", 12, 2},
	{"upper", 14, 2},	{"pages", 12, 4},	    {"ptr[0]", 16, 2},
	{"ptr[1]", 18, 2},	{"magic", 16, 4},	    {"version", 20, 4},
	{"page size", 40, 4},	{"main.flags", 92, 2},	    {"depth", 94, 2},
	{"leaf pages", 104, 8}, {"overflow pages", 112, 8}, {"entries", 120, 8},
	{"root", 128, 8},	{"last page", 136, 8},	    {"txnid", 144, 8},
	{"node.size", 0, 4},	{"node.flags", 4, 2},	    {"node.key size", 6, 2},
};

static void poke(struct fixture *f, uint64_t at, unsigned width, uint64_t value)
{
	uint8_t bytes[8];

	le_put64(bytes, value);
	assert_done(io_pwrite_full(f->fd, bytes, width, at));
}

static uint64_t peek(struct fixture *f, uint64_t at, unsigned width)
{
	uint8_t bytes[8] = {0};

	assert_done(io_pread_full(f->fd, bytes, width, at));
	return le_get64(bytes);
}

static const struct field *field_of(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	fail_msg("no field %s", name);
	return NULL;
}

static void damage(struct fixture *f, uint64_t page, const char *name, uint64_t value)
{
	const struct field *field = field_of(name);

	reopen(f);
	poke(f, page * PAGE + field->offset, field->width, value);
}

/* Two commits, so that both meta pages tell of a tree. */
static void put_twice(struct fixture *f, unsigned count, size_t size)
{
	put_numbered(f, 0, count - 1, size);
	put_numbered(f, count - 1, count, size);
}

/* Both meta pages, so that neither stands in for the other. */
static void damage_metas(struct fixture *f, const char *name, uint64_t value)
{
	damage(f, 0, name, value);
	damage(f, 1, name, value);
}

static uint64_t node_place(struct fixture *f, uint64_t page, unsigned node)
{
	return page * PAGE + peek(f, page * PAGE + 16 + 2 * node, 2);
}

static void damage_node(struct fixture *f, uint64_t page, unsigned node, const char *name,
			uint64_t value)
{
	const struct field *field = field_of(name);

	reopen(f);
	poke(f, node_place(f, page, node) + field->offset, field->width, value);
}

static uint64_t child_of(struct fixture *f, uint64_t page, unsigned node)
{
	return peek(f, node_place(f, page, node), 6);
}

/* Big values begin on the page that these eight bytes behind the key tell. */
static uint64_t overflow_place(struct fixture *f, uint64_t page, unsigned node)
{
	uint64_t at = node_place(f, page, node);

	return at + 8 + peek(f, at + 6, 2);
}

static void assert_text(const struct fixture *f, const char *format, ...)
{
	char want[256];
	va_list args;

	va_start(args, format);
	vsnprintf(want, sizeof(want), format, args);
	va_end(args);
	assert_string_equal(f->err.text, want);
}

static int try_open(struct fixture *f)
{
	struct walker *walker = NULL;
	int r;

	reopen(f);
	r = walker_new(f->reader, &walker, &f->err);
	assert_true(r == 0 || walker == NULL);
	if (r == 0)
		r = walker_check_end(walker, &f->err);
	walker_free(walker);
	return r;
}

/* The first error of a whole walk; whatever comes, the walk is then at its end. */
static int try_walk(struct fixture *f)
{
	struct walker *walker = walker_of(f);
	struct walker_record record;
	int r = walker_first(walker, &record, &f->err);

	while (r == 0)
		r = walker_next(walker, &record, &f->err);
	assert_int_equal(walker_next(walker, &record, NULL), 1);
	walker_free(walker);
	return r;
}

#define assert_open_damaged(f, ...)                      \
	do {                                             \
		assert_int_equal(try_open(f), -EBADMSG); \
		assert_text(f, __VA_ARGS__);             \
	} while (0)

#define assert_walk_damaged(f, ...)                      \
	do {                                             \
		assert_int_equal(try_walk(f), -EBADMSG); \
		assert_text(f, __VA_ARGS__);             \
	} while (0)

/* --- damaged meta pages -------------------------------------------------------------------- */

TEST_OF(f, files_that_are_no_lmdb_are_refused)
{
	static const uint8_t zeros[1 << 20], text[] = "class,count\nn01440764,1300\n";
	static const struct {
		const uint8_t *data;
		size_t len;
	} files[] = {{text, 0}, {text, sizeof(text) - 1}, {zeros, sizeof(zeros)}};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		write_file(f, files[i].data, files[i].len);
		assert_int_equal(try_open(f), -EINVAL);
		assert_text(f, "not an LMDB file");
	}
}

TEST_OF(f, a_descriptor_that_cannot_be_read_tells_why)
{
	struct walker *walker;

	f->fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_done(reader_file_borrow(f->fd, &f->reader));
	assert_int_equal(walker_new(f->reader, &walker, &f->err), -EISDIR);
	assert_text(f, "page 0: Is a directory");
}

TEST_OF(f, another_byte_order_or_word_size_is_named)
{
	put_twice(f, 10, 10);
	damage(f, 0, "magic", 0xDEC0EFBE);
	assert_int_equal(try_open(f), -EPROTONOSUPPORT);
	assert_text(f, "an LMDB file of a machine of another byte order or word size");
	damage(f, 0, "magic", 1);
	damage(f, 0, "pages", 0xBEEFC0DE); /* where a 32-bit machine has its magic */
	assert_int_equal(try_open(f), -EPROTONOSUPPORT);
	assert_text(f, "an LMDB file of a machine of another byte order or word size");
}

/* "NAME=VALUE;...", in both meta pages. */
static void damage_words(struct fixture *f, const char *words)
{
	char name[32], value[32];
	int len;

	for (; sscanf(words, "%31[^=]=%31[^;]%n", name, value, &len) == 2; words += !!*words) {
		damage_metas(f, name, strtoull(value, NULL, 0));
		words += len;
	}
}

TEST_OF(f, a_wrong_field_of_the_meta_pages_is_damage)
{
	static const struct {
		const char *words, *sentence;
	} cases[] = {
		{"page size=0", "page size 0"},
		{"page size=2048", "page size 2048"},
		{"page size=4097", "page size 4097"},
		{"page size=131072", "page size 131072"},
		{"depth=0", "depth 0 not within 1 to 32"},
		{"depth=33", "depth 33 not within 1 to 32"},
		{"last page=3;root=4", "root 4 not within 2 to last page 3"},
		{"last page=3;root=1", "root 1 not within 2 to last page 3"},
		{"last page=3;root=-2", "root 18446744073709551614 not within 2 to last page 3"},
		{"entries=10;root=-1", "depth 1 and 10 entries without root"},
		{"last page=0", "last page 0"},
		{"last page=-1", "last page 18446744073709551615"},
		{"last page=3;leaf pages=1;entries=341", "341 entries in 1 leaf pages"},
		{"last page=3;overflow pages=4", "more pages in the database than in the file"},
		{"pgno=7", "says it is page 7"},
		{"pgno=0;flags=2", "flags 0x2, a meta page expected"},
	};
	uint8_t metas[2 * PAGE];

	put_twice(f, 10, 10);
	reopen(f);
	assert_done(io_pread_full(f->fd, metas, sizeof(metas), 0));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		damage_words(f, cases[i].words);
		assert_open_damaged(f, "page 0: %s", cases[i].sentence);
		assert_done(io_pwrite_full(f->fd, metas, sizeof(metas), 0));
	}
	damage_words(f, "last page=0x400000000000");
	assert_open_damaged(f, "truncated: %" PRIu64 " bytes, 288230376151715840 expected",
			    file_size(f));
}

static uint64_t records_of(struct fixture *f)
{
	struct walker *walker = walker_of(f);
	struct walker_record record;
	uint64_t count = 0;
	int r = walker_first(walker, &record, &f->err);

	for (; r == 0; count++)
		r = walker_next(walker, &record, &f->err);
	assert_int_equal(r, 1);
	walker_free(walker);
	return count;
}

/* Transaction N writes meta page N % 2: an even number of commits leaves the newest on page 0. */
TEST_OF(f, a_torn_newest_meta_page_leaves_the_snapshot_before)
{
	put_twice(f, 10, 10);
	put_numbered(f, 10, 20, 10);
	assert_int_equal(info_of(f).txnid, 3);
	assert_int_equal(records_of(f), 20);
	damage(f, 1, "root", 99999);
	assert_int_equal(info_of(f).txnid, 2);
	assert_int_equal(records_of(f), 10);
}

TEST_OF(f, a_torn_first_meta_page_leaves_the_second)
{
	put_twice(f, 10, 10);
	damage(f, 0, "depth", 99);
	assert_int_equal(info_of(f).txnid, 1);
	assert_int_equal(records_of(f), 9);
}

TEST_OF(f, the_state_before_the_first_commit_does_not_stand_in)
{
	put_numbered(f, 0, 10, 10);
	assert_int_equal(info_of(f).txnid, 1);
	damage(f, 1, "version", 2);
	assert_open_damaged(f, "page 1: not a meta page like page 0");
	damage(f, 1, "version", 1);
	damage(f, 1, "page size", 8192);
	assert_open_damaged(f, "page 1: page size 8192, that of page 0 is 4096");
	damage(f, 1, "page size", 4096);
	damage(f, 1, "main.flags", MDB_DUPSORT);
	assert_int_equal(try_open(f), -EPROTONOSUPPORT);
}

TEST_OF(f, a_new_lmdb_with_a_bad_first_meta_page_is_damage)
{
	begin(f);
	assert_int_equal(info_of(f).txnid, 0);
	damage(f, 0, "depth", 1);
	assert_open_damaged(f, "page 0: depth 1 and 0 entries without root");
}

/* Returns how long the file was. */
static uint64_t cut_last_byte(struct fixture *f)
{
	uint64_t size = file_size(f);

	assert_done(truncate(f->path, (off_t)size - 1));
	return size;
}

TEST_OF(f, a_file_short_by_one_byte_is_truncated)
{
	uint64_t size;

	put_twice(f, 100, 5000);
	size = cut_last_byte(f);
	assert_open_damaged(f, "truncated: %" PRIu64 " bytes, %" PRIu64 " expected", size - 1,
			    size);
}

TEST_OF(f, a_record_behind_the_end_of_the_file_is_truncated)
{
	uint64_t size;

	put_twice(f, 1, 5000);
	size = cut_last_byte(f);
	assert_walk_damaged(f, "truncated: %" PRIu64 " bytes, %" PRIu64 " expected", size - 1,
			    size);
}

static void commit_of(struct fixture *f, const char *first, const char *second, size_t size)
{
	begin(f);
	put(f, first, 1, size);
	if (second)
		put(f, second, 1, size);
	commit(f);
}

/* The last transaction makes pages at the end and frees them. liblmdb counts, but does not write
 * them. */
TEST_OF(f, a_file_that_lacks_free_pages_is_whole)
{
	commit_of(f, "a", "b", 50000);
	begin(f);
	del(f, "a", 1);
	commit(f);
	commit_of(f, "d", NULL, 10);
	begin(f);
	put(f, "c", 1, 200000);
	del(f, "c", 1);
	commit(f);
	assert_true(file_size(f) < (info_of(f).last_page + 1) * PAGE);
	assert_open_damaged(f, "truncated: 135168 bytes, 335872 expected");
	assert_same_as_liblmdb(f);
}

TEST_OF(f, a_file_cut_within_its_meta_pages_is_truncated)
{
	put_twice(f, 100, 5000);
	assert_done(truncate(f->path, 4200));
	assert_open_damaged(f, "truncated: 4200 bytes, 8192 expected");
	assert_done(truncate(f->path, 100));
	assert_open_damaged(f, "truncated: 100 bytes, 8192 expected");
}

TEST_OF(f, a_file_that_shrinks_under_the_walk_is_damage)
{
	struct walker *walker;
	struct walker_record record;

	put_twice(f, 1000, 100);
	walker = walker_of(f);
	assert_done(ftruncate(f->fd, 2 * PAGE));
	assert_int_equal(walker_first(walker, &record, &f->err), -EBADMSG);
	assert_text(f, "page %" PRIu64 ": the file ends before its end", walker_info(walker)->root);
	walker_free(walker);
}

/* --- damaged pages and nodes --------------------------------------------------------------- */

struct wrong_field {
	const char *field;
	int node; /* whose field it is; -1: of the page */
	uint64_t value;
	const char *sentence;
};

/* Of the page of the root, one at a time. */
static void expect_damaged_root(struct fixture *f, const struct wrong_field *cases, size_t count)
{
	uint64_t root = info_of(f).root;

	for (const struct wrong_field *c = cases; c < cases + count; c++) {
		const struct field *field = field_of(c->field);
		uint64_t at = root * PAGE, before;

		reopen(f);
		at = (c->node < 0 ? at : node_place(f, root, (unsigned)c->node)) + field->offset;
		before = peek(f, at, field->width);
		poke(f, at, field->width, c->value);
		assert_walk_damaged(f, "page %" PRIu64 ": %s", root, c->sentence);
		poke(f, at, field->width, before);
	}
}

TEST_OF(f, a_wrong_field_of_a_leaf_is_damage)
{
	static const struct wrong_field cases[] = {
		{"pgno", -1, 2, "says it is page 2"},
		{"flags", -1, 0x22, "flags 0x22, a leaf page expected"},
		{"upper", -1, 12, "lower 36 beyond upper 12"},
		{"upper", -1, 4098, "upper 4098 beyond the page"},
		{"lower", -1, 15, "lower 15"},
		{"lower", -1, 16, "lower 16"},
		{"lower", -1, 35, "lower 35"},
		{"ptr[1]", -1, 0, "node 1: offset 0"},
		{"ptr[1]", -1, 17, "node 1: offset 17"},
		{"ptr[1]", -1, 3999, "node 1: offset 3999"},
		{"ptr[1]", -1, 4090, "node 1: offset 4090"},
		{"ptr[1]", -1, 4096, "node 1: offset 4096"},
		{"ptr[1]", -1, 65535, "node 1: offset 65535"},
		{"node.key size", 3, 65535, "node 3: key of 65535 bytes runs out of the page"},
		{"node.size", 2, UINT32_MAX,
		 "node 2: value of 4294967295 bytes runs out of the page"},
		{"node.flags", 5, 2, "node 5 is a sub-database"},
		{"node.flags", 5, 4, "node 5 has several values"},
		{"node.flags", 5, 8, "node 5: flags 0x8"},
	};

	put_twice(f, 10, 10);
	expect_damaged_root(f, cases, sizeof(cases) / sizeof(*cases));
}

TEST_OF(f, a_wrong_field_of_a_branch_is_damage)
{
	static const struct wrong_field cases[] = {
		{"flags", -1, 2, "flags 0x2, a branch page expected"},
		{"lower", -1, 55, "lower 55"},
		{"ptr[0]", -1, 0xffff, "node 0: offset 65535"},
		{"node.size", 0, 1, "node 0: child 1 not within 2 to last page 40"},
		{"node.size", 1, 41, "node 1: child 41 not within 2 to last page 40"},
		{"node.flags", 1, 1, "node 1: child 4294967299 not within 2 to last page 40"},
		{"node.key size", 1, 0xffff, "node 1: key of 65535 bytes runs out of the page"},
	};

	put_twice(f, 1000, 100);
	expect_damaged_root(f, cases, sizeof(cases) / sizeof(*cases));
}

TEST_OF(f, a_depth_that_lies_is_damage)
{
	uint64_t root;

	put_twice(f, 1000, 100);
	root = info_of(f).root;
	damage_metas(f, "depth", 1);
	assert_walk_damaged(f, "page %" PRIu64 ": flags 0x1, a leaf page expected", root);
	damage_metas(f, "depth", 32);
	assert_int_equal(try_walk(f), -EBADMSG);
	assert_non_null(strstr(f->err.text, "flags 0x2, a branch page expected"));
}

TEST_OF(f, another_count_of_records_than_the_meta_page_says_is_damage)
{
	put_twice(f, 10, 10);
	damage_metas(f, "entries", 11);
	assert_walk_damaged(f, "10 entries, 11 expected by the meta page");
}

TEST_OF(f, keys_out_of_order_are_damage)
{
	uint64_t root, first;

	put_twice(f, 10, 10);
	root = info_of(f).root;
	reopen(f);
	first = peek(f, root * PAGE + 16, 2);
	damage(f, root, "ptr[1]", first);
	assert_walk_damaged(f, "page %" PRIu64 ": node 1: key not in order", root);
	damage_node(f, root, 0, "node.key size", 0);
	assert_walk_damaged(f, "page %" PRIu64 ": node 0: key not in order", root);
}

/* Otherwise a file of some MB would say that it has as many values of some MB as it has keys. */
TEST_OF(f, values_that_share_pages_are_refused)
{
	uint64_t root, big, last;

	put_twice(f, 20, 20000);
	root = info_of(f).root;
	last = info_of(f).last_page;
	reopen(f);
	big = peek(f, overflow_place(f, root, 0), 8);
	for (unsigned i = 1; i < 20; i++)
		poke(f, overflow_place(f, root, i), 8, big);
	for (unsigned i = 0; i < 20; i++)
		damage_node(f, root, i, "node.size", (unsigned)(last - big) * PAGE);
	assert_walk_damaged(f, "page %" PRIu64 ": node 1: its value has pages of others", root);
}

static void damage_child(struct fixture *f, uint64_t page, unsigned node, uint64_t child)
{
	reopen(f);
	poke(f, node_place(f, page, node), 6, child);
}

TEST_OF(f, a_branch_that_is_its_own_child_is_damage)
{
	uint64_t root;

	put_twice(f, 5000, 300);
	root = info_of(f).root;
	assert_int_equal(info_of(f).depth, 3);
	damage_child(f, root, 1, root);
	assert_int_equal(try_walk(f), -EBADMSG);
	assert_non_null(strstr(f->err.text, ": flags 0x1, a leaf page expected"));
}

TEST_OF(f, a_page_visited_twice_is_damage)
{
	uint64_t root, branch, leaf;

	put_twice(f, 5000, 300);
	root = info_of(f).root;
	branch = child_of(f, root, 0);
	leaf = child_of(f, branch, 0);
	damage_child(f, root, 1, branch);
	assert_walk_damaged(f, "page %" PRIu64 ": node 0: key not in order", leaf);
	damage_child(f, branch, 1, leaf);
	assert_walk_damaged(f, "page %" PRIu64 ": node 0: key not in order", leaf);
}

TEST_OF(f, a_big_value_out_of_the_file_is_damage)
{
	struct walker_info info;
	uint64_t place, page;

	put_twice(f, 10, 50000);
	info = info_of(f);
	place = overflow_place(f, info.root, 0);
	page = peek(f, place, 8);
	poke(f, place, 8, info.last_page + 1);
	assert_walk_damaged(f,
			    "page %" PRIu64 ": node 0: overflow page %" PRIu64
			    " not within 2 to last page %" PRIu64,
			    info.root, info.last_page + 1, info.last_page);
	reopen(f);
	poke(f, place, 8, info.last_page);
	assert_walk_damaged(f,
			    "page %" PRIu64 ": node 0: 50000 bytes from page %" PRIu64
			    " run beyond last page %" PRIu64,
			    info.root, info.last_page, info.last_page);
	reopen(f);
	poke(f, place, 8, page);
	damage_node(f, info.root, 0, "node.size", 0xffffffff);
	assert_walk_damaged(f,
			    "page %" PRIu64 ": node 0: 4294967295 bytes from page %" PRIu64
			    " run beyond last page %" PRIu64,
			    info.root, page, info.last_page);
}

TEST_OF(f, a_big_value_without_room_for_its_page_is_damage)
{
	uint64_t root;

	put_twice(f, 1, 50000);
	root = info_of(f).root;
	damage_node(f, root, 0, "node.key size", 23 + 4);
	assert_walk_damaged(f, "page %" PRIu64 ": node 0 runs out of the page", root);
}
