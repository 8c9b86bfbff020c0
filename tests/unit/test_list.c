/* The files that a loader indexes, and their indices: cache/order/list.h. */
#include "cache/order/list.h"
#include "tests/unit/test.h"
#include <string.h>

static struct order_list *list_of(const uint32_t *files, uint32_t count)
{
	struct order_list *list;

	assert_int_equal(order_list_copy("train as ImageFolder", files, count, &list), 0);
	return list;
}

TEST(each_file_has_its_index)
{
	const uint32_t files[] = {70, 30, 50, 40};
	struct order_list *list = list_of(files, 4);

	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(order_list_find(list, files[i]), i);
	order_list_free(list);
}

TEST(files_of_others_have_none)
{
	const uint32_t files[] = {70, 30};
	struct order_list *list = list_of(files, 2);

	assert_int_equal(order_list_find(list, 0), ORDER_NONE);
	assert_int_equal(order_list_find(list, 29), ORDER_NONE);
	assert_int_equal(order_list_find(list, 50), ORDER_NONE);
	assert_int_equal(order_list_find(list, 71), ORDER_NONE);
	assert_int_equal(order_list_find(list, (uint64_t)1 << 32 | 30), ORDER_NONE);
	order_list_free(list);
}

TEST(an_empty_file_keeps_its_place)
{
	const uint32_t files[] = {5, ORDER_NONE, 6, ORDER_NONE};
	struct order_list *list = list_of(files, 4);

	assert_int_equal(list->count, 4);
	assert_int_equal(order_list_find(list, 6), 2);
	assert_int_equal(order_list_find(list, ORDER_NONE), ORDER_NONE);
	assert_int_equal(list->files[1], ORDER_NONE);
	order_list_free(list);
}

TEST(a_list_of_empty_files_has_nothing)
{
	const uint32_t files[] = {ORDER_NONE, ORDER_NONE};
	struct order_list *list = list_of(files, 2);

	assert_int_equal(order_list_find(list, 0), ORDER_NONE);
	assert_int_equal(order_list_find(list, ORDER_NONE), ORDER_NONE);
	order_list_free(list);
}

TEST(of_a_file_that_is_listed_twice_the_first_index_counts)
{
	const uint32_t files[] = {9, 8, 9, 8, 7};
	struct order_list *list = list_of(files, 5);

	assert_int_equal(order_list_find(list, 9), 0);
	assert_int_equal(order_list_find(list, 8), 1);
	assert_int_equal(order_list_find(list, 7), 4);
	order_list_free(list);
}

/* Its memory is that of the numbers from the least to the greatest. */
TEST(the_greatest_numbers_are_fine)
{
	const uint32_t files[] = {UINT32_MAX - 1, UINT32_MAX - 3};
	struct order_list *list = list_of(files, 2);

	assert_int_equal(order_list_find(list, UINT32_MAX - 1), 0);
	assert_int_equal(order_list_find(list, UINT32_MAX - 2), ORDER_NONE);
	assert_int_equal(order_list_find(list, UINT32_MAX - 3), 1);
	order_list_free(list);
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
	assert_int_equal(list->files[0], 3);
	assert_int_equal(order_list_find(list, 4), 1);
	order_list_free(list);
	order_list_free(NULL);
}
