/* The table of what is in the files that were packed. */
#include "pack/tool/contents.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#define assert_done(r) assert_int_equal(r, 0)

static void nothing_is_found_before_anything_is_added(void **state)
{
	struct contents contents = {0};
	uint32_t entry = 77;

	(void)state;
	assert_int_equal(contents_find(&contents, contents_key("x", 1), &entry), -ENOENT);
	assert_int_equal(entry, 77);
	contents_release(&contents);
}

static void the_first_entry_of_each_content_is_found(void **state)
{
	enum { COUNT = 20000 };
	struct contents contents = {0};
	uint32_t entry;

	(void)state;
	for (uint32_t i = 1; i <= COUNT; i++)
		assert_done(contents_add(&contents, contents_key(&i, sizeof(i)), i));
	for (uint32_t i = 1; i <= COUNT; i++) {
		assert_done(contents_add(&contents, contents_key(&i, sizeof(i)), COUNT + i));
		assert_done(contents_find(&contents, contents_key(&i, sizeof(i)), &entry));
		assert_int_equal(entry, i);
	}
	for (uint32_t i = COUNT + 1; i <= 2 * COUNT; i++)
		assert_int_equal(contents_find(&contents, contents_key(&i, sizeof(i)), &entry),
				 -ENOENT);
	assert_int_equal(contents.count, COUNT);
	contents_release(&contents);
}

/* All in the last place, and so in those that follow, round the end of the table. */
static void keys_of_one_place_do_not_hide_each_other(void **state)
{
	struct contents contents = {0};
	uint32_t entry;

	(void)state;
	for (uint32_t i = 1; i < 50; i++) {
		struct contents_key key = {.low = UINT64_MAX, .high = i};

		assert_done(contents_add(&contents, key, i));
	}
	for (uint32_t i = 1; i < 50; i++) {
		struct contents_key key = {.low = UINT64_MAX, .high = i};

		assert_done(contents_find(&contents, key, &entry));
		assert_int_equal(entry, i);
	}
	contents_release(&contents);
}

static void a_key_is_the_xxh3_128_of_the_bytes(void **state)
{
	static const char bytes[] = "all the bytes of a file";
	struct contents_key key = contents_key(bytes, sizeof(bytes));
	XXH128_hash_t hash = XXH3_128bits(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(key.low, hash.low64);
	assert_int_equal(key.high, hash.high64);
}

static void what_is_no_longer_than_a_reference_does_not_pay(void **state)
{
	(void)state;
	assert_false(contents_pays(0));
	assert_false(contents_pays(512));
	assert_true(contents_pays(513));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_before_anything_is_added),
		cmocka_unit_test(the_first_entry_of_each_content_is_found),
		cmocka_unit_test(keys_of_one_place_do_not_hide_each_other),
		cmocka_unit_test(a_key_is_the_xxh3_128_of_the_bytes),
		cmocka_unit_test(what_is_no_longer_than_a_reference_does_not_pay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
