/* Work in any order, results in one: pack/tool/work/pipeline.h. Items wait for each other, never
 * for the clock. */
#include "base/scope.h"
#include "pack/tool/work/pipeline.h"
#include "tests/unit/test.h"
#include <stdint.h>
#include <unistd.h>

#define HANG_SECONDS 300 /* a wakeup that is lost would be waited for for ever */

struct item {
	unsigned number;
	unsigned worked; /* times */
	unsigned worker;
	unsigned dropped; /* which of them it was, from 1 */
};

/* Whoever works on an item waits until the gate is open for its number. */
struct ground {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned open; /* items below this one may pass */
	unsigned inside, most, done;
	unsigned dropped;
};

static struct ground ground_closed_behind(unsigned open)
{
	return (struct ground){.lock = PTHREAD_MUTEX_INITIALIZER,
			       .changed = PTHREAD_COND_INITIALIZER,
			       .open = open};
}

static void work(void *context, unsigned worker, void *item)
{
	struct ground *ground = context;
	struct item *i = item;

	SCOPE_LOCK(&ground->lock);
	if (++ground->inside > ground->most)
		ground->most = ground->inside;
	pthread_cond_broadcast(&ground->changed);
	while (i->number >= ground->open)
		pthread_cond_wait(&ground->changed, &ground->lock);
	i->worked++;
	i->worker = worker;
	ground->inside--;
	ground->done++;
	pthread_cond_broadcast(&ground->changed);
}

static void drop(void *context, void *item)
{
	struct ground *ground = context;

	((struct item *)item)->dropped = ++ground->dropped;
}

static void open_gate(struct ground *ground, unsigned open)
{
	SCOPE_LOCK(&ground->lock);
	ground->open = open;
	pthread_cond_broadcast(&ground->changed);
}

static void wait_until(struct ground *ground, const unsigned *counter, unsigned value)
{
	SCOPE_LOCK(&ground->lock);
	while (*counter < value)
		pthread_cond_wait(&ground->changed, &ground->lock);
}

static struct pipeline *new_pipeline(struct ground *ground, unsigned workers, unsigned slots,
				     uint64_t bytes)
{
	const struct pipeline_params params = {.workers = workers,
					       .slots = slots,
					       .bytes = bytes,
					       .work = work,
					       .drop = drop,
					       .context = ground};
	struct pipeline *pipeline;

	alarm(HANG_SECONDS);
	assert_int_equal(pipeline_new(&params, &pipeline), 0);
	return pipeline;
}

TEST(what_goes_in_comes_out_in_order_and_worked_on_once)
{
	static struct item items[5000];
	struct ground ground = ground_closed_behind(UINT32_MAX);
	struct pipeline *pipeline = new_pipeline(&ground, 4, 32, UINT64_MAX);
	unsigned put = 0, taken = 0;
	struct item *item;

	do {
		while (put < 5000 && pipeline_has_room(pipeline, 1)) {
			items[put].number = put;
			pipeline_put(pipeline, &items[put++], 1);
		}
		item = pipeline_take(pipeline);
		if (item) {
			assert_int_equal(item->number, taken++);
			assert_int_equal(item->worked, 1);
			assert_in_range(item->worker, 0, 3);
		}
	} while (item);
	assert_int_equal(taken, 5000);
	pipeline_free(pipeline);
}

TEST(a_slow_item_holds_up_those_behind_it_but_not_the_work_on_them)
{
	struct item items[3] = {{.number = 9}, {.number = 0}, {.number = 1}};
	struct ground ground = ground_closed_behind(9);
	struct pipeline *pipeline = new_pipeline(&ground, 2, 4, UINT64_MAX);

	for (int i = 0; i < 3; i++)
		pipeline_put(pipeline, &items[i], 1);
	wait_until(&ground, &ground.done, 2);
	open_gate(&ground, 10);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(pipeline_take(pipeline), &items[i]);
	pipeline_free(pipeline);
}

#define ENOUGH 64 /* done and not taken: nobody is woken for one more */
#define MANY   80

TEST(what_nobody_was_woken_for_is_worked_on_when_it_is_waited_for)
{
	struct item items[MANY + 8] = {{.number = 0}};
	struct ground ground = ground_closed_behind(1);
	struct pipeline *pipeline = new_pipeline(&ground, 4, MANY + 8, UINT64_MAX);

	for (int i = 0; i < MANY; i++)
		pipeline_put(pipeline, &items[i], 1);
	wait_until(&ground, &ground.done, ENOUGH);
	for (int i = MANY; i < MANY + 8; i++)
		pipeline_put(pipeline, &items[i], 1);
	for (int i = 0; i < MANY + 8; i++)
		assert_ptr_equal(pipeline_take(pipeline), &items[i]);
	assert_null(pipeline_take(pipeline));
	pipeline_free(pipeline);
}

TEST(all_workers_work_at_once)
{
	struct item items[4] = {{.number = 0}, {.number = 0}, {.number = 0}, {.number = 0}};
	struct ground ground = ground_closed_behind(0);
	struct pipeline *pipeline = new_pipeline(&ground, 4, 4, UINT64_MAX);

	for (int i = 0; i < 4; i++)
		pipeline_put(pipeline, &items[i], 1);
	wait_until(&ground, &ground.inside, 4);
	open_gate(&ground, 1);
	while (pipeline_take(pipeline))
		;
	assert_int_equal(ground.most, 4);
	pipeline_free(pipeline);
}

/* Each thread may have an item, however large it is; but none that must go alone. */
TEST(room_ends_with_the_slots_and_with_the_bytes)
{
	struct ground ground = ground_closed_behind(1);
	const struct pipeline_params params = {.workers = 3,
					       .slots = 4,
					       .bytes = 100,
					       .least = 2,
					       .work = work,
					       .context = &ground};
	struct item items[4] = {{.number = 0}};
	struct pipeline *pipeline;

	assert_int_equal(pipeline_new(&params, &pipeline), 0);
	pipeline_put(pipeline, &items[0], 60);
	assert_true(pipeline_has_room(pipeline, 100));
	assert_false(pipeline_has_room(pipeline, 101));
	pipeline_put(pipeline, &items[1], 20);
	assert_true(pipeline_has_room(pipeline, 20));
	assert_false(pipeline_has_room(pipeline, 21));
	pipeline_put(pipeline, &items[2], 0);
	pipeline_put(pipeline, &items[3], 0);
	assert_false(pipeline_has_room(pipeline, 0));
	for (unsigned i = 0; i < 4; i++)
		assert_ptr_equal(pipeline_take(pipeline), &items[i]);
	assert_null(pipeline_take(pipeline));
	assert_true(pipeline_has_room(pipeline, UINT64_MAX));
	pipeline_put(pipeline, &items[0], UINT64_MAX);
	assert_false(pipeline_has_room(pipeline, 0));
	assert_ptr_equal(pipeline_take(pipeline), &items[0]);
	pipeline_free(pipeline);
	pipeline_free(NULL);
}

TEST(items_inside_are_dropped_in_order)
{
	struct item items[] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	struct ground ground = ground_closed_behind(UINT32_MAX);
	struct pipeline *pipeline = new_pipeline(&ground, 2, 8, UINT64_MAX);

	for (unsigned i = 0; i < 4; i++)
		pipeline_put(pipeline, &items[i], 1);
	assert_ptr_equal(pipeline_take(pipeline), &items[0]);
	pipeline_free(pipeline);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(items[i].dropped, i);
}

struct sized {
	struct pipeline *pipeline;
	uint64_t sizes[1000]; /* of the results, by their items; 0: not charged */
	pthread_mutex_t lock;
	uint64_t held, most; /* of results */
};

static void charge_size(void *context, unsigned worker, void *item)
{
	struct sized *sized = context;
	const uint64_t *size = item;

	if (*size)
		pipeline_charge(sized->pipeline, worker, *size);
	SCOPE_LOCK(&sized->lock);
	sized->held += *size;
	if (sized->held > sized->most)
		sized->most = sized->held;
}

static void run_sized(struct sized *sized, unsigned workers, unsigned slots, uint64_t results)
{
	const unsigned count = sizeof(sized->sizes) / sizeof(*sized->sizes);
	const struct pipeline_params params = {.workers = workers,
					       .slots = slots,
					       .bytes = UINT64_MAX,
					       .results = results,
					       .work = charge_size,
					       .context = sized};
	unsigned put = 0;

	assert_int_equal(pipeline_new(&params, &sized->pipeline), 0);
	for (unsigned taken = 0; taken < count; taken++) {
		while (put < count && pipeline_has_room(sized->pipeline, 1))
			pipeline_put(sized->pipeline, &sized->sizes[put++], 1);
		assert_ptr_equal(pipeline_take(sized->pipeline), &sized->sizes[taken]);
		pthread_mutex_lock(&sized->lock);
		sized->held -= sized->sizes[taken];
		pthread_mutex_unlock(&sized->lock);
	}
	pipeline_free(sized->pipeline);
}

/* Results that are not charged, small, as large as all the room, and larger, in any order. Only the
 * oldest may go beyond that; one more was taken, and is counted until the lock is held. */
TEST(results_are_bounded_and_none_is_so_large_that_all_wait_for_ever)
{
	static const unsigned workers[] = {1, 2, 8}, slots[] = {1, 2, 64};
	static const uint64_t results[] = {0, 1, 100, UINT64_MAX / 8};
	static struct sized sized = {.lock = PTHREAD_MUTEX_INITIALIZER};

	alarm(HANG_SECONDS);
	for (unsigned i = 0; i < 36; i++) {
		uint64_t bound = results[i / 9], random = i + 1;
		const uint64_t sizes[] = {0, 0, 0, 1, bound / 2, bound, bound + 1, 2 * bound + 1};

		for (unsigned n = 0; n < 1000; n++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			sized.sizes[n] = sizes[random >> 61];
		}
		run_sized(&sized, workers[i % 3], slots[i / 3 % 3], bound);
		assert_true(sized.most <= bound + 2 * (2 * bound + 1));
		sized.most = 0;
	}
}

static void *open_for_the_first(void *context)
{
	open_gate(context, 1);
	return NULL;
}

TEST(freeing_it_waits_for_the_item_in_hand)
{
	struct item items[2] = {{.number = 0}, {.number = 0}};
	struct ground ground = ground_closed_behind(0);
	struct pipeline *pipeline = new_pipeline(&ground, 1, 2, UINT64_MAX);
	pthread_t opener;

	pipeline_put(pipeline, &items[0], 1);
	pipeline_put(pipeline, &items[1], 1);
	wait_until(&ground, &ground.inside, 1);
	assert_int_equal(pthread_create(&opener, NULL, open_for_the_first, &ground), 0);
	pipeline_free(pipeline);
	assert_int_equal(items[0].worked, 1);
	assert_int_equal(ground.inside, 0);
	pthread_join(opener, NULL);
}
