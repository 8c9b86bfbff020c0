/* Which parts of a folder belong together: pack/shard.h. */
#include "pack/shard.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct shard read_back(const char *options)
{
	struct shard shard = {.number = 7};

	shard_read(options, strlen(options), &shard);
	return shard;
}

TEST(what_was_written_is_read_between_other_options)
{
	const struct shard shard = {3, 15, UINT64_MAX, 5};
	char text[SHARD_TEXT], options[128];
	struct shard found;

	shard_write(&shard, text);
	snprintf(options, sizeof(options), "order=shuffle:1\nshard=%s\nresize=50\n", text);
	found = read_back(options);
	assert_memory_equal(&found, &shard, sizeof(shard));
}

TEST(what_says_nothing_is_no_shard)
{
	static const char *const texts[] = {
		"",
		"resize=50\n",
		"shard=\n",
		"shard=3-of-15\n",
		"shard=15-of-15 1-2\n",
		"reshard=3-of-15 1-2\n",
		"shard=3-of-15 x-2\n",
		"shard=3-of-15 1-000000000000000000000000000000000000000000000000000000002\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(read_back(texts[i]).of, 0);
}

#define SET                         \
	{0, 3, 9, 1}, {1, 3, 1, 2}, \
	{                           \
		2, 3, 2, 3          \
	}

TEST(a_set_is_complete_in_any_order_beside_others)
{
	const struct shard shards[] = {{2, 3, 6, 7}, SET,	   {0},
				       {1, 3, 5, 6}, {0, 3, 9, 5}, {0, 1, 9, 4}};
	const size_t count = sizeof(shards) / sizeof(shards[0]);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(shards_check(shards, count, i, NULL), 0);
}

static void check(const struct shard *shards, size_t count, size_t which, const char *missing)
{
	struct err err = {0};

	assert_int_equal(shards_check(shards, count, which, &err), -ENOENT);
	assert_memory_equal(err.text, missing, strlen(missing));
}

TEST(what_is_missing_is_said)
{
	const struct shard shards[] = {SET};
	const struct shard other[] = {{0, 3, 9, 1}, {1, 3, 8, 2}, {2, 3, 2, 3}};

	check(shards, 2, 1, "shard 2 of 3 is not here");
	check(shards + 1, 2, 0, "shard 0 of 3 is not here");
	check(other, 3, 0, "shard 1 of 3 is not here");
	check(other, 3, 1, "shard 0 of 3 is not here");
	assert_int_equal(shards_check(other, 3, 2, NULL), 0);
}
