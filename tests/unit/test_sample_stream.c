/* Samples of WebDataset in tars that are read as streams: what becomes of them, cut off or not. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/foreign/foreign.h"
#include "pack/tool/export/ustar.h"
#include "pack/tool/import/tar_set.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct fixture {
	struct buf tar, seen;
	struct err err;
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	buf_release(&f->tar);
	buf_release(&f->seen);
	free(f);
	return 0;
}

static void add_member(struct fixture *f, const char *name, const char *text)
{
	const struct ustar_member member = {
		.name = name, .name_len = strlen(name), .size = strlen(text), .mode = 0640};

	assert_int_equal(ustar_header(&member, &f->tar), 0);
	assert_int_equal(buf_add(&f->tar, text, strlen(text)), 0);
	assert_int_equal(ustar_pad(member.size, &f->tar), 0);
}

static void add_end(struct fixture *f)
{
	static const char end[2 * USTAR_BLOCK];

	assert_int_equal(buf_add(&f->tar, end, sizeof(end)), 0);
}

static int see_entry(struct fixture *f, struct tar_set *set, const struct tar_entry *entry)
{
	char text[100] = "";
	size_t len = entry->size < sizeof(text) ? entry->size : sizeof(text) - 1;
	int r = entry->kind == TAR_FILE ? tar_set_read(set, text, len, &f->err) : 0;

	return r < 0 ? r : buf_addf(&f->seen, "%s=%s\n", entry->path, text);
}

/* The first `len` bytes of the tar: 1 at its end, or the failure. */
static int read_set(struct fixture *f, size_t len, int layout)
{
	const struct foreign_settings settings = {.layout = layout};
	SCOPE_CLOSE int fd = memfd_create("tar", MFD_CLOEXEC);
	const struct tar_set_params params = {.fd = fd, .shown = "x.tar", .foreign = &settings};
	struct tar_set *set = NULL;
	struct tar_entry entry;
	int r;

	f->err.text[0] = '\0';
	f->seen.len = 0;
	assert_int_equal(buf_adds(&f->seen, ""), 0);
	assert_int_equal(io_pwrite_full(fd, f->tar.data, len, 0), 0);
	r = tar_set_new(&params, &set, &f->err);
	while (r == 0) {
		r = tar_set_next(set, &entry, &f->err);
		if (r == 0)
			r = see_entry(f, set, &entry);
	}
	tar_set_free(set);
	return r;
}

static void expect(struct fixture *f, int layout, const char *seen)
{
	int r = read_set(f, f->tar.len, layout);

	if (r != 1)
		fail_msg("%s", err_text(&f->err, r));
	assert_string_equal(f->seen.data, seen);
}

static void add_samples(struct fixture *f)
{
	add_member(f, "./a.jpg", "one");
	add_member(f, "./a.json", "{}");
	add_member(f, "./a.cls", "7");
	add_member(f, "./d/b.cls", "cat\n");
	add_member(f, "./d/b.seg.png", "two");
	add_member(f, "./d/b.jpg", "");
	add_end(f);
}

FIXTURE(fresh, set_up, tear_down);

TEST_OF(fresh, images_go_to_their_class)
{
	static const char classes[] = "0007/a.jpg=one\ncat/d/b.seg.png=two\ncat/d/b.jpg=\n";

	add_samples(*state);
	expect(*state, FOREIGN_CLASSES, classes);
	expect(*state, FOREIGN_AUTO, classes);
}

TEST_OF(fresh, a_tree_begins_again_behind_the_look_at_it)
{
	struct fixture *f = *state;

	add_member(f, "d/a.jpg", "one");
	add_member(f, "d/b.cls", "two");
	add_end(f);
	expect(f, FOREIGN_AUTO, "d/a.jpg=one\nd/b.cls=two\n");
	expect(f, FOREIGN_CLASSES, "d/a.jpg=one\n");
}

TEST_OF(fresh, classes_of_all_kinds)
{
	static const struct {
		const char *text, *seen, *reason;
	} classes[] = {{"9999", "9999/a.jpg=x\n", NULL},
		       {"0", "0000/a.jpg=x\n", NULL},
		       {"a/b", "a/b/a.jpg=x\n", NULL},
		       {"-1", "images/a.jpg=x\n", NULL},
		       {"a-1", "a-1/a.jpg=x\n", NULL},
		       {"99999999999999999999", "99999999999999999999/a.jpg=x\n", NULL},
		       {"10000", NULL, "'a': the label 10000 has over four digits"},
		       {"../x", NULL, "its name is not one that a file can have"},
		       {" \n", NULL, "member 0 ('a.cls'): no class in it"},
		       {"", NULL, "member 0 ('a.cls'): no class in it"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		f->tar.len = 0;
		add_member(f, "a.cls", classes[i].text);
		add_member(f, "a.jpg", "x");
		add_end(f);
		if (classes[i].seen) {
			expect(f, FOREIGN_CLASSES, classes[i].seen);
			continue;
		}
		assert_true(read_set(f, f->tar.len, FOREIGN_CLASSES) < 0);
		assert_non_null(strstr(f->err.text, classes[i].reason));
	}
}

TEST_OF(fresh, a_second_class_is_refused)
{
	struct fixture *f = *state;

	add_member(f, "a.cls", "1");
	add_member(f, "a.jpg", "x");
	add_member(f, "a.CLS", "2");
	add_end(f);
	assert_int_equal(read_set(f, f->tar.len, FOREIGN_AUTO), -EBADMSG);
	assert_non_null(strstr(f->err.text, "member 2 ('a.CLS'): the sample has a class already"));
}

/* An image whose sample is not whole is not given. */
TEST_OF(fresh, what_is_cut_off_is_noticed_wherever_that_is)
{
	struct fixture *f = *state;

	add_samples(f);
	for (size_t len = 0; len < f->tar.len - (size_t)2 * USTAR_BLOCK; len += 3) {
		int r = read_set(f, len, len % 2 ? FOREIGN_AUTO : FOREIGN_CLASSES);

		if (r >= 0)
			fail_msg("%zu bytes: %d, %s", len, r, f->seen.data);
		assert_true(f->err.text[0] != '\0');
	}
}
