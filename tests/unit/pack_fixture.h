/* What the tests of packs share: a directory of one's own, files whose bytes follow from their
 * names, a builder driven in single words, and damage done by name. */
#pragma once

#include "base/io.h"
#include "base/le.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/walker.h"
#include "pack/write/builder.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define assert_done(r) assert_int_equal(r, 0)

/* An eighth of what packs have: what happens in several happens in these, too, and in less time. */
#define BATCH (8 * MIB)

struct fixture {
	char dir[64];
	char path[96]; /* of the pack, within dir */
	char partial[108], journal[116];
	struct builder *builder; /* begun by the first entry that is added */
	struct {
		char path[64];
		uint32_t id;
	} folders[64]; /* that add_path() made */
	unsigned folder_count;
	struct dataset *dataset;
	struct builder_summary summary;
	struct err err;
};

static inline void fixture_setup(struct fixture *f)
{
	scratch_make(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/data.lmdb", f->dir);
	snprintf(f->partial, sizeof(f->partial), "%s.partial", f->path);
	snprintf(f->journal, sizeof(f->journal), "%s.journal", f->partial);
}

static inline void fixture_teardown(struct fixture *f)
{
	builder_free(f->builder);
	dataset_free(f->dataset);
	scratch_remove(f->dir);
}

/* Ends a builder that has not finished. */
static inline void let_go(struct fixture *f)
{
	builder_free(f->builder);
	f->builder = NULL;
}

/* The wait status of a process that ends with what `run` returns, without any cleaning up. */
static inline int child_status(int (*run)(struct fixture *, void *), struct fixture *f,
			       void *context)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(run(f, context));
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Files that become longer end the process. */
static inline void limit_file_size(uint64_t bytes)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = bytes, .rlim_max = bytes});
}

/* --- bytes that follow from a name ---------------------------------------------------------- */

struct pattern {
	uint64_t seed, at;
	uint64_t fails_at; /* reading this byte is -EIO; 0: never */
};

static inline void pattern_bytes(uint64_t seed, uint64_t from, void *buf, size_t len)
{
	uint8_t *bytes = buf;

	for (size_t i = 0; i < len; i++) {
		uint64_t x = from + i;

		bytes[i] = (uint8_t)(seed + x * 7 + x / 251 + x / 1048573);
	}
}

static inline int pattern_read(void *context, void *buf, size_t len)
{
	struct pattern *pattern = context;

	uint64_t from = pattern->at;

	pattern->at += len;
	if (pattern->fails_at && pattern->at > pattern->fails_at) {
		pattern_bytes(pattern->seed, from, buf, pattern->fails_at - from);
		return -EIO;
	}
	pattern_bytes(pattern->seed, from, buf, len);
	return 0;
}

static inline uint64_t pattern_seed(const char *name, size_t len)
{
	return XXH3_64bits(name, len);
}

/* --- building ------------------------------------------------------------------------------- */

static inline void start(struct fixture *f)
{
	struct builder_params params = {
		.path = f->path, .replace = true, .options = "order=path\n", .batch = BATCH};
	int r = builder_new(&params, &f->builder, &f->err);

	if (r < 0)
		fail_msg("builder_new: %s", err_text(&f->err, r));
	f->folder_count = 0;
}

static inline struct pack_entry entry_of(enum format_kind kind, uint32_t parent, const char *name,
					 size_t len)
{
	return (struct pack_entry){.kind = kind,
				   .parent = parent,
				   .name = name,
				   .name_len = len,
				   .mode = kind == FORMAT_DIRECTORY ? 0755 : 0644,
				   .mtime = {.tv_sec = 1600000000, .tv_nsec = 5}};
}

static inline uint32_t add(struct fixture *f, const struct pack_entry *entry)
{
	uint32_t id = UINT32_MAX;
	int r;

	if (!f->builder)
		start(f);
	r = builder_add(f->builder, entry, &id, &f->err);
	if (r < 0)
		fail_msg("builder_add '%.*s': %s", (int)entry->name_len, entry->name,
			 err_text(&f->err, r));
	return id;
}

static inline uint32_t add_dir(struct fixture *f, uint32_t parent, const char *name)
{
	struct pack_entry entry = entry_of(FORMAT_DIRECTORY, parent, name, strlen(name));

	return add(f, &entry);
}

/* Without its bytes. */
static inline uint32_t add_name(struct fixture *f, uint32_t parent, const char *name)
{
	struct pack_entry entry = entry_of(FORMAT_FILE, parent, name, strlen(name));

	return add(f, &entry);
}

static inline uint32_t add_symlink(struct fixture *f, uint32_t parent, const char *name,
				   const char *target)
{
	struct pack_entry entry = entry_of(FORMAT_SYMLINK, parent, name, strlen(name));

	entry.target = target;
	entry.target_len = strlen(target);
	return add(f, &entry);
}

static inline uint32_t add_link(struct fixture *f, uint32_t parent, const char *name, uint32_t to)
{
	struct pack_entry entry = entry_of(FORMAT_HARDLINK, parent, name, strlen(name));

	entry.link_to = to;
	return add(f, &entry);
}

static inline int store_bytes(struct fixture *f, uint32_t id, const char *name, uint64_t size,
			      uint64_t fails_at)
{
	struct pattern pattern = {.seed = pattern_seed(name, strlen(name)), .fails_at = fails_at};
	struct builder_source source = {.read = pattern_read, .context = &pattern, .size = size};

	return builder_store(f->builder, id, &source, &f->err);
}

static inline void store(struct fixture *f, uint32_t id, const char *name, uint64_t size)
{
	int r = store_bytes(f, id, name, size, 0);

	if (r < 0)
		fail_msg("builder_store '%s': %s", name, err_text(&f->err, r));
}

static inline uint32_t add_file(struct fixture *f, uint32_t parent, const char *name, uint64_t size)
{
	uint32_t id = add_name(f, parent, name);

	store(f, id, name, size);
	return id;
}

/* A file that has the bytes of another one. */
static inline uint32_t add_alias(struct fixture *f, uint32_t parent, const char *name, uint32_t to)
{
	uint32_t id = add_name(f, parent, name);
	int r = builder_alias(f->builder, id, to, &f->err);

	if (r < 0)
		fail_msg("builder_alias '%s': %s", name, err_text(&f->err, r));
	return id;
}

static inline void finish(struct fixture *f)
{
	int r;

	if (!f->builder)
		start(f);
	r = builder_finish(f->builder, 0, &f->summary, &f->err);
	if (r < 0)
		fail_msg("builder_finish: %s", err_text(&f->err, r));
	let_go(f);
}

/* --- by their paths ------------------------------------------------------------------------- */

/* The directory of a path, made with those above it where it is missing; *ret_name is what is
 * behind. */
static inline uint32_t folder_of(struct fixture *f, const char *path, const char **ret_name)
{
	uint32_t parent = PACK_ROOT;
	const char *name = path;

	if (!f->builder)
		start(f);
	for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
		char folder[64];
		unsigned i = 0;

		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
		while (i < f->folder_count && strcmp(f->folders[i].path, folder) != 0)
			i++;
		if (i == f->folder_count) {
			assert_true(i < sizeof(f->folders) / sizeof(*f->folders));
			f->folders[i].id = add_dir(f, parent, folder + (name - path));
			strcpy(f->folders[i].path, folder);
			f->folder_count++;
		}
		parent = f->folders[i].id;
	}
	*ret_name = name;
	return parent;
}

static inline void add_path(struct fixture *f, const char *path, uint64_t size)
{
	const char *name;
	uint32_t parent = folder_of(f, path, &name);

	add_file(f, parent, name, size);
}

/* --- in words -------------------------------------------------------------------------------
 *
 *	a/x 100          a file, whose bytes follow from its name
 *	a/x 100 other    whose bytes follow from "other"
 *	a/               a folder
 *	a/l -> x         a symbolic link
 *	a/h => a/x       a hard link to the file a/x, which comes before
 *	a/y == a/x       an alias of it
 *
 * One line an entry, of 64 at most. */

struct named_ids {
	unsigned count;
	struct {
		char path[64];
		uint32_t id;
	} all[64];
};

static inline uint32_t id_of(const struct named_ids *ids, const char *path)
{
	for (unsigned i = 0; i < ids->count; i++)
		if (strcmp(ids->all[i].path, path) == 0)
			return ids->all[i].id;
	fail_msg("no '%s' before", path);
	return 0;
}

static inline uint32_t add_line(struct fixture *f, const struct named_ids *ids, const char *line)
{
	char path[64], how[8], other[64] = "";
	const char *name;
	uint32_t parent, id;
	uint64_t size;

	if (sscanf(line, "%63s %7s %63s", path, how, other) < 2) {
		folder_of(f, path, &name);
		return PACK_ROOT;
	}
	parent = folder_of(f, path, &name);
	if (strcmp(how, "->") == 0)
		return add_symlink(f, parent, name, other);
	if (strcmp(how, "=>") == 0)
		return add_link(f, parent, name, id_of(ids, other));
	if (strcmp(how, "==") == 0)
		return add_alias(f, parent, name, id_of(ids, other));
	assert_int_equal(sscanf(how, "%" SCNu64, &size), 1);
	id = add_name(f, parent, name);
	store(f, id, *other ? other : name, size);
	return id;
}

static inline void add_lines(struct fixture *f, const char *text)
{
	SCOPE_FREE char *copy = strdup(text);
	struct named_ids ids = {0};
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		uint32_t id;

		if (!*line)
			continue;
		id = add_line(f, &ids, line);
		sscanf(line, "%63s", ids.all[ids.count].path);
		ids.all[ids.count++].id = id;
	}
}

/* --- reading -------------------------------------------------------------------------------- */

static inline XXH128_hash_t file_hash(const char *path)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	SCOPE_FREE uint8_t *data = NULL;
	struct stat st;

	assert_true(fd >= 0);
	assert_done(fstat(fd, &st));
	data = malloc((size_t)st.st_size);
	assert_non_null(data);
	assert_done(io_pread_full(fd, data, (size_t)st.st_size, 0));
	return XXH3_128bits(data, (size_t)st.st_size);
}

/* As an LMDB, of which records are read, or written. */
struct lmdb {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;
};

static inline void lmdb_begin(struct lmdb *lmdb, const char *path, bool write)
{
	unsigned flags = write ? 0 : MDB_RDONLY;

	assert_true(access(path, F_OK) < 0 || chmod(path, 0644) == 0);
	assert_done(mdb_env_create(&lmdb->env));
	assert_done(mdb_env_open(lmdb->env, path, MDB_NOSUBDIR | MDB_NOLOCK | flags, 0644));
	assert_done(mdb_txn_begin(lmdb->env, NULL, flags, &lmdb->txn));
	assert_done(mdb_dbi_open(lmdb->txn, NULL, 0, &lmdb->dbi));
}

static inline void lmdb_end(struct lmdb *lmdb)
{
	assert_done(mdb_txn_commit(lmdb->txn));
	mdb_env_close(lmdb->env);
}

static inline MDB_val lmdb_text(const char *text, size_t len)
{
	return (MDB_val){len, (void *)(uintptr_t)text};
}

static inline void lmdb_put(const char *path, const char *key, size_t key_len, const char *value)
{
	MDB_val k = lmdb_text(key, key_len), v = lmdb_text(value, strlen(value));
	struct lmdb lmdb;

	lmdb_begin(&lmdb, path, true);
	assert_done(mdb_put(lmdb.txn, lmdb.dbi, &k, &v, 0));
	lmdb_end(&lmdb);
}

static inline void open_pack(struct fixture *f)
{
	int r;

	dataset_free(f->dataset);
	f->dataset = NULL;
	r = dataset_open(f->path, &f->dataset, &f->err);
	if (r < 0)
		fail_msg("dataset_open: %d: %s", r, err_text(&f->err, r));
}

static inline void finish_and_open(struct fixture *f)
{
	finish(f);
	open_pack(f);
}

static inline uint32_t find(struct fixture *f, const char *path)
{
	uint32_t entry = UINT32_MAX;
	int r = dataset_find(f->dataset, path, strlen(path), &entry);

	if (r < 0)
		fail_msg("'%s': %s", path, strerror(-r));
	return entry;
}

/* The file at path has `size` bytes, which are those of `name`, and its path leads back. */
static inline void expect_file_of(struct fixture *f, const char *path, const char *name,
				  uint64_t size)
{
	uint32_t entry = find(f, path);
	uint64_t seed = pattern_seed(name, strlen(name));
	SCOPE_FREE uint8_t *have = malloc(FORMAT_EXTENT);
	SCOPE_FREE uint8_t *want = malloc(FORMAT_EXTENT);
	SCOPE(buf_release) struct buf back = BUF_INIT;

	assert_int_equal(dataset_entry(f->dataset, entry).size, size);
	assert_done(dataset_path(f->dataset, entry, &back));
	assert_string_equal(back.data, path);
	for (uint64_t at = 0; at < size; at += FORMAT_EXTENT) {
		ssize_t n = dataset_read(f->dataset, entry, have, FORMAT_EXTENT, at);

		if (n < 0)
			fail_msg("'%s' at %llu: %s", path, (unsigned long long)at,
				 strerror((int)-n));
		assert_int_equal(n, size - at < FORMAT_EXTENT ? size - at : FORMAT_EXTENT);
		pattern_bytes(seed, at, want, (size_t)n);
		if (memcmp(have, want, (size_t)n) != 0)
			fail_msg("'%s': wrong bytes after %llu", path, (unsigned long long)at);
	}
	assert_int_equal(dataset_read(f->dataset, entry, have, 1, size), 0);
}

static inline void expect_file(struct fixture *f, const char *path, uint64_t size)
{
	const char *slash = strrchr(path, '/');

	expect_file_of(f, path, slash ? slash + 1 : path, size);
}

static inline int fault_append(void *context, const struct dataset_fault *fault)
{
	/* A key of the index begins with a NUL. */
	return buf_addf(context, "%.*s: %s: %s\n", (int)fault->len - !*fault->path,
			fault->path + !*fault->path, fault->damage, fault->text);
}

/* What dataset_check_keys finds, one line a fault. */
static inline void expect_faults(struct fixture *f, const char *lines)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	int r = dataset_check_keys(f->dataset, fault_append, &found, &f->err);

	if (r < 0)
		fail_msg("dataset_check_keys: %s", err_text(&f->err, r));
	assert_string_equal(found.data ? found.data : "", lines);
}

/* --- damage by name ------------------------------------------------------------------------- */

/* The superblock's fields, as the format page has them: written out a second time on purpose. */
static const struct {
	const char *name;
	unsigned offset, width;
} super_fields[] = {
	{"magic", 0, 8},	  {"version", 8, 4},	   {"section_count", 12, 4},
	{"compat", 16, 8},	  {"incompat", 24, 8},	   {"entries", 32, 8},
	{"files", 40, 8},	  {"directories", 48, 8},  {"symlinks", 56, 8},
	{"hardlinks", 64, 8},	  {"bytes", 72, 8},	   {"id", 80, 8},
	{"lmdb.txnid", 96, 8},	  {"lmdb.root", 104, 8},   {"lmdb.last_page", 112, 8},
	{"lmdb.branch", 120, 8},  {"lmdb.leaf", 128, 8},   {"lmdb.overflow", 136, 8},
	{"lmdb.entries", 144, 8}, {"content_id", 4072, 8}, {"sum", 4088, 8},
};
static const struct {
	const char *name;
	unsigned offset, width;
} section_fields[] = {
	{"offset", 0, 8}, {"bytes", 8, 8}, {"count", 16, 8}, {"sum", 24, 8}, {"width", 32, 4},
};
#define SUPER_SECTION(number) (152 + 40 * (unsigned)(number))

struct damage {
	int fd;
	uint64_t super_offset;
	uint8_t super[FORMAT_SUPER_BYTES];
};

static inline void damage_begin(struct fixture *f, struct damage *damage)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	struct walker_record record;
	struct walker *walker;

	assert_done(chmod(f->path, 0644));
	damage->fd = open(f->path, O_RDWR | O_CLOEXEC);
	assert_true(damage->fd >= 0);
	assert_done(reader_file_borrow(damage->fd, &reader));
	assert_done(walker_new(reader, &walker, NULL));
	assert_done(walker_first(walker, &record, NULL));
	damage->super_offset = record.offset;
	walker_free(walker);
	assert_done(io_pread_full(damage->fd, damage->super, sizeof(damage->super),
				  damage->super_offset));
}

static inline void damage_end(struct damage *damage, bool sum)
{
	if (sum)
		le_put64(damage->super + FORMAT_SUPER_BYTES - 8,
			 XXH3_64bits(damage->super, FORMAT_SUPER_BYTES - 8));
	assert_done(io_pwrite_full(damage->fd, damage->super, sizeof(damage->super),
				   damage->super_offset));
	close(damage->fd);
}

static inline void put_le(uint8_t *at, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static inline unsigned section_number(const char *name)
{
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		if (strcmp(format_section_name((enum format_section)i), name) == 0)
			return i;
	fail_msg("no section '%s'", name);
	return 0;
}

/* "super.version", or "super.size.width" for the reference to a section. */
static inline void damage_super(struct damage *damage, const char *field, uint64_t value)
{
	char section[32], of_section[32];

	for (size_t i = 0; i < sizeof(super_fields) / sizeof(*super_fields); i++) {
		if (strcmp(super_fields[i].name, field) != 0)
			continue;
		put_le(damage->super + super_fields[i].offset, super_fields[i].width, value);
		return;
	}
	if (sscanf(field, "%31[^.].%31s", section, of_section) != 2)
		fail_msg("no field 'super.%s'", field);
	for (size_t i = 0; i < sizeof(section_fields) / sizeof(*section_fields); i++) {
		if (strcmp(section_fields[i].name, of_section) != 0)
			continue;
		put_le(damage->super + SUPER_SECTION(section_number(section)) +
			       section_fields[i].offset,
		       section_fields[i].width, value);
		return;
	}
	fail_msg("no field 'super.%s'", field);
}

/* "size[3]": row 3 of section size; "names[5]": byte 5 of it. */
static inline void damage_row(struct damage *damage, const char *field, uint64_t value, bool sum)
{
	char section[32];
	unsigned row, width;
	uint64_t bytes;
	uint8_t *ref, *data;

	if (sscanf(field, "%31[^[][%u]", section, &row) != 2)
		fail_msg("no field '%s'", field);
	ref = damage->super + SUPER_SECTION(section_number(section));
	bytes = le_get64(ref + 8);
	width = le_get32(ref + 32) ? le_get32(ref + 32) : 1;
	if ((row + 1) * width > bytes)
		fail_msg("'%s' lies beyond the section", field);
	data = malloc(bytes);
	assert_non_null(data);
	assert_done(io_pread_full(damage->fd, data, bytes, le_get64(ref)));
	put_le(data + row * width, width, value);
	if (sum)
		le_put64(ref + 24, XXH3_64bits(data, bytes));
	assert_done(io_pwrite_full(damage->fd, data, bytes, le_get64(ref)));
	free(data);
}

static inline void damage_any(struct fixture *f, const char *field, uint64_t value, bool sum)
{
	struct damage damage;

	damage_begin(f, &damage);
	if (strncmp(field, "super.", 6) == 0)
		damage_super(&damage, field + 6, value);
	else
		damage_row(&damage, field, value, sum);
	damage_end(&damage, sum);
}

/* Overwrites one field, and makes the checksums above it right again: what is found then is
 * found by its meaning. */
static inline void damage(struct fixture *f, const char *field, uint64_t value)
{
	damage_any(f, field, value, true);
}

/* The same, as a bad disk would do it. */
static inline void damage_unsummed(struct fixture *f, const char *field, uint64_t value)
{
	damage_any(f, field, value, false);
}

static inline void expect_refused(struct fixture *f, int code, const char *sentence)
{
	struct dataset *dataset = NULL;
	int r;

	f->err.text[0] = '\0';
	r = dataset_open(f->path, &dataset, &f->err);
	dataset_free(dataset);
	assert_string_equal(r == 0 ? "opened" : err_text(&f->err, r), sentence);
	assert_int_equal(r, code);
}

struct damaged {
	const char *field;
	uint64_t value;
	int code;
	const char *sentence;
};

/* A tree of its own for each. */
static inline void expect_all_refused(struct fixture *f, void (*build)(struct fixture *),
				      const struct damaged *cases, size_t count)
{
	for (const struct damaged *c = cases; c < cases + count; c++) {
		struct dataset *dataset = NULL;
		int r;

		build(f);
		damage(f, c->field, c->value);
		r = dataset_open(f->path, &dataset, &f->err);
		dataset_free(dataset);
		if (r != c->code || strcmp(f->err.text, c->sentence) != 0)
			fail_msg("%s = %llu gave %d \"%s\", not %d \"%s\"", c->field,
				 (unsigned long long)c->value, r, f->err.text, c->code,
				 c->sentence);
	}
}
