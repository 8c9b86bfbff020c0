/* What an adapter of pack/foreign makes of bytes that a test has made, as lines:
 *
 *	file a/b.jpg: its bytes
 *	name 1 a/c.jpg: its bytes		another name of the same file
 *	pixels 0001/00000003.ppm: its bytes
 *	folder a 711
 *	link a/l -> b
 *	note left out: 2 sparse files
 */
#pragma once

#include "base/buf.h"
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/format.h"
#include "pack/foreign/tree_internal.h"
#include "tests/unit/test.h"
#include <string.h>
#include <sys/mman.h>

#define assert_done(r) assert_int_equal(r, 0)

struct scan {
	struct buf bytes; /* of the container */
	struct buf seen;
	struct foreign_settings settings;
	const struct foreign_format *format;
	struct err err;
};

static inline void scan_release(struct scan *scan)
{
	buf_release(&scan->bytes);
	buf_release(&scan->seen);
}

static inline void scan_show(struct scan *scan, const struct foreign_tree *tree, size_t i)
{
	const struct tree_row *row = &tree_rows(tree)[i];
	const char *path = tree->paths.data + row->path;
	int len = (int)row->path_len, r;

	/* Folders without a member of their own are as they would be without a row. */
	if (row->dropped || (row->kind == FORMAT_DIRECTORY && !row->has_mode))
		return;
	if (row->kind == FORMAT_DIRECTORY)
		r = buf_addf(&scan->seen, "folder %.*s %o\n", len, path, row->mode);
	else if (row->kind == FORMAT_SYMLINK)
		r = buf_addf(&scan->seen, "link %.*s -> %.*s\n", len, path, (int)row->size,
			     tree->targets.data + row->offset);
	else if (row->volume == TREE_MADE)
		r = buf_addf(&scan->seen, "pixels %.*s of %u bytes\n", len, path,
			     (unsigned)row->size);
	else if (row->links && !row->first_name)
		r = buf_addf(&scan->seen, "name %u %.*s: %.*s\n", row->links, len, path,
			     (int)row->size, scan->bytes.data + row->offset);
	else
		r = buf_addf(&scan->seen, "file %.*s: %.*s\n", len, path, (int)row->size,
			     scan->bytes.data + row->offset);
	assert_done(r);
}

static inline void scan_show_notes(struct scan *scan, const struct foreign_tree *tree)
{
	const char *note = tree->notes.data, *end = note + tree->notes.len;

	for (; note < end; note += strlen(note) + 1)
		assert_done(buf_addf(&scan->seen, "note %s\n", note));
}

/* Scans the first `len` bytes: 0 with the lines in `seen`, -ENOMSG where the probe says no, or what
 * the scan gave. The reader's memory ends where the file does. */
static inline int scan_first(struct scan *scan, size_t len)
{
	SCOPE_CLOSE int fd = memfd_create("foreign", MFD_CLOEXEC);
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(foreign_source_release) struct foreign_source source = {0};
	SCOPE(foreign_tree_release) struct foreign_tree tree = {0};
	int r;

	scan->seen.len = 0;
	scan->err.text[0] = '\0';
	assert_done(buf_adds(&scan->seen, ""));
	assert_true(fd >= 0);
	assert_done(io_pwrite_full(fd, scan->bytes.data, len, 0));
	assert_done(reader_file_borrow(fd, &reader));
	assert_done(foreign_source_init(&source, reader, "x", false, &scan->settings, &scan->err));
	assert_done(foreign_tree_init(&tree, &source, &scan->err));
	r = scan->format->probe(&source);
	if (r <= 0)
		return r < 0 ? r : -ENOMSG;
	r = scan->format->scan(&source, &tree, &scan->err);
	for (size_t i = 0; r == 0 && i < tree_count(&tree); i++)
		scan_show(scan, &tree, i);
	if (r == 0)
		scan_show_notes(scan, &tree);
	return r;
}

static inline void scan_expect(struct scan *scan, const char *lines)
{
	int r = scan_first(scan, scan->bytes.len);

	if (r < 0)
		fail_msg("%s", err_text(&scan->err, r));
	assert_string_equal(scan->seen.data, lines);
}

static inline void scan_expect_failure(struct scan *scan, int code, const char *sentence)
{
	int r = scan_first(scan, scan->bytes.len);

	assert_string_equal(r == 0 ? "read to its end" : err_text(&scan->err, r), sentence);
	assert_int_equal(r, code);
}

/* However much is missing, it is said. */
static inline void scan_expect_no_beginning(struct scan *scan, size_t from)
{
	for (size_t len = from; len < scan->bytes.len; len++) {
		int r = scan_first(scan, len);

		if (r != -EBADMSG && r != -ENOMSG)
			fail_msg("%zu of %zu bytes: %d", len, scan->bytes.len, r);
	}
}

/* Each byte is changed in some ways: whatever comes of it, it comes to an end, and says why. */
static inline void scan_maul(struct scan *scan)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};

	for (size_t i = 0; i < scan->bytes.len * sizeof(flips); i++) {
		char *byte = &scan->bytes.data[i / sizeof(flips)], before = *byte;
		int r;

		*byte ^= (char)flips[i % sizeof(flips)];
		r = scan_first(scan, scan->bytes.len);
		assert_true(r == 0 || r == -ENOMSG || scan->err.text[0]);
		*byte = before;
	}
}
