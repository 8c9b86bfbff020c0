/* Patterns for paths: base/match.h. */
#include "base/match.h"
#include "tests/unit/test.h"

TEST(a_pattern_without_a_slash_is_of_a_name)
{
	assert_true(match_path("*.jpg", "a/b/c.jpg"));
	assert_false(match_path("b", "a/b/c.jpg"));
}

TEST(a_pattern_with_a_slash_is_of_a_path)
{
	assert_true(match_path("/a", "a"));
	assert_true(match_path("./a", "a"));
	assert_false(match_path("./a", "b/a"));
	assert_false(match_path("a/*", "a/b/c"));
	assert_true(match_path("a/**", "a/b/c"));
}

/* As shells complete the names of folders. */
TEST(a_slash_at_the_end_makes_no_difference)
{
	assert_true(match_path("b/", "a/b"));
	assert_true(match_path("a/b/", "a/b"));
	assert_false(match_path("./b/", "a/b"));
	assert_false(match_path("/", "a"));
}
