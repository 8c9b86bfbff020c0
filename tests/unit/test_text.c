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
	assert_int_equal(found.len, strlen(expected));
	assert_memory_equal(found.data, expected, found.len);
}

TEST(what_follows_the_last_slash_is_found)
{
	expect(foreign_text_name(text("a/b/c.jpg")), "c.jpg");
	expect(foreign_text_name(text("c.jpg")), "c.jpg");
	expect(foreign_text_name(text("a/")), "");
	assert_null(foreign_text_name((struct foreign_text){0}).data);
}

TEST(names_of_pictures_have_their_suffix)
{
	assert_true(image_is_named("a/b.seg.PNG", 11));
	assert_true(image_is_named("jpeg", 4));
	assert_false(image_is_named("a.jpgs", 6));
	assert_false(image_is_named("a.", 2));
	assert_false(image_is_named(NULL, 0));
}
