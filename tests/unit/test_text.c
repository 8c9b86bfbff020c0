/* Text as it lies in files: pack/foreign/text.h. */
#include "pack/foreign/text.h"
#include "pack/image_kind.h"
#include "tests/unit/test.h"
#include <string.h>

static struct foreign_text text(const char *s)
{
	return (struct foreign_text){s, strlen(s)};
}

static void expect(struct foreign_text found, const char *expected)
{
	assert_true(foreign_text_is(found, expected));
}

TEST(texts_are_compared_whole)
{
	assert_true(foreign_text_is(text("abc"), "abc"));
	assert_false(foreign_text_is(text("abc"), "ab"));
	assert_false(foreign_text_is(text("ab"), "abc"));
	assert_false(foreign_text_is((struct foreign_text){0}, ""));
}

TEST(ends_are_cut)
{
	struct foreign_text name = text("a_lmdb");

	assert_false(foreign_text_cut(&name, "lmdb_"));
	assert_false(foreign_text_cut(&name, "aa_lmdb"));
	assert_true(foreign_text_cut(&name, "_lmdb"));
	expect(name, "a");
	assert_true(foreign_text_cut(&name, "a"));
	assert_int_equal(name.len, 0);
}

TEST(what_follows_the_last_mark_is_found)
{
	expect(foreign_text_after(text("a/b/c.jpg"), '/'), "c.jpg");
	expect(foreign_text_after(text("c.jpg"), '/'), "c.jpg");
	expect(foreign_text_after(text("a/"), '/'), "");
	assert_null(foreign_text_after((struct foreign_text){0}, '/').data);
}

TEST(digits_are_a_number)
{
	uint64_t number;

	assert_int_equal(foreign_text_number(text("0017x"), &number), 4);
	assert_int_equal(number, 17);
	assert_int_equal(foreign_text_number(text("x1"), &number), 0);
	assert_int_equal(number, 0);
	assert_int_equal(foreign_text_number(text("18446744073709551615"), &number), 20);
	assert_true(number == UINT64_MAX);
	assert_int_equal(foreign_text_number(text("18446744073709551616000"), &number), 23);
	assert_true(number == UINT64_MAX);
}

TEST(names_of_pictures_have_their_suffix)
{
	assert_true(image_is_named("a/b.seg.PNG", 11));
	assert_true(image_is_named("jpeg", 4));
	assert_false(image_is_named("a.jpgs", 6));
	assert_false(image_is_named("a.", 2));
	assert_false(image_is_named(NULL, 0));
}

TEST(lines_lose_their_ends)
{
	static const char *const expected[] = {"a", "", "b\r", "c"};
	struct foreign_text rest = text("a\r\n\nb\r\r\nc"), line;

	for (unsigned i = 0; i < 4; i++) {
		assert_true(foreign_text_line(&rest, &line));
		expect(line, expected[i]);
	}
	assert_false(foreign_text_line(&rest, &line));
}
