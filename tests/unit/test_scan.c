/* The tree that will be packed, and its order: pack/tool/import/scan.h. */
#include "base/date.h"
#include "base/scope.h"
#include "pack/tool/import/scan.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* --- a tree of its own for each test ------------------------------------------------------ */

struct fixture {
	char path[64];
	int root;
	struct builder *builder;
	struct scan_counts counts;
	struct buf said;      /* what the watch was told, a line each */
	int stop_at;	      /* tick: the call that ends the scan; 0: none */
	bool fail;	      /* bad() ends the scan */
	unsigned jobs;	      /* threads; 0: one */
	const char *unwanted; /* a path; NULL: all are wanted */
};

static void set_up(struct fixture *f)
{
	scratch_make(f->path);
	f->root = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root >= 0);
}

static void tear_down(struct fixture *f)
{
	close(f->root);
	builder_free(f->builder);
	buf_release(&f->said);
	scratch_remove(f->path);
}

static void make_directory(struct fixture *f, const char *path)
{
	assert_int_equal(mkdirat(f->root, path, 0755), 0);
}

static void make_file(struct fixture *f, const char *path, size_t size)
{
	SCOPE_CLOSE int fd = openat(f->root, path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
}

static int note_bad(void *context, const char *path, const char *reason)
{
	struct fixture *f = context;

	assert_int_equal(buf_addf(&f->said, "%s: %s\n", path, reason), 0);
	return f->fail ? -EACCES : 0;
}

static void note_special(void *context, const char *path, const char *what)
{
	struct fixture *f = context;

	assert_int_equal(buf_addf(&f->said, "%s: %s\n", path, what), 0);
}

static int note_tick(void *context, uint64_t entries)
{
	struct fixture *f = context;

	(void)entries;
	return f->stop_at && --f->stop_at == 0 ? -EINTR : 0;
}

static int scan(struct fixture *f)
{
	const struct import_watch watch = {
		.bad = note_bad, .special = note_special, .tick = note_tick, .context = f};
	const struct filter filter = {.exclude = {.items = {f->unwanted}, .count = 1}};
	struct scan_params params = {.root = f->root,
				     .jobs = f->jobs ? f->jobs : 1,
				     .filter = f->unwanted ? &filter : NULL,
				     .watch = &watch};

	builder_free(f->builder);
	assert_int_equal(builder_new_entries(&f->builder), 0);
	params.builder = f->builder;
	return scan_add(&params, &f->counts, NULL);
}

static struct builder_entry entry_of(struct fixture *f, uint32_t id)
{
	return builder_entry(f->builder, id);
}

/* All paths in the scan's order, a line each. */
static void expect_paths(struct fixture *f, const char *expected)
{
	SCOPE(buf_release) struct buf paths = BUF_INIT, path = BUF_INIT;

	for (uint32_t id = 1; id < f->counts.entries; id++) {
		assert_int_equal(builder_path(f->builder, id, &path), 0);
		assert_int_equal(buf_addf(&paths, "%s\n", path.data), 0);
	}
	assert_int_equal(buf_adds(&paths, ""), 0);
	assert_string_equal(paths.data, expected);
}

static uint32_t find(struct fixture *f, const char *name)
{
	char found[FORMAT_NAME_MAX + 1];

	for (uint32_t id = 1; id < f->counts.entries; id++) {
		builder_name(f->builder, id, found);
		if (strcmp(found, name) == 0)
			return id;
	}
	fail_msg("no entry '%s'", name);
	return 0;
}

FIXTURE(f, struct fixture, set_up, tear_down);

/* --- tests -------------------------------------------------------------------------------- */

TEST_OF(f, an_empty_folder_is_its_root_alone)
{
	assert_int_equal(scan(f), 0);
	assert_int_equal(f->counts.entries, 1);
	assert_int_equal(builder_kind(f->builder, BUILDER_ROOT), FORMAT_DIRECTORY);
	assert_int_equal(f->counts.files, 0);
}

TEST_OF(f, entries_come_in_the_order_of_their_keys)
{
	make_directory(f, "a");
	make_file(f, "a/z", 1);
	make_file(f, "a-b", 1);
	make_file(f, "a0", 1);
	make_directory(f, "ab");
	make_file(f, "ab/c", 1);
	make_file(f, "a.txt", 1);
	make_file(f, "\xff", 1);
	make_file(f, "B", 1);
	make_file(f, ".hidden", 1);
	assert_int_equal(scan(f), 0);
	expect_paths(f, ".hidden\nB\na-b\na.txt\na\na/z\na0\nab\nab/c\n\xff\n");
}

TEST_OF(f, the_order_does_not_depend_on_the_order_of_creation)
{
	SCOPE(buf_release) struct buf expected = BUF_INIT;
	char name[16];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%03u", i * 387 % 1000);
		make_file(f, name, 0);
		assert_int_equal(buf_addf(&expected, "%03u\n", i), 0);
	}
	assert_int_equal(scan(f), 0);
	expect_paths(f, expected.data);
}

TEST_OF(f, sizes_modes_and_times_are_kept)
{
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = -86400, .tv_nsec = 999999999}};
	struct builder_entry entry;

	make_file(f, "x", 4711);
	make_file(f, "y", 1);
	assert_int_equal(fchmodat(f->root, "x", 01640, 0), 0);
	assert_int_equal(utimensat(f->root, "x", times, 0), 0);
	assert_int_equal(scan(f), 0);
	entry = entry_of(f, find(f, "x"));
	assert_int_equal(entry.size, 4711);
	assert_int_equal(entry.mode, 01640);
	assert_int_equal(date_of(entry.mtime), -86400 * INT64_C(1000000000) + 999999999);
	assert_int_equal(f->counts.files, 2);
	assert_int_equal(f->counts.bytes, 4712);
}

TEST_OF(f, links_are_noted_and_not_followed)
{
	struct builder_entry entry;

	make_directory(f, "d");
	make_file(f, "d/x", 1);
	assert_int_equal(symlinkat("d", f->root, "inside"), 0);
	assert_int_equal(symlinkat("/", f->root, "outside"), 0);
	assert_int_equal(symlinkat("nowhere", f->root, "broken"), 0);
	assert_int_equal(scan(f), 0);
	expect_paths(f, "broken\nd\nd/x\ninside\noutside\n");
	assert_int_equal(builder_kind(f->builder, find(f, "inside")), FORMAT_SYMLINK);
	entry = entry_of(f, find(f, "broken"));
	assert_int_equal(entry.target_len, 7);
	assert_memory_equal(entry.target, "nowhere", 7);
}

TEST_OF(f, a_second_name_is_a_hard_link_to_the_first_in_order)
{
	struct builder_entry entry;

	make_directory(f, "d");
	make_file(f, "z", 5);
	assert_int_equal(linkat(f->root, "z", f->root, "d/y", 0), 0);
	assert_int_equal(linkat(f->root, "z", f->root, "e", 0), 0);
	assert_int_equal(scan(f), 0);
	expect_paths(f, "d\nd/y\ne\nz\n");
	assert_int_equal(builder_kind(f->builder, find(f, "y")), FORMAT_FILE);
	for (size_t i = 0; i < 2; i++) {
		entry = entry_of(f, find(f, i ? "z" : "e"));
		assert_int_equal(entry.kind, FORMAT_HARDLINK);
		assert_int_equal(entry.link_to, find(f, "y"));
	}
	assert_int_equal(f->counts.files, 1);
	assert_int_equal(f->counts.bytes, 5);
}

TEST_OF(f, a_file_with_another_name_outside_is_just_a_file)
{
	struct fixture other = {0};

	set_up(&other);
	make_file(f, "x", 5);
	assert_int_equal(linkat(f->root, "x", other.root, "x", 0), 0);
	assert_int_equal(scan(f), 0);
	assert_int_equal(builder_kind(f->builder, find(f, "x")), FORMAT_FILE);
	tear_down(&other);
}

/* More than the table of inodes starts with, so that it grows. */
TEST_OF(f, a_thousand_hard_links_all_find_their_file)
{
	char first[16], second[16];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(first, sizeof(first), "a%03u", i);
		snprintf(second, sizeof(second), "b%03u", i);
		make_file(f, first, 1);
		assert_int_equal(linkat(f->root, first, f->root, second, 0), 0);
	}
	assert_int_equal(scan(f), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(builder_kind(f->builder, 1 + i), FORMAT_FILE);
		assert_int_equal(builder_kind(f->builder, 1001 + i), FORMAT_HARDLINK);
		assert_int_equal(builder_file(f->builder, 1001 + i), 1 + i);
	}
}

TEST_OF(f, pipes_and_sockets_are_told_and_left_out)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	SCOPE_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	make_directory(f, "d");
	assert_int_equal(mkfifoat(f->root, "d/pipe", 0644), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", f->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(scan(f), 0);
	expect_paths(f, "d\n");
	assert_non_null(strstr(f->said.data, "d/pipe: a named pipe\n"));
	assert_non_null(strstr(f->said.data, "socket: a socket\n"));
}

TEST_OF(f, paths_may_be_longer_than_the_kernel_takes)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char name[201];
	int fd = dup(f->root), below;

	memset(name, 'n', 200);
	name[200] = '\0';
	for (unsigned i = 0; i < 30; i++) {
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		close(fd);
		fd = below;
	}
	assert_int_equal(scan(f), 0);
	assert_int_equal(f->counts.entries, 31);
	assert_int_equal(builder_path(f->builder, 30, &path), 0);
	assert_int_equal(path.len, 30 * 201 - 1);
	/* Too long for nftw(), too: taken away from below. */
	for (unsigned i = 0; i < 30; i++) {
		below = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(unlinkat(below, name, AT_REMOVEDIR), 0);
		close(fd);
		fd = below;
	}
	close(fd);
}

TEST_OF(f, a_scan_that_is_told_to_stop_does)
{
	make_directory(f, "a");
	make_directory(f, "b");
	f->stop_at = 2;
	assert_int_equal(scan(f), -EINTR);
}

/* Root may read everything: as somebody else. */
TEST_OF(f, a_directory_that_cannot_be_read_stays_empty_or_ends_the_scan)
{
	assert_int_equal(fchmod(f->root, 0755), 0);
	make_directory(f, "d");
	make_file(f, "d/x", 1);
	make_file(f, "e", 1);
	assert_int_equal(fchmodat(f->root, "d", 0, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(scan(f), 0);
	expect_paths(f, "d\ne\n");
	assert_string_equal(f->said.data, "d: Permission denied\n");
	f->fail = true;
	assert_int_equal(scan(f), -EACCES);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(fchmodat(f->root, "d", 0755, 0), 0);
}

TEST_OF(f, what_is_not_wanted_is_no_entry)
{
	make_directory(f, "d");
	make_file(f, "d/x", 1);
	make_file(f, "e", 1);
	f->unwanted = "d/x";
	assert_int_equal(scan(f), 0);
	expect_paths(f, "e\n");
}

/* Its inode may be far away from those that are wanted. In a directory that may be listed, but
 * not searched, a look would fail. */
TEST_OF(f, what_is_not_wanted_is_not_looked_at)
{
	assert_int_equal(fchmod(f->root, 0755), 0);
	make_directory(f, "d");
	make_file(f, "d/x", 1);
	assert_int_equal(fchmodat(f->root, "d", 0744, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	f->unwanted = "d/x";
	assert_int_equal(scan(f), 0);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_null(f->said.data);
	assert_int_equal(f->counts.entries, 1);
}

static void make_all_kinds(struct fixture *f, const char *directory)
{
	char name[32], other[32];

	make_directory(f, directory);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%s/f%02u", directory, i * 37 % 100);
		snprintf(other, sizeof(other), "%s/h%02u", directory, i);
		make_file(f, name, i);
		assert_int_equal(linkat(f->root, name, f->root, other, 0), 0);
		snprintf(other, sizeof(other), "%s/s%02u", directory, i);
		assert_int_equal(symlinkat(name, f->root, other), 0);
		snprintf(other, sizeof(other), "%s/p%02u", directory, i);
		assert_int_equal(mkfifoat(f->root, other, 0644), 0);
	}
}

static void expect_same(struct fixture *f, const struct builder *other)
{
	char name_a[FORMAT_NAME_MAX + 1], name_b[FORMAT_NAME_MAX + 1];

	for (uint32_t i = 1; i < f->counts.entries; i++) {
		struct builder_entry a = entry_of(f, i), b;

		b = builder_entry(other, i);
		builder_name(f->builder, i, name_a);
		builder_name(other, i, name_b);
		assert_string_equal(name_a, name_b);
		assert_int_equal(a.target_len, b.target_len);
		assert_memory_equal(a.target ? a.target : "", b.target ? b.target : "",
				    a.target_len);
		assert_int_equal(a.link_to, b.link_to);
		assert_int_equal(a.size, b.size);
		assert_int_equal(date_of(a.mtime), date_of(b.mtime));
		assert_int_equal(a.parent, b.parent);
		assert_int_equal(a.mode, b.mode);
		assert_int_equal(a.kind, b.kind);
	}
}

/* What is found, and what is said of it. */
TEST_OF(f, many_threads_find_what_one_does)
{
	struct builder *alone;
	SCOPE(buf_release) struct buf said = BUF_INIT;

	make_all_kinds(f, "a");
	make_all_kinds(f, "b");
	assert_int_equal(scan(f), 0);
	assert_int_equal(f->counts.entries, 1 + 2 * 301);
	assert_int_equal(f->counts.files, 200);
	alone = steal_ptr(&f->builder);
	said = f->said;
	f->said = BUF_INIT;
	f->jobs = 8;
	assert_int_equal(scan(f), 0);
	assert_int_equal(f->counts.entries, 1 + 2 * 301);
	expect_same(f, alone);
	assert_string_equal(said.data, f->said.data);
	builder_free(alone);
}

TEST_OF(f, bad_names_are_told_in_order)
{
	assert_int_equal(mkfifoat(f->root, "c", 0644), 0);
	assert_int_equal(mkfifoat(f->root, "a", 0644), 0);
	assert_int_equal(mkfifoat(f->root, "b", 0644), 0);
	f->jobs = 8;
	assert_int_equal(scan(f), 0);
	assert_string_equal(f->said.data, "a: a named pipe\nb: a named pipe\nc: a named pipe\n");
}
