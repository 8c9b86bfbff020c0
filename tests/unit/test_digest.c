/* Digests that name files: base/digest.h. */
#include "base/digest.h"
#include "tests/unit/test.h"

TEST(a_digest_is_the_same_everywhere)
{
	char digest[DIGEST_DIGITS + 1];

	/* SHA-256 of eight bytes, the length, and "abc": 11 of them. */
	digest_text("abc", digest);
	assert_string_equal(digest, "ce91dc5eec0139adf091900d225971d6");
}

TEST(where_parts_end_counts)
{
	char text[] = "abc";
	const struct iovec one[] = {{text, 2}, {text + 2, 1}};
	const struct iovec other[] = {{text, 1}, {text + 1, 2}};
	char a[DIGEST_DIGITS + 1], b[DIGEST_DIGITS + 1];

	digest_make(one, 2, a);
	digest_make(other, 2, b);
	assert_string_not_equal(a, b);
}
