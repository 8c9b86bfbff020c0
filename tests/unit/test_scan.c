/* The tree that will be packed, and its order: pack/scan.h.
 *
 * A tree is made of words, in their order: "d/" a folder, "d/x" an empty file, "x=5" one of five
 * bytes, "x->y" a symbolic link to y, "x==y" another name of y, "x|" a named pipe. */
#include "base/date.h"
#include "base/scope.h"
#include "pack/tool/import/order.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define assert_done(r) assert_int_equal(r, 0)

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

FIXTURE(f, struct fixture, set_up, tear_down);

static void make_one(struct fixture *f, char *word)
{
	char *link = strstr(word, "->"), *other = strstr(word, "=="), *size = strchr(word, '=');
	size_t len = strlen(word);
	int fd;

	if (link) {
		*link = '\0';
		assert_done(symlinkat(link + 2, f->root, word));
	} else if (other) {
		*other = '\0';
		assert_done(linkat(f->root, other + 2, f->root, word, 0));
	} else if (word[len - 1] == '|') {
		word[len - 1] = '\0';
		assert_done(mkfifoat(f->root, word, 0644));
	} else if (word[len - 1] == '/') {
		assert_done(mkdirat(f->root, word, 0755));
	} else {
		if (size)
			*size = '\0';
		fd = openat(f->root, word, O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(fd >= 0);
		assert_done(ftruncate(fd, size ? atol(size + 1) : 0));
		close(fd);
	}
}

__attribute__((format(printf, 2, 3))) static void make(struct fixture *f, const char *format, ...)
{
	char words[512], *rest = words, *word;
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	while ((word = strsep(&rest, " ")))
		make_one(f, word);
}

static int note_bad(void *context, const char *path, const char *reason)
{
	struct fixture *f = context;

	assert_done(buf_addf(&f->said, "%s: %s\n", path, reason));
	return f->fail ? -EACCES : 0;
}

static void note_special(void *context, const char *path, const char *what)
{
	note_bad(context, path, what);
}

static int note_tick(void *context, uint64_t entries)
{
	struct fixture *f = context;

	(void)entries;
	return f->stop_at && --f->stop_at == 0 ? -EINTR : 0;
}

static int scan(struct fixture *f)
{
	const struct scan_watch watch = {
		.bad = note_bad, .special = note_special, .tick = note_tick, .context = f};
	struct filter filter = {.exclude = {.items = {f->unwanted}, .count = 1}};
	const struct scan_params params = {.root = f->root,
					   .jobs = f->jobs ? f->jobs : 1,
					   .filter = f->unwanted ? &filter : NULL,
					   .watch = &watch};
	SCOPE_FREE uint32_t *files = NULL;

	builder_free(f->builder);
	assert_done(builder_new_entries(&f->builder));
	return order_scan(&params, &(struct order){.kind = ORDER_PATH}, f->builder, &f->counts,
			  &files, NULL);
}

/* As somebody who is not root, who may read everything. */
static int scan_as_other(struct fixture *f)
{
	int r;

	if (getuid() == 0)
		assert_done(seteuid(65534));
	r = scan(f);
	if (getuid() == 0)
		assert_done(seteuid(0));
	return r;
}

/* All paths in the scan's order, a line each, with what the entries are: "z 5 bytes", "d/". */
static void tell(struct fixture *f, struct buf *ret)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, first = BUF_INIT;

	for (uint32_t id = 1; id < f->counts.entries; id++) {
		struct pack_entry e = builder_entry(f->builder, id);

		assert_done(builder_path(f->builder, id, &path));
		buf_adds(ret, path.data);
		if (e.kind == FORMAT_DIRECTORY)
			buf_adds(ret, "/");
		if (e.kind == FORMAT_FILE && e.size)
			buf_addf(ret, "=%lu", e.size);
		if (e.kind == FORMAT_SYMLINK)
			buf_addf(ret, "->%.*s", (int)e.target_len, e.target);
		if (e.kind == FORMAT_HARDLINK) {
			assert_done(builder_path(f->builder, e.link_to, &first));
			buf_addf(ret, "==%s", first.data);
		}
		buf_adds(ret, " ");
	}
	assert_done(buf_adds(ret, ""));
}

static void expect(struct fixture *f, const char *expected)
{
	SCOPE(buf_release) struct buf told = BUF_INIT;

	assert_done(scan(f));
	tell(f, &told);
	assert_string_equal(told.data, expected);
}

/* --- tests -------------------------------------------------------------------------------- */

TEST_OF(f, an_empty_folder_is_its_root_alone)
{
	expect(f, "");
	assert_int_equal(f->counts.entries, 1);
	assert_int_equal(builder_kind(f->builder, PACK_ROOT), FORMAT_DIRECTORY);
	assert_int_equal(f->counts.files, 0);
}

TEST_OF(f, entries_come_in_the_order_of_their_keys)
{
	make(f, "a/ a/z a-b a0 ab/ ab/c a.txt \xff B .hidden");
	expect(f, ".hidden B a-b a.txt a/ a/z a0 ab/ ab/c \xff ");
}

TEST_OF(f, a_second_name_is_a_hard_link_to_the_first_in_order)
{
	make(f, "d/ z=5 d/y==z e==z");
	expect(f, "d/ d/y=5 e==d/y z==d/y ");
	assert_int_equal(f->counts.files, 1);
	assert_int_equal(f->counts.bytes, 5);
}

TEST_OF(f, a_file_with_another_name_outside_is_just_a_file)
{
	struct fixture other = {0};

	set_up(&other);
	make(f, "x=5");
	assert_done(linkat(f->root, "x", other.root, "x", 0));
	expect(f, "x=5 ");
	tear_down(&other);
}

/* More than the table of inodes starts with, so that it grows. */
TEST_OF(f, a_thousand_hard_links_all_find_their_file)
{
	for (unsigned i = 0; i < 1000; i++)
		make(f, "a%03u b%03u==a%03u", i, i, i);
	assert_done(scan(f));
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(builder_kind(f->builder, 1 + i), FORMAT_FILE);
		assert_int_equal(builder_kind(f->builder, 1001 + i), FORMAT_HARDLINK);
		assert_int_equal(builder_file(f->builder, 1001 + i), 1 + i);
	}
}

TEST_OF(f, pipes_and_sockets_are_told_in_order_and_left_out)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	SCOPE_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	make(f, "d/ d/pipe| c| a| b|");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", f->path);
	assert_done(bind(fd, (struct sockaddr *)&address, sizeof(address)));
	f->jobs = 8;
	expect(f, "d/ ");
	assert_string_equal(f->said.data,
			    "a: a named pipe\nb: a named pipe\nc: a named pipe\n"
			    "d/pipe: a named pipe\nsocket: a socket\n");
}

TEST_OF(f, paths_may_be_longer_than_the_kernel_takes)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char name[201];
	int fd = dup(f->root), below;

	memset(name, 'n', 200);
	name[200] = '\0';
	for (unsigned i = 0; i < 30; i++) {
		assert_done(mkdirat(fd, name, 0755));
		below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		close(fd);
		fd = below;
	}
	assert_done(scan(f));
	assert_int_equal(f->counts.entries, 31);
	assert_done(builder_path(f->builder, 30, &path));
	assert_int_equal(path.len, 30 * 201 - 1);
	/* Too long for nftw(), too: taken away from below. */
	for (unsigned i = 0; i < 30; i++) {
		below = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_done(unlinkat(below, name, AT_REMOVEDIR));
		close(fd);
		fd = below;
	}
	close(fd);
}

TEST_OF(f, a_scan_that_is_told_to_stop_does)
{
	make(f, "a/ b/");
	f->stop_at = 2;
	assert_int_equal(scan(f), -EINTR);
}

TEST_OF(f, a_directory_that_cannot_be_read_stays_empty_or_ends_the_scan)
{
	SCOPE(buf_release) struct buf told = BUF_INIT;

	make(f, "d/ d/x e");
	assert_done(fchmod(f->root, 0755));
	assert_done(fchmodat(f->root, "d", 0, 0));
	assert_done(scan_as_other(f));
	tell(f, &told);
	assert_string_equal(told.data, "d/ e ");
	assert_string_equal(f->said.data, "d: Permission denied\n");
	f->fail = true;
	assert_int_equal(scan_as_other(f), -EACCES);
	assert_done(fchmodat(f->root, "d", 0755, 0));
}

/* Its inode may be far away from those that are wanted. In a directory that may be listed, but
 * not searched, a look would fail. */
TEST_OF(f, what_is_not_wanted_is_not_looked_at)
{
	make(f, "d/ d/x");
	assert_done(fchmod(f->root, 0755));
	assert_done(fchmodat(f->root, "d", 0744, 0));
	f->unwanted = "d/x";
	assert_done(scan_as_other(f));
	assert_null(f->said.data);
	assert_int_equal(f->counts.entries, 1);
}

/* What is found, and what is said of it. */
TEST_OF(f, many_threads_find_what_one_does)
{
	SCOPE(buf_release) struct buf alone = BUF_INIT, said = BUF_INIT;
	struct builder *first;

	for (char d = 'a'; d <= 'b'; d++) {
		make(f, "%c/", d);
		for (unsigned i = 0; i < 100; i++) {
			unsigned n = i * 37 % 100;

			make(f, "%c/f%02u=%u %c/h%02u==%c/f%02u %c/s%02u->%u %c/p%02u|", d, n, i, d,
			     i, d, n, d, i, n, d, i);
		}
	}
	assert_done(scan(f));
	assert_int_equal(f->counts.entries, 1 + 2 * 301);
	assert_int_equal(f->counts.files, 200);
	tell(f, &alone);
	said = f->said;
	f->said = BUF_INIT;
	f->jobs = 8;
	first = steal_ptr(&f->builder);
	expect(f, alone.data);
	for (uint32_t id = 1; id < f->counts.entries; id++) {
		struct pack_entry a = builder_entry(first, id), b;

		b = builder_entry(f->builder, id);
		assert_int_equal(date_of(a.mtime), date_of(b.mtime));
		assert_int_equal(a.mode, b.mode);
	}
	builder_free(first);
	assert_string_equal(said.data, f->said.data);
}
