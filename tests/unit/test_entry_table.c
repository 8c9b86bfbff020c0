/* Entries by a hash, by the bytes of their files, by their paths. */
#include "pack/tool/import/entry_table.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

#define LEN 600

/* --- hashes --- */

TEST(every_hash_leads_to_its_entry)
{
	enum { COUNT = 20000 };
	SCOPE(number_table_release) struct number_table table = {0};

	for (uint32_t i = 1; i <= COUNT; i++)
		assert_done(number_table_add(&table, i * 2654435761u, i));
	for (uint32_t i = 1; i <= 2 * COUNT; i++) {
		size_t at = 0;

		assert_int_equal(number_table_next(&table, i * 2654435761u, &at),
				 i <= COUNT ? i : 0);
		assert_int_equal(number_table_next(&table, i * 2654435761u, &at), 0);
	}
	assert_int_equal(table.count, COUNT);
}

/* All in the last place, and so in those that follow, round the end of the table. */
TEST(entries_of_one_hash_are_all_told)
{
	enum { COUNT = 50 };
	SCOPE(number_table_release) struct number_table table = {0};
	bool told[COUNT] = {false};
	uint32_t entry;
	size_t at = 0;

	for (uint32_t i = 1; i < COUNT; i++)
		assert_done(number_table_add(&table, UINT32_MAX, i));
	assert_done(number_table_add(&table, 0, 77));
	while ((entry = number_table_next(&table, UINT32_MAX, &at)) != 0) {
		assert_true(entry < COUNT);
		assert_false(told[entry]);
		told[entry] = true;
	}
	for (uint32_t i = 1; i < COUNT; i++)
		assert_true(told[i]);
	at = 0;
	assert_int_equal(number_table_next(&table, 0, &at), 77);
}

/* --- bytes --- */

/* The bytes of the file that is called so: where they are found, or a negative errno. */
static int seek(struct fixture *f, const struct number_table *table, uint32_t hash,
		const char *name, size_t len)
{
	SCOPE_FREE char *bytes = malloc(len);
	uint32_t entry;
	int r;

	assert_non_null(bytes);
	pattern_bytes(pattern_seed(name, strlen(name)), 0, bytes, len);
	r = entry_table_find_bytes(table, f->builder, hash, bytes, len, &entry);
	return r < 0 ? r : (int)entry;
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, of_files_with_one_hash_that_with_the_bytes_is_found)
{
	SCOPE(number_table_release) struct number_table table = {0};
	uint32_t x, y, longer;

	longer = add_file(f, PACK_ROOT, "x longer", LEN + 1);
	x = add_file(f, PACK_ROOT, "x", LEN);
	y = add_file(f, PACK_ROOT, "y", LEN);
	assert_done(number_table_add(&table, 5, longer));
	assert_done(number_table_add(&table, 5, x));
	assert_done(number_table_add(&table, 5, y));
	assert_int_equal(seek(f, &table, 5, "x", LEN), x);
	assert_int_equal(seek(f, &table, 5, "y", LEN), y);
	assert_int_equal(seek(f, &table, 5, "x longer", LEN + 1), longer);
	assert_int_equal(seek(f, &table, 5, "z", LEN), -ENOENT);
	assert_int_equal(seek(f, &table, 6, "x", LEN), -ENOENT);
}

TEST_OF(f, a_failure_to_compare_is_told)
{
	SCOPE(number_table_release) struct number_table table = {0};

	assert_done(number_table_add(&table, 5, add_name(f, PACK_ROOT, "without its bytes")));
	assert_int_equal(seek(f, &table, 5, "x", LEN), -EINVAL);
}

/* --- paths --- */

TEST_OF(f, an_empty_table_knows_no_path)
{
	SCOPE(number_table_release) struct number_table map = {0};
	uint32_t entry;

	start(f);
	assert_int_equal(entry_table_find_path(&map, f->builder, "x", 1, &entry), -ENOENT);
}

static void add_one(struct fixture *f, struct number_table *map, uint32_t folder, const char *path)
{
	uint32_t entry = add_name(f, folder, path + 2);

	assert_done(number_table_add(map, entry_table_hash(path, strlen(path)), entry));
}

/* Of so many paths some twenty have a hash that another one has. */
TEST_OF(f, every_path_leads_to_its_own_entry)
{
	SCOPE(number_table_release) struct number_table map = {0};
	const unsigned count = 400000;
	char path[32];
	uint32_t entry, folder;

	folder = add_dir(f, PACK_ROOT, "d");
	for (unsigned i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "d/%u", i);
		add_one(f, &map, folder, path);
	}
	for (unsigned i = 0; i < count; i++) {
		size_t len = (size_t)snprintf(path, sizeof(path), "d/%u", i);

		assert_done(entry_table_find_path(&map, f->builder, path, len, &entry));
		assert_int_equal(entry, folder + 1 + i);
		path[0] = 'e';
		assert_int_equal(entry_table_find_path(&map, f->builder, path, len, &entry),
				 -ENOENT);
	}
}
