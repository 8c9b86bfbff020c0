/* What the tests of foreign formats share: a file of given bytes, or an LMDB of given records, as
 * the adapters see it, and the tree that a scan makes of it. */
#pragma once

#include "base/io.h"
#include "base/le.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/format.h"
#include "pack/foreign/tree_internal.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define assert_done(r) assert_int_equal(r, 0)

struct foreign_fixture {
	char dir[64];
	char path[160]; /* of the file, within dir */
	struct foreign_settings settings;
	struct reader *reader;
	struct foreign_source source;
	struct foreign_tree tree;
	struct err err;
	char line[512];
};

static inline int fixture_open(void *context, const char *name, unsigned how, struct reader **ret,
			       struct err *err)
{
	(void)context;
	(void)how;
	(void)err;
	return reader_file_open(name, ret);
}

static inline void fixture_setup(struct foreign_fixture *f)
{
	scratch_make(f->dir);
	f->settings.open = fixture_open;
}

static inline void fixture_close(struct foreign_fixture *f)
{
	if (!f->reader)
		return;
	foreign_tree_release(&f->tree);
	foreign_source_release(&f->source);
	reader_free(f->reader);
	f->reader = NULL;
}

static inline void fixture_teardown(struct foreign_fixture *f)
{
	fixture_close(f);
	scratch_remove(f->dir);
}

FIXTURE(f, struct foreign_fixture, fixture_setup, fixture_teardown);

static inline void fixture_write(struct foreign_fixture *f, const char *name, const void *bytes,
				 size_t len)
{
	SCOPE_CLOSE int fd = -1;
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_done(io_pwrite_full(fd, bytes, len, 0));
}

static inline void fixture_say(struct foreign_fixture *f, const char *name, const char *text)
{
	fixture_write(f, name, text, strlen(text));
}

/* Opens a file of the folder, as foreign_open() does. */
static inline void fixture_look(struct foreign_fixture *f, const char *name)
{
	fixture_close(f);
	f->err = (struct err){{0}};
	snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
	assert_done(reader_file_open(f->path, &f->reader));
	assert_done(
		foreign_source_init(&f->source, f->reader, f->path, false, &f->settings, &f->err));
	assert_done(foreign_tree_init(&f->tree, &f->source, &f->err));
}

static inline int fixture_scan(struct foreign_fixture *f, const struct foreign_format *format,
			       const char *name)
{
	int r;

	fixture_look(f, name);
	r = format->scan(&f->source, &f->tree, &f->err);
	assert_true(r == 0 || f->err.text[0]);
	return r;
}

static inline int fixture_scan_bytes(struct foreign_fixture *f, const struct foreign_format *format,
				     const void *bytes, size_t len)
{
	fixture_write(f, "bytes", bytes, len);
	return fixture_scan(f, format, "bytes");
}

static inline int fixture_probe(struct foreign_fixture *f, const struct foreign_format *format,
				const char *name)
{
	fixture_look(f, name);
	return format->probe(&f->source);
}

/* The path, and the bytes, of a file of the tree: "a/b.jpg BYTES". */
static inline const char *fixture_file(struct foreign_fixture *f, size_t i)
{
	const struct tree_row *row = &tree_rows(&f->tree)[i];
	const char *path = f->tree.paths.data + row->path;
	char bytes[200] = "";

	assert_true(i < tree_count(&f->tree) && row->size < sizeof(bytes));
	if (row->volume == TREE_SOURCE)
		assert_int_equal(reader_get(f->reader, bytes, row->size, (uint64_t)row->offset),
				 row->size);
	else if (row->volume == TREE_TEXT)
		memcpy(bytes, f->tree.text.data + row->offset, row->size);
	snprintf(f->line, sizeof(f->line), "%.*s %s", (int)row->path_len, path, bytes);
	return f->line;
}

static inline const char *fixture_note(struct foreign_fixture *f, size_t i)
{
	const char *note = f->tree.notes.data;

	for (; i > 0; i--)
		note += strlen(note) + 1;
	assert_true(note < f->tree.notes.data + f->tree.notes.len);
	return note;
}

struct fixture_record {
	const char *key;
	const void *value;
	size_t len; /* 0: that of a text */
};

/* An LMDB of these records, ended by one without a key; `flags` as for mdb_env_open(). */
static inline void fixture_lmdb(struct foreign_fixture *f, const char *name, unsigned flags,
				const struct fixture_record *records)
{
	char path[160];
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	if (!(flags & MDB_NOSUBDIR))
		assert_done(mkdir(path, 0700));
	assert_done(mdb_env_create(&env));
	assert_done(mdb_env_open(env, path, flags | MDB_NOSYNC | MDB_NOLOCK, 0600));
	assert_done(mdb_txn_begin(env, NULL, 0, &txn));
	assert_done(mdb_dbi_open(txn, NULL, 0, &dbi));
	for (; records->key; records++) {
		MDB_val key = {strlen(records->key), (void *)(uintptr_t)records->key};
		size_t len = records->len ? records->len : strlen(records->value);
		MDB_val value = {len, (void *)(uintptr_t)records->value};

		assert_done(mdb_put(txn, dbi, &key, &value, 0));
	}
	assert_done(mdb_txn_commit(txn));
	mdb_env_close(env);
}

/* Scans the bytes cut off anywhere, and with each byte changed in some ways: whatever comes of it,
 * it comes to an end, and says what is wrong. */
static inline void fixture_maul(struct foreign_fixture *f, const struct foreign_format *format,
				const uint8_t *bytes, size_t len)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};
	SCOPE_FREE uint8_t *copy = malloc(len);

	assert_non_null(copy);
	for (size_t i = 1; i < len; i++)
		fixture_scan_bytes(f, format, bytes, i);
	for (size_t i = 0; i < len * sizeof(flips); i++) {
		memcpy(copy, bytes, len);
		copy[i / sizeof(flips)] ^= flips[i % sizeof(flips)];
		fixture_scan_bytes(f, format, copy, len);
	}
}
