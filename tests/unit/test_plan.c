/* The forecasts together, as the cache meets them: cache/plan/plan.h. */
#define TEST_MAIN
#include "cache/order/forecast.h"
#include "cache/plan/plan.h"
#include "cache/plan/plan_order.h"
#include "cache/plan/plan_sweep.h"
#include "tests/unit/plan_world.h"

#define READAHEAD (16 * MIB)

/* A plan and the world that it sees. */
struct reading {
	struct world *world;
	struct plan *plan;
	bool kernel;		   /* it keeps what was served, else the pool has forgotten it */
	struct forecast *forecast; /* the plan's */
};

static struct reading reading;

static struct reading *read_with(struct world *world, struct plan_params params)
{
	params.view = world->view;
	params.view.kept = params.epochs ? NULL : world_served;
	plan_free(reading.plan);
	reading = (struct reading){.world = world, .kernel = !params.epochs};
	assert_int_equal(plan_new(&params, &reading.plan), 0);
	return &reading;
}

static struct reading *read_of(struct world *world)
{
	return read_with(world, (struct plan_params){.readahead = READAHEAD});
}

static int release(void **state)
{
	(void)state;
	plan_free(reading.plan);
	plan_free(NULL);
	return 0;
}

static bool read_run(struct reading *r)
{
	const struct prefetch_budget *budget = &r->world->budget;
	struct plan_run run;

	if (!plan_next(r->plan, budget, &run))
		return false;
	plan_commit(r->plan, &run, run.count);
	world_run(r->world, &run, budget->scan > budget->sweep ? budget->scan : budget->sweep);
	return true;
}

static void read_more(struct reading *r)
{
	while (read_run(r))
		;
}

static void demand(struct reading *r, uint64_t extent)
{
	uint64_t epoch = plan_epoch(r->plan);

	plan_order_saw(plan_known_orders(r->plan), extent);
	plan_demand(r->plan, extent);
	if (plan_epoch(r->plan) != epoch)
		forget_pool(r->world);
	world_ask(r->world, extent);
	r->world->served[extent] = true;
	r->world->pooled[extent] = r->kernel;
	/* Nobody would look for a run where none is wanted. */
	while (plan_wants(r->plan, &r->world->budget) && read_run(r))
		read_more(r);
}

static void scan(struct reading *r, uint64_t from, uint64_t to)
{
	for (uint64_t e = from; e < to; e++)
		demand(r, e);
}

/* Of `count` extents from `from` on the first `part`. */
static void shuffle_over(struct reading *r, uint64_t from, uint32_t count, uint32_t part)
{
	const uint32_t *order = shuffled(count);

	for (uint32_t i = 0; i < part; i++)
		demand(r, from + order[i]);
}

GET(wanted, plan_wants(reading.plan, &the_world.budget))
GET(more, read_run(&reading))
GET(epoch, plan_epoch(reading.plan))
GET(late, the_world.demands - the_world.hits >= demands_that_find(&the_world, PLAN_BLOCK))

DOES(photos, read_of(photos(n[0])))
DOES(epochs, read_with(photos(n[0]), (struct plan_params){.readahead = READAHEAD, .epochs = true}))
/* Nothing is read ahead; the pool forgets what was served, or, 1, the kernel keeps it. */
DOES(quiet, read_with(photos(n[0]), (struct plan_params){.epochs = !n[1]}))
DOES(scan, scan(&reading, n[0], n[1]))
DOES(shuffle, shuffle_over(&reading, n[0], (uint32_t)n[1], (uint32_t)(n[2] ? n[2] : n[1])))
DOES(preload, plan_preload(reading.plan))
DOES(read, read_more(&reading))
DOES(pace, the_world.budget.pace = n[0])

STORY(a_scan_has_what_lies_before_it_read_and_no_more,
      "photos 20000; scan 1000-5000; twice = 0; hits > 3990; wasted <= 16M+200K; "
      "planned 0-1000 = 0")

STORY(a_shuffled_epoch_is_read_once,
      "photos 20000; shuffle 0 20000; twice = 0; wasted = 0; late = 0; wanted = 0")

/* So small that any demand is near another one, and looks like a scan: the smallest ones are
 * taken for nothing else. */
STORY(a_small_shuffled_epoch_is_read_once_as_well,
      "photos 50; shuffle 0 50; twice = 0; wasted = 0; photos 100; shuffle 0 100; twice = 0; "
      "wasted = 0; photos 256; shuffle 0 256; twice = 0; wasted = 0; photos 500; shuffle 0 500; "
      "twice = 0; wasted = 0; hits > 450; photos 1000; shuffle 0 1000; twice = 0; wasted = 0; "
      "hits > 900")

/* What is certain goes before what is only wanted some time. */
STORY(a_scan_goes_first_while_others_shuffle,
      "photos 20000; room 0 0 0; shuffle 0 16000 100; scan 18000-18003; runs = 0; "
      "room all all all; more = 1; first = 18003; more = 1; first < 16000")

/* Some 16 MiB are read by chance. */
STORY(each_forecast_has_a_room_of_its_own,
      "photos 20000; room all 0 all; shuffle 0 4000; bytes < 16M; scan 10000-11000; "
      "planned 10000-11000 > 990; photos 20000; room 0 all all; scan 10000-11000; "
      "runs = 0; shuffle 0 4000; planned 0-4000 > 3900")

STORY(a_scan_does_not_read_again_what_a_shuffled_reader_had_read,
      "photos 20000; shuffle 0 5000; scan 0-20000; twice = 0; wasted = 0")

STORY(an_epoch_leaves_out_what_scans_had_read,
      "photos 20000; scan 0-5000; shuffle 0 20000; twice = 0; wasted = 0; hits > 20000")

/* --- an order that is known ------------------------------------------------------------------ */

static void follow(struct reading *r, const uint32_t *files, uint32_t count)
{
	uint32_t *copy = malloc(count * sizeof(*copy));

	assert_non_null(copy);
	memcpy(copy, files, count * sizeof(*copy));
	assert_int_equal(forecast_new(copy, count, NULL, &r->forecast), 0);
	assert_int_equal(plan_follow(r->plan, r, r->forecast), 0);
	r->world->budget.gap = 32 * KIB; /* requests are cheap */
}

DOES(follow, follow(&reading, shuffled((uint32_t)n[0]), (uint32_t)n[0]))

/* Files as they lie. */
DO(row)
{
	uint32_t order[MOST];

	for (uint32_t i = 0; i < n[1]; i++)
		order[i] = (uint32_t)n[0] + i;
	follow(&reading, order, (uint32_t)n[1]);
}

DO(until)
{
	while (the_world.bytes < n[0])
		assert_true(read_run(&reading));
}

static void leave(struct reading *r)
{
	assert_ptr_equal(plan_leave(r->plan, r), r->forecast);
	forecast_free(r->forecast);
}

STORY(an_order_that_is_known_goes_first,
      "photos 20000; room 0 0 0; scan 18000-18003; follow 16000; room all all all; pace 1M; "
      "wanted = 1; until 1M; planned 16000-20000 = 0; read; planned 18003-20000 > 0")

/* The sweep would bring what is wanted only at the end of the epoch. */
TEST(what_is_ordered_is_not_streamed)
{
	struct reading *r = read_of(photos(20000));
	const uint32_t *order = shuffled(20000);

	r->world->budget.sweep = 0;
	for (uint32_t i = 0; i < 1000; i++) /* everything is promising */
		demand(r, order[i]);
	r->world->budget.sweep = 400 * MIB;
	r->world->budget.pace = 10 * MIB;
	follow(r, order, 20000);
	forecast_start(r->forecast, order, 1000);
	for (uint32_t i = 1000; i < 5000; i++) {
		demand(r, order[i]);
		assert_true(r->world->ahead <= 20 * MIB);
	}
	assert_nothing_planned_twice(r->world);
	assert_true(r->world->hits > 3980);
}

/* Be it by files in a row: classes one after the other. */
STORY(what_is_ordered_is_read_ahead_by_no_scan, /* others' scans are none of its business */
      "photos 20000; room all 0 0; row 5000 2000; scan 5000-6900; runs = 0; scan 10000-10100; "
      "runs > 0; planned 0-10000 = 0")

/* Training in a known order, and validation in one that is not. */
TEST(what_is_not_ordered_is_streamed_meanwhile)
{
	struct reading *r = read_of(photos(20000));
	uint32_t order[10000];
	const uint32_t *others;

	memcpy(order, shuffled(10000), sizeof(order));
	others = shuffled(5000);
	r->world->budget.pace = 10 * MIB;
	follow(r, order, 10000);
	for (uint32_t i = 0; i < 5000; i++) {
		demand(r, order[i]);
		demand(r, 15000 + others[i]);
		assert_true(planned_in(r->world, 0, 10000) <= i + 200);
	}
	assert_nothing_planned_twice(r->world);
	assert_int_equal(planned_in(r->world, 10000, 14800), 0);
	assert_true(planned_in(r->world, 15000, 20000) > 4500);
}

TEST(where_an_order_proves_wrong_everything_is_streamed_again)
{
	struct reading *r = read_of(photos(20000));
	const uint32_t *order = shuffled(20000);
	uint32_t wrong[20000];

	for (uint32_t i = 0; i < 20000; i++)
		wrong[i] = i < 1000 ? order[i] : order[20999 - i];
	r->world->budget.pace = 10 * MIB;
	follow(r, wrong, 20000);
	for (uint32_t i = 0; i < 2000; i++)
		demand(r, order[i]);
	leave(r);
	assert_null(plan_leave(r->plan, r));
	for (uint32_t i = 2000; i < 3000; i++)
		demand(r, order[i]);
	assert_true(planned_in(r->world, 0, 20000) > 19000 - 3000);
	assert_nothing_planned_twice(r->world);
}

STORY(preload_reads_what_is_ordered_too,
      "photos 5000; pace 1M; preload; follow 5000; read; planned 0-5000 = 5000; "
      "twice = 0")

TEST(each_epoch_of_a_known_order_is_counted)
{
	struct reading *r = read_with(photos(5000),
				      (struct plan_params){.readahead = READAHEAD, .epochs = true});

	for (uint64_t epoch = 0; epoch < 4; epoch++) {
		const uint32_t *order = shuffled(5000);

		follow(r, order, 5000);
		for (uint32_t i = 0; i < 5000; i++)
			demand(r, order[i]);
		assert_int_equal(plan_epoch(r->plan), epoch);
		assert_true(r->world->hits > 4800);
		leave(r);
	}
}

STORY(no_readahead_means_none_of_a_known_order, "quiet 5000; follow 5000; wanted = 0; more = 0")

/* --- what the pool does not take ------------------------------------------------------------- */

/* Reads with a pool that takes only the first half of each run, or nothing of each third one. */
static void read_with_a_reluctant_pool(struct reading *r)
{
	struct plan_run run;

	for (unsigned n = 0; plan_next(r->plan, &r->world->budget, &run); n++) {
		unsigned accepted = n % 3 == 2 ? 0 : (run.count + 1) / 2;

		plan_commit(r->plan, &run, accepted);
		for (unsigned i = 0; i < accepted; i++) {
			assert_false(r->world->pooled[run.extents[i]]);
			r->world->pooled[run.extents[i]] = true;
			r->world->planned[run.extents[i]]++;
		}
	}
}

TEST(what_the_pool_refused_of_a_known_order_is_planned_again)
{
	struct reading *r = read_of(photos(5000));

	for (int seek_bound = 0; seek_bound < 2; seek_bound++) {
		forget_pool(r->world);
		follow(r, shuffled(5000), 5000);
		r->world->budget.gap = seek_bound ? MIB : 32 * KIB;
		read_with_a_reluctant_pool(r);
		assert_int_equal(planned_in(r->world, 0, 5000), 5000);
		assert_nothing_planned_twice(r->world);
		leave(r);
	}
}

DOES(reluctant, read_with_a_reluctant_pool(&reading))

STORY(what_the_pool_refused_of_the_sweep_is_planned_again,
      "photos 5000; preload; reluctant; planned 0-5000 = 5000; twice = 0")

TEST(what_the_pool_refused_of_a_scan_is_planned_again)
{
	struct reading *r = read_of(photos(5000));
	uint64_t end = 1000;

	r->world->budget.sweep = 0;
	for (uint64_t e = 0; e < 1000; e++) {
		plan_demand(r->plan, e);
		world_ask(r->world, e);
		read_with_a_reluctant_pool(r);
	}
	while (r->world->planned[end])
		end++;
	assert_true(end > 1000 + 50);
	assert_int_equal(planned_in(r->world, 10, end), end - 10);
	assert_nothing_planned_twice(r->world);
}

/* --- readahead=0 ----------------------------------------------------------------------------- */

STORY(no_readahead_means_none_of_any_kind,
      "quiet 5000; scan 0-5000; shuffle 0 5000; shuffle 0 5000; runs = 0; wanted = 0; "
      "more = 0")

STORY(preload_reads_even_where_nothing_else_is_read_ahead,
      "quiet 5000 1; preload; wanted = 1; read; planned 0-5000 = 5000; shuffle 0 5000; "
      "hits = 5000")

/* A request costs as much as what lies there. */
TEST(beside_preload_what_is_asked_for_brings_what_lies_around_it)
{
	for (uint64_t readahead = 0; readahead <= READAHEAD; readahead += READAHEAD) {
		struct reading *r =
			read_with(photos(5000), (struct plan_params){.readahead = readahead});
		struct plan_run run, next;

		r->world->budget.gap = MIB;
		plan_preload(r->plan);
		plan_demand(r->plan, 3000);
		assert_true(plan_around(r->plan, &r->world->budget, 3000, &run));
		assert_true(run.extents[0] < 3000 && run.extents[run.count - 1] > 3000);
		plan_commit(r->plan, &run, run.count);
		assert_true(plan_next(r->plan, &r->world->budget, &next));
		assert_int_equal(next.extents[0], 0);
	}
}

/* One sweep was asked for, and nothing else. */
STORY(after_preload_no_readahead_means_none_again,
      "quiet 5000; preload; read; shuffle 0 5000; shuffle 0 5000; epoch = 1; runs = 0")

/* --- epochs ---------------------------------------------------------------------------------- */

STORY(each_shuffled_epoch_is_counted_and_read_ahead,
      "epochs 20000; shuffle 0 20000; epoch = 0; hits > 19000; shuffle 0 20000; "
      "epoch = 1; hits > 19000; shuffle 0 20000; epoch = 2; hits > 19000; "
      "shuffle 0 20000; epoch = 3; hits > 19000")

/* The hits are those since the epoch was known. */
STORY(scans_of_everything_are_epochs_too,
      "epochs 5000; scan 0-5000; epoch = 0; hits > 4700; scan 0-5000; epoch = 1; "
      "hits > 4700; scan 0-5000; epoch = 2; hits > 4700; scan 0-5000; epoch = 3; "
      "hits > 4700")

STORY(a_pack_without_files_is_fine, "photos 0; more = 0; preload; more = 0")

int main(void)
{
	return test_run(NULL, release);
}
