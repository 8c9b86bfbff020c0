/* The files that a loader indexes, and their indices: cache/order/list.h. */
#include "cache/order/list.h"
#include "tests/unit/test.h"
#include <string.h>

#define GREATEST (UINT32_MAX - 1)

struct ask {
	uint64_t file;
	uint32_t index;
};

/* Its memory is that of the numbers from the least to the greatest. */
static const struct {
	const char *name;
	uint32_t files[5], count;
	struct ask asks[6]; /* up to one for file 0 */
} rows[] = {
	{"each file has its index", {70, 30, 50, 40}, 4, {{70, 0}, {30, 1}, {50, 2}, {40, 3}}},
	{"files of others have none",
	 {70, 30},
	 2,
	 {{29, ORDER_NONE},
	  {50, ORDER_NONE},
	  {71, ORDER_NONE},
	  {(uint64_t)1 << 32 | 30, ORDER_NONE}}},
	{"an empty file keeps its place",
	 {5, ORDER_NONE, 6, ORDER_NONE},
	 4,
	 {{5, 0}, {6, 2}, {ORDER_NONE, ORDER_NONE}}},
	{"of empty files alone", {ORDER_NONE, ORDER_NONE}, 2, {{ORDER_NONE, ORDER_NONE}}},
	{"of one that is there twice the first counts",
	 {9, 8, 9, 8, 7},
	 5,
	 {{9, 0}, {8, 1}, {7, 4}}},
	{"the greatest numbers",
	 {GREATEST, GREATEST - 2},
	 2,
	 {{GREATEST, 0}, {GREATEST - 1, ORDER_NONE}, {GREATEST - 2, 1}}},
};

TEST(each_file_has_its_index_and_no_other_file_has_one)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct order_list *list;

		assert_int_equal(order_list_copy("train", rows[i].files, rows[i].count, &list), 0);
		assert_int_equal(list->count, rows[i].count);
		assert_memory_equal(list->files, rows[i].files, rows[i].count * sizeof(uint32_t));
		for (const struct ask *ask = rows[i].asks; ask->file; ask++)
			if (order_list_find(list, ask->file) != ask->index)
				fail_msg("%s: %lu", rows[i].name, ask->file);
		assert_int_equal(order_list_find(list, 0), ORDER_NONE);
		order_list_free(list);
	}
}

TEST(name_and_files_are_copied)
{
	char name[] = "val";
	uint32_t files[] = {3, 4};
	struct order_list *list;

	assert_int_equal(order_list_copy(name, files, 2, &list), 0);
	memset(name, 'x', sizeof(name) - 1);
	memset(files, 0, sizeof(files));
	assert_string_equal(list->name, "val");
	assert_int_equal(order_list_find(list, 4), 1);
	order_list_free(list);
	order_list_free(NULL);
}
