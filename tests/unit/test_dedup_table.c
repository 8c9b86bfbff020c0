/* What is in the files that were packed. */
#include "pack/tool/import/dedup_table.h"
#include "pack_fixture.h"

#define LEN 600

/* The bytes of the file that is called so: where they are found, or a negative errno. */
static int seek(struct fixture *f, const struct dedup_table *table, uint32_t hash, const char *name,
		size_t len)
{
	SCOPE_FREE char *bytes = malloc(len);
	uint32_t entry;
	int r;

	assert_non_null(bytes);
	pattern_bytes(pattern_seed(name, strlen(name)), 0, bytes, len);
	r = dedup_table_find(table, f->builder, hash, bytes, len, &entry);
	return r < 0 ? r : (int)entry;
}

static void nothing_is_found_before_anything_is_added(void **state)
{
	struct fixture *f = *state;
	SCOPE(dedup_table_release) struct dedup_table table = {0};

	start(f);
	assert_int_equal(seek(f, &table, 5, "x", LEN), -ENOENT);
}

static void of_files_with_one_hash_that_with_the_bytes_is_found(void **state)
{
	struct fixture *f = *state;
	SCOPE(dedup_table_release) struct dedup_table table = {0};
	uint32_t x, y, longer;

	start(f);
	longer = add_file(f, BUILDER_ROOT, "x longer", LEN + 1);
	x = add_file(f, BUILDER_ROOT, "x", LEN);
	y = add_file(f, BUILDER_ROOT, "y", LEN);
	assert_done(dedup_table_add(&table, 5, longer));
	assert_done(dedup_table_add(&table, 5, x));
	assert_done(dedup_table_add(&table, 5, y));
	assert_int_equal(seek(f, &table, 5, "x", LEN), x);
	assert_int_equal(seek(f, &table, 5, "y", LEN), y);
	assert_int_equal(seek(f, &table, 5, "x longer", LEN + 1), longer);
	assert_int_equal(seek(f, &table, 5, "z", LEN), -ENOENT);
	assert_int_equal(seek(f, &table, 6, "x", LEN), -ENOENT);
}

static void a_failure_to_compare_is_told(void **state)
{
	struct fixture *f = *state;
	SCOPE(dedup_table_release) struct dedup_table table = {0};

	start(f);
	assert_done(dedup_table_add(&table, 5, add_name(f, BUILDER_ROOT, "without its bytes")));
	assert_int_equal(seek(f, &table, 5, "x", LEN), -EINVAL);
}

static void what_is_no_longer_than_a_reference_does_not_pay(void **state)
{
	(void)state;
	assert_false(dedup_table_pays(0));
	assert_false(dedup_table_pays(512));
	assert_true(dedup_table_pays(513));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_found_before_anything_is_added),
		TEST(of_files_with_one_hash_that_with_the_bytes_is_found),
		TEST(a_failure_to_compare_is_told),
		cmocka_unit_test(what_is_no_longer_than_a_reference_does_not_pay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
