/* Which lists come into question: cache/order/choose.h. */
#include "cache/order/choose.h"
#include "tests/unit/test.h"
#include <stdlib.h>

/* train/ has two classes, and val/ comes behind it; masks/ has as many as train/. */
#define CLASS	2000u
#define TRAIN	(2 * CLASS)
#define VAL	400u
#define MASKS	(TRAIN + VAL)
#define FILES	(MASKS + TRAIN)
#define READERS 2

struct world {
	struct observations observations;
	struct order_list *lists[GUESS_LISTS];
	unsigned count;
};

static void setup(struct world *world)
{
	(void)world;
	srandom(1);
}

static void teardown(struct world *world)
{
	for (unsigned i = 0; i < world->count; i++)
		order_list_free(world->lists[i]);
}

/* Files first..first + count, in their order or in another one. */
static const struct order_list *add_list(struct world *world, uint32_t first, uint32_t count,
					 uint32_t step)
{
	struct order_list **list = &world->lists[world->count++];
	uint32_t *files = malloc(count * sizeof(*files));

	for (uint32_t i = 0; i < count; i++)
		files[i] = first + (uint32_t)((uint64_t)i * step % count);
	assert_int_equal(order_list_copy("files", files, count, list), 0);
	free(files);
	world->observations.lists[world->observations.list_count++] = *list;
	return *list;
}

static void see(struct world *world, uint32_t first, uint32_t count, unsigned seen)
{
	struct observations *observations = &world->observations;

	for (unsigned i = 0; i < seen; i++, observations->count++)
		observations->seen[observations->count] =
			(struct watch_access){.reader = observations->count % READERS,
					      .file = first + (uint32_t)random() % count,
					      .nth = observations->count / READERS};
}

/* Chooses; so many lists count, of which this one is the likeliest. */
static void assert_chosen(struct world *world, const struct order_list *first, unsigned count)
{
	choose_lists(&world->observations);
	assert_int_equal(world->observations.list_count, count);
	assert_ptr_equal(world->observations.lists[0], first);
}

FIXTURE(world, struct world, setup, teardown);

TEST_OF(world, a_list_of_what_was_seen_is_likelier_than_one_of_more_or_less)
{
	const struct order_list *train;

	add_list(world, 0, CLASS, 1);
	add_list(world, 0, FILES, 1);
	train = add_list(world, 0, TRAIN, 1);
	see(world, 0, TRAIN, 64);
	assert_chosen(world, train, 2);
	assert_ptr_equal(world->observations.lists[1], world->lists[0]);
	assert_ptr_equal(world->observations.lists[2], world->lists[1]); /* not lost */
}

TEST_OF(world, who_reads_one_class_reads_no_more)
{
	const struct order_list *class;

	add_list(world, 0, TRAIN, 1);
	class = add_list(world, 0, CLASS, 1);
	see(world, 0, CLASS, 64);
	assert_chosen(world, class, 1);
}

TEST_OF(world, of_few_files_nothing_is_known_but_what_is_likelier)
{
	const struct order_list *all = add_list(world, 0, FILES, 1);
	const struct order_list *train = add_list(world, 0, TRAIN, 1);

	see(world, 0, TRAIN, 4);
	assert_chosen(world, train, 2);
	assert_ptr_equal(world->observations.lists[1], all);
}

TEST_OF(world, lists_of_the_same_files_keep_their_order)
{
	for (uint32_t step = 1; step < 10; step += 2)
		add_list(world, 0, TRAIN - step / 5, step);
	see(world, 0, TRAIN - 1, 64); /* not the last, which some do not have */
	choose_lists(&world->observations);
	assert_int_equal(world->observations.list_count, world->count);
	for (unsigned i = 0; i < world->count; i++)
		assert_ptr_equal(world->observations.lists[i], world->lists[i]);
}

TEST_OF(world, masks_and_images_both_count)
{
	const struct order_list *images, *masks;

	add_list(world, 0, FILES, 1);
	images = add_list(world, 0, TRAIN, 1);
	masks = add_list(world, MASKS, TRAIN, 1);
	see(world, 0, TRAIN, 64);
	see(world, MASKS, TRAIN, 64);
	choose_lists(&world->observations);
	assert_int_equal(world->observations.list_count, 3);
	assert_true(world->observations.lists[1] == images ||
		    world->observations.lists[1] == masks);
	assert_true(world->observations.lists[2] == images ||
		    world->observations.lists[2] == masks);
}

TEST_OF(world, a_list_of_which_hardly_anything_was_seen_does_not_count)
{
	const struct order_list *train = add_list(world, 0, TRAIN, 1);

	add_list(world, TRAIN, VAL, 1);
	see(world, TRAIN, VAL, 8);
	see(world, 0, TRAIN, 64);
	assert_chosen(world, train, 1);
}

TEST_OF(world, a_list_is_unlikely_if_another_one_has_that_and_more)
{
	const struct order_list *train, *masks, *suffix;

	suffix = add_list(world, 0, TRAIN - CLASS / 2, 1);
	masks = add_list(world, MASKS, TRAIN, 1);
	train = add_list(world, 0, TRAIN, 1);
	see(world, 0, TRAIN, 48);
	see(world, MASKS, TRAIN, 17);
	assert_chosen(world, train, 3);
	assert_int_equal(world->observations.unlikely, 1);
	assert_ptr_equal(world->observations.lists[1], masks);
	assert_ptr_equal(world->observations.lists[2], suffix);
}

TEST_OF(world, of_two_alike_the_one_that_was_followed_before_comes_first)
{
	const struct order_list *second;

	add_list(world, 0, TRAIN, 1);
	second = add_list(world, 0, TRAIN, 3);
	world->observations.known[world->observations.known_count++].list = second;
	see(world, 0, TRAIN, 64);
	assert_chosen(world, second, 2);
	assert_int_equal(world->observations.unlikely, 0);
}
