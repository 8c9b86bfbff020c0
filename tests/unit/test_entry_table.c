/* Entries by a hash. */
#include "base/scope.h"
#include "pack/tool/import/entry_table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#define assert_done(r) assert_int_equal(r, 0)

static void nothing_is_found_before_anything_is_added(void **state)
{
	SCOPE(entry_table_release) struct entry_table table = {0};
	size_t at = 0;

	(void)state;
	assert_int_equal(entry_table_next(&table, 0, &at), 0);
	assert_int_equal(entry_table_next(&table, UINT32_MAX, &at), 0);
}

static void every_hash_leads_to_its_entry(void **state)
{
	enum { COUNT = 20000 };
	SCOPE(entry_table_release) struct entry_table table = {0};

	(void)state;
	for (uint32_t i = 1; i <= COUNT; i++)
		assert_done(entry_table_add(&table, i * 2654435761u, i));
	for (uint32_t i = 1; i <= 2 * COUNT; i++) {
		size_t at = 0;

		assert_int_equal(entry_table_next(&table, i * 2654435761u, &at),
				 i <= COUNT ? i : 0);
		assert_int_equal(entry_table_next(&table, i * 2654435761u, &at), 0);
	}
	assert_int_equal(table.count, COUNT);
}

/* All in the last place, and so in those that follow, round the end of the table. */
static void entries_of_one_hash_are_all_told(void **state)
{
	enum { COUNT = 50 };
	SCOPE(entry_table_release) struct entry_table table = {0};
	bool told[COUNT] = {false};
	uint32_t entry;
	size_t at = 0;

	(void)state;
	for (uint32_t i = 1; i < COUNT; i++)
		assert_done(entry_table_add(&table, UINT32_MAX, i));
	assert_done(entry_table_add(&table, 0, 77));
	while ((entry = entry_table_next(&table, UINT32_MAX, &at)) != 0) {
		assert_true(entry < COUNT);
		assert_false(told[entry]);
		told[entry] = true;
	}
	for (uint32_t i = 1; i < COUNT; i++)
		assert_true(told[i]);
	at = 0;
	assert_int_equal(entry_table_next(&table, 0, &at), 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_before_anything_is_added),
		cmocka_unit_test(every_hash_leads_to_its_entry),
		cmocka_unit_test(entries_of_one_hash_are_all_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
