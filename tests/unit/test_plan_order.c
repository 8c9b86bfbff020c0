/* Files in a known order, in simulated epochs: cache/plan/plan_order.h. Readers work like
 * DataLoader's, each on a batch of its own, and take what is there from a pool. The device takes
 * a + b * bytes for a request and serves one at a time: in turn one that a reader waits for, and
 * one that is read ahead. */
#define TEST_MAIN
#include "cache/plan/plan_order.h"
#include "tests/unit/plan_world.h"
#include <errno.h>

#define PHOTOS	 20000u
#define READERS	 8u
#define FETCH	 1u /* batches that each reader may be ahead */
#define NOWHERE	 UINT32_MAX
#define REQUESTS 120.0 /* a second, of a hard disk */
#define BYTES	 180e6

struct reader {
	uint32_t batch, at; /* where it is: a batch, and a place in it */
	double free;	    /* when it asks for its next file */
	uint32_t awaited;   /* the file that it waits for, or NOWHERE */
};

struct sim {
	struct world *world;
	struct plan_order order;
	uint64_t memory; /* of the pool */
	uint64_t held;	 /* bytes of it: what is there or on its way, and was not used */
	/* The epoch under way: */
	const uint32_t *files;
	uint32_t file_count, batch;
	unsigned reader_count;
	struct reader readers[READERS];
	uint32_t done[PHOTOS]; /* files of each batch that were used */
	uint32_t whole;	       /* batches that were used, all before the first one that was not */
	double think;	       /* seconds of a reader for a file */
	double request, byte;  /* seconds of the device for each */
	double now;
	double free; /* when the device is done, with this run: */
	struct plan_run under_way;
	bool turn;			  /* of readers that wait */
	uint64_t late;			  /* waits after a quarter of the epoch */
	uint64_t requests, waits, misses; /* misses: neither there nor on its way when asked for */
	bool forgets;			  /* neither pool nor page cache keeps what was used */
};

static struct sim sim;

static void release_sim(void)
{
	plan_order_release(&sim.order);
}

static struct sim *sim_with(struct world *world, bool epochs)
{
	world->view.kept = epochs ? NULL : world_served;
	release_sim();
	sim = (struct sim){.world = world, .memory = NO_END, .forgets = epochs};
	sim.order.view = &world->view;
	return &sim;
}

static struct sim *sim_of(struct world *world)
{
	return sim_with(world, true);
}

/* A hard disk, where a request costs as much as 1.5 MB; or a fast device. */
static void make_seek_bound(struct sim *s)
{
	s->request = 1 / REQUESTS;
	s->byte = 1 / BYTES;
	s->world->budget.run = 4 * MIB;
	s->world->budget.gap = (uint64_t)(BYTES / REQUESTS);
}

static void make_throughput_bound(struct sim *s)
{
	s->request = 10e-6;
	s->byte = 1 / 2e9;
	s->world->budget.run = 256 * KIB;
	s->world->budget.gap = 32 * KIB;
}

/* The forecast is the order's, and its own id. */
static struct forecast *follow(struct sim *s, const uint32_t *files, uint32_t count)
{
	uint32_t *copy = malloc(count * sizeof(*copy));
	struct forecast *forecast;

	assert_non_null(copy);
	memcpy(copy, files, count * sizeof(*copy));
	assert_int_equal(forecast_new(copy, count, NULL, &forecast), 0);
	assert_int_equal(plan_order_follow(&s->order, forecast, forecast), 0);
	return forecast;
}

static const uint32_t *shuffled_from(uint32_t first, uint32_t count)
{
	uint32_t *order = (uint32_t *)(uintptr_t)shuffled(count);

	for (uint32_t i = 0; i < count; i++)
		order[i] += first;
	return order;
}

static struct prefetch_budget budget_now(const struct sim *s)
{
	struct prefetch_budget budget = s->world->budget;

	if (s->memory != NO_END)
		budget.order = s->memory > s->held ? s->memory - s->held : 0;
	return budget;
}

static void note_run(struct sim *s, const struct plan_run *run, uint64_t room)
{
	world_run(s->world, run, room);
	s->held += run->bytes;
}

static void commit(struct sim *s, const struct plan_run *run)
{
	plan_order_commit(&s->order, run, run->count);
}

static bool next_run(struct sim *s, struct plan_run *ret)
{
	struct prefetch_budget budget = budget_now(s);

	if (!plan_order_next(&s->order, &budget, ret))
		return false;
	commit(s, ret);
	note_run(s, ret, budget.order);
	return true;
}

static void read_all(struct sim *s)
{
	struct plan_run run;

	while (next_run(s, &run))
		;
}

/* Somebody asks for a file that is then used at once. */
static void tell_demand(struct sim *s, uint32_t extent)
{
	plan_order_saw(&s->order, extent);
	plan_order_demand(&s->order, extent);
}

static void use(struct sim *s, uint32_t extent)
{
	struct world *w = s->world;

	if (w->pooled[extent])
		s->held -= w->sizes[extent];
	world_ask(w, extent);
	w->served[extent] = true;
	w->pooled[extent] = false;
}

static void demand(struct sim *s, uint32_t extent)
{
	tell_demand(s, extent);
	use(s, extent);
}

/* --- readers and a device -------------------------------------------------------------------- */

static bool is_under_way(const struct sim *s, uint32_t file)
{
	for (unsigned i = 0; i < s->under_way.count; i++)
		if (s->under_way.extents[i] == file)
			return true;
	return false;
}

static bool is_there(const struct sim *s, uint32_t file)
{
	return s->world->pooled[file] && !is_under_way(s, file);
}

static uint32_t batch_end(const struct sim *s, uint32_t batch)
{
	uint32_t left = s->file_count - batch * s->batch;

	return left < s->batch ? left : s->batch;
}

static bool is_finished(const struct sim *s, const struct reader *r)
{
	return (uint64_t)r->batch * s->batch >= s->file_count;
}

/* It may begin a batch when the one FETCH rounds before was used. */
static bool may_go_on(const struct sim *s, const struct reader *r)
{
	return !is_finished(s, r) && r->batch < s->whole + FETCH * s->reader_count;
}

static void step(struct sim *s, struct reader *r)
{
	uint32_t file = s->files[r->batch * s->batch + r->at];

	use(s, file);
	r->awaited = NOWHERE;
	r->free = s->now + s->think;
	s->done[r->batch]++;
	while (s->done[s->whole] && s->done[s->whole] == batch_end(s, s->whole))
		s->whole++;
	if (++r->at < batch_end(s, r->batch))
		return;
	r->at = 0;
	r->batch += s->reader_count;
}

/* Each reader that can goes on; returns whether one did. */
static bool serve(struct sim *s, struct reader *r)
{
	uint32_t file;

	if (!may_go_on(s, r) || r->free > s->now)
		return false;
	file = s->files[r->batch * s->batch + r->at];
	if (r->awaited == NOWHERE) {
		tell_demand(s, file);
		s->misses += !s->world->pooled[file];
		s->waits += !is_there(s, file);
		s->late += !is_there(s, file) && s->world->demands > s->file_count / 4;
		r->awaited = file;
	}
	if (!is_there(s, file))
		return false;
	step(s, r);
	return true;
}

static void begin_read(struct sim *s, const struct plan_run *run)
{
	uint64_t span = span_of(s->world, run);

	s->under_way = *run;
	s->free = s->now + s->request + (double)span * s->byte;
	s->requests++;
}

/* What somebody waits for, with what lies around it. */
static bool read_wanted(struct sim *s)
{
	struct prefetch_budget budget = budget_now(s);
	struct plan_run run;

	for (unsigned i = 0; i < s->reader_count; i++) {
		uint32_t file = s->readers[i].awaited;

		if (file == NOWHERE || s->world->pooled[file])
			continue;
		if (plan_order_around(&s->order, &budget, file, &run))
			commit(s, &run);
		else
			run = (struct plan_run){
				.count = 1, .bytes = s->world->sizes[file], .extents = {file}};
		note_run(s, &run, NO_END);
		begin_read(s, &run);
		return true;
	}
	return false;
}

static void run_device(struct sim *s)
{
	struct plan_run run;

	if (s->under_way.count && s->free > s->now)
		return;
	s->under_way.count = 0;
	s->turn = !s->turn;
	if (s->turn && read_wanted(s))
		return;
	if (next_run(s, &run))
		begin_read(s, &run);
	else
		read_wanted(s);
}

/* To the next time that something happens; false where nothing will. */
static bool advance(struct sim *s)
{
	double next = 1e300;

	if (s->under_way.count)
		next = s->free;
	for (unsigned i = 0; i < s->reader_count; i++)
		if (may_go_on(s, &s->readers[i]) && s->readers[i].free > s->now &&
		    s->readers[i].free < next)
			next = s->readers[i].free;
	if (next == 1e300)
		return false;
	s->now = next;
	return true;
}

/* An epoch by this many readers. Returns its seconds. */
static double run_epoch(struct sim *s, const uint32_t *files, uint32_t count, unsigned readers,
			uint32_t batch)
{
	s->files = files;
	s->file_count = count;
	s->batch = batch;
	s->reader_count = readers;
	for (uint32_t i = 0; i < readers; i++)
		s->readers[i] = (struct reader){.batch = i, .awaited = NOWHERE};
	do {
		bool on = true;

		run_device(s); /* ends a read: what it brought is there */
		while (on) {
			on = false;
			for (unsigned i = 0; i < readers; i++)
				on |= serve(s, &s->readers[i]);
		}
		run_device(s);
	} while (advance(s));
	assert_int_equal(s->world->demands, count);
	return s->now;
}

static void assert_all_was_read_once(const struct sim *s)
{
	assert_nothing_planned_twice(s->world);
	assert_int_equal(wasted(s->world), 0);
}

/* Photos, and an order of theirs; on a hard disk, on an SSD, or under a kernel that keeps them. */
static const uint32_t *order;

static int begin(void **state, bool epochs, void (*make)(struct sim *s))
{
	*state = sim_with(photos(PHOTOS), epochs);
	order = shuffled(PHOTOS);
	if (make)
		make(*state);
	return 0;
}

static int on_a_device(void **state)
{
	return begin(state, true, NULL);
}

static int on_a_disk(void **state)
{
	return begin(state, true, make_seek_bound);
}

static int on_an_ssd(void **state)
{
	return begin(state, true, make_throughput_bound);
}

static int in_the_page_cache(void **state)
{
	return begin(state, false, NULL);
}

FIXTURE_BY(photos, struct sim, on_a_device, NULL);
FIXTURE_BY(disk, struct sim, on_a_disk, NULL);
FIXTURE_BY(ssd, struct sim, on_an_ssd, NULL);
FIXTURE_BY(cached, struct sim, in_the_page_cache, NULL);

GET(wanted, plan_order_wants(&sim.order, &the_world.budget))

DOES(photos, on_a_device((void *[]){NULL}))
DOES(disk, on_a_disk((void *[]){NULL}))
DOES(ssd, on_an_ssd((void *[]){NULL}))
DOES(cached, in_the_page_cache((void *[]){NULL}))
DOES(pace, the_world.budget.pace = n[0])
DOES(read, read_all(&sim))
DOES(memory, sim.memory = n[0])
DOES(part, sim.memory = total_bytes(&the_world) / 100 * n[0])
DOES(changed, make_seek_bound(sim_of(changed_photos(PHOTOS, n[0]))); order = shuffled(PHOTOS))
DOES(once, assert_all_was_read_once(&sim))
GET(held, sim.held)
GET(waits, sim.waits)
GET(late, sim.late)
GET(misses, sim.misses)
GET(requests, sim.requests)
GET(seconds, (uint64_t)sim.now)

/* Thousandths of the time that the device needs for one sweep, and for each file by itself. */
static uint64_t of_time(double requests)
{
	double bytes = (double)total_bytes(&the_world);

	return (uint64_t)(1000 * sim.now / (requests * sim.request + bytes * sim.byte));
}

GET(sweeps, of_time((double)total_bytes(&the_world) / (double)the_world.budget.run))
GET(alone, of_time(PHOTOS))

/* On a hard disk. */
DO(leaves)
{
	make_seek_bound(sim_of(leaf_pages(n[0])));
	follow(&sim, shuffled((uint32_t)n[0]), (uint32_t)n[0]);
}

/* The order, or, in another one, n[1] files from n[0] on. */
DO(follow)
{
	const uint32_t *files = n[1] ? shuffled_from((uint32_t)n[0], (uint32_t)n[1]) : order;

	follow(&sim, files, n[1] ? (uint32_t)n[1] : PHOTOS);
}

/* Places of the order: a reader asks for them; and after each all that is wanted is read; or before
 * each, and then it is there. */
DO(ask)
{
	for (uint64_t i = n[0]; i < n[1]; i++)
		demand(&sim, order[i]);
}

DO(use)
{
	for (uint64_t i = n[0]; i < n[1]; i++) {
		demand(&sim, order[i]);
		read_all(&sim);
	}
}

DO(expect)
{
	for (uint64_t i = n[0]; i < n[1]; i++) {
		read_all(&sim);
		assert_true(the_world.pooled[order[i]]);
		demand(&sim, order[i]);
	}
}

/* They are in the pool; they leave it. Of which there are so many in it. */
DO(have)
{
	for (uint64_t i = n[0]; i < n[1]; i++)
		the_world.pooled[order[i]] = true;
}

DO(evict)
{
	for (uint64_t i = n[0]; i < n[1]; i++)
		the_world.pooled[order[i]] = false;
}

DO(until)
{
	struct plan_run run;

	while (the_world.bytes < n[0])
		assert_true(next_run(&sim, &run));
}

static uint64_t count_there(uint64_t from, uint64_t to)
{
	uint64_t count = 0;

	for (uint64_t i = from; i < to; i++)
		count += the_world.pooled[order[i]];
	return count;
}

GET(there, count_there(n[0], n[1]))

static unsigned any_readers;

/* Of a known order, by so many readers, which need so many microseconds for a file. */
DO(epoch)
{
	unsigned readers = n[0] ? (unsigned)n[0] : any_readers;

	sim.think = (n[1] ? (double)n[1] : readers * 200.0) * 1e-6;
	do_follow((const uint64_t[]){0, 0});
	run_epoch(&sim, order, PHOTOS, readers, 32 / readers);
}

/* However many readers there are. */
#define ANY_READERS(name, text)                                                               \
	TEST(name)                                                                            \
	{                                                                                     \
		for (any_readers = 1; any_readers <= READERS; any_readers += any_readers + 1) \
			story_play(text);                                                     \
	}

/* On a hard disk, and on an SSD. */
#define BOTH(name, text)                   \
	TEST(name)                         \
	{                                  \
		story_play("disk; " text); \
		story_play("ssd; " text);  \
	}

/* --- throughput-bound ------------------------------------------------------- */

ANY_READERS(each_file_is_there_before_it_is_asked_for,
	    "ssd; part 50; epoch; once; waits <= 64; looks < 160000") /* of the first window */

/* No two files that are needed at about the same time lie near enough for one run. */
TEST_WITH(ssd, s, an_ssd_is_read_in_the_order_of_need)
{
	enum { SLICE = 8 }; /* runs, and then some */
	uint32_t place[PHOTOS], far = 0;
	struct plan_run run;

	for (uint32_t i = 0; i < PHOTOS; i++)
		place[order[i]] = i;
	follow(s, order, PHOTOS);
	for (uint32_t files = 0; files < PHOTOS / 2; files += run.count) {
		assert_true(next_run(s, &run));
		for (unsigned i = 0; i < run.count; i++)
			far = place[run.extents[i]] > files + far ? place[run.extents[i]] - files
								  : far;
	}
	assert_true(far <= 8 * MIB / (100 * KIB) + SLICE);
}

static void follow_at_pace(struct sim *s)
{
	follow(s, order, PHOTOS);
	s->world->budget.pace = 40 * MIB;
}

TEST_WITH(ssd, s, an_ssd_reads_no_more_than_the_pace)
{
	follow_at_pace(s);
	for (uint32_t i = 0; i < 2000; i++) {
		read_all(s);
		assert_in_range(s->held, 40 * MIB - LARGEST, 44 * MIB);
		demand(s, order[i]);
	}
	assert_int_equal(s->world->hits, 2000);
	s->world->budget.pace = 0;
	read_all(s);
	assert_int_equal(planned_in(s->world, 0, PHOTOS), PHOTOS);
}

STORY(a_hard_disk_reads_files_of_leaf_pages_in_long_runs,
      "leaves 20000; read; planned 0-20000 = 20000; runs < 156")

/* What they pass is no more ahead of them than what they read. */
TEST_WITH(ssd, s, readers_may_leave_out_a_tenth)
{
	follow_at_pace(s);
	for (uint32_t i = 0; i < PHOTOS; i++) {
		read_all(s);
		if (i % 10)
			demand(s, order[i]);
	}
	assert_int_equal(s->world->hits, PHOTOS / 10 * 9);
	assert_nothing_planned_twice(s->world);
}

/* --- seek-bound -------------------------------------------------------- */

/* Two sweeps, since half of it fits; the windows that double cost a fraction of one. */
ANY_READERS(
	a_hard_disk_takes_as_many_sweeps_as_memory_asks_for,
	"disk; part 50; epoch; once; sweeps < 2500; alone < 238; requests < 1818; misses < 909; "
	"looks < 200000")

/* During a sweep readers take more than fits, since what they have used makes room. Without that it
 * would take 2.8 sweeps and 4.5. */
ANY_READERS(a_sweep_brings_more_than_there_is_room_for,
	    "disk; part 40; epoch; once; sweeps < 2300; disk; part 20; epoch; once; sweeps < 3800")

STORY(memory_for_a_tenth_is_better_than_none, "disk; part 10; epoch 4; once; alone < 667")

/* Readers that need 60 s, and memory for a quarter: what they have used makes room for what comes
 * next while the sweep goes on. */
STORY(sweeps_never_end, "disk; part 25; epoch 4 12000; once; seconds < 80")

STORY(if_all_fits_a_hard_disk_takes_one_sweep,
      "disk; part 120; epoch 4; once; sweeps < 1500; alone < 143")

/* Four readers, each as slow as reading one by one, hardly ever wait: the other half of the memory
 * is always there. */
STORY(slow_readers_do_not_wait_for_a_hard_disk,
      "disk; part 50; epoch 4 35800; once; late = 0; waits < 400; requests < 2857")

/* Windows are small at first; other files are what is left of the window. */
STORY(the_first_files_come_soon, "disk; follow; until 7M; there 0-70 > 60; there 90-20000 = 0")

STORY(after_the_first_window_what_fits_is_read_in_one_sweep,
      "disk; gap 512K; follow; until 9M; recount; until 30M; mean > 220K")

/* Memory that comes back file by file is not filled by a read for each. */
TEST_WITH(disk, s, a_window_waits_until_there_is_room_for_it)
{
	uint64_t bytes, runs = 0;

	s->memory = total_bytes(s->world) / 2;
	follow(s, order, PHOTOS);
	read_all(s);
	for (uint32_t i = 0; i < PHOTOS; i++) {
		bytes = s->world->bytes;
		demand(s, order[i]);
		read_all(s);
		runs += s->world->bytes > bytes;
	}
	assert_all_was_read_once(s);
	assert_int_equal(s->world->hits, PHOTOS);
	assert_true(runs <= 8);
}

TEST_WITH(disk, s, a_reader_that_waits_gets_the_run_around_its_file)
{
	struct prefetch_budget budget;
	struct plan_run run;
	uint32_t at = 0;

	follow(s, order, PHOTOS);
	while (s->world->bytes < 200 * MIB) /* the large window is being read */
		assert_true(next_run(s, &run));
	while (s->world->pooled[order[at]])
		demand(s, order[at++]);
	budget = budget_now(s);
	tell_demand(s, order[at]);
	assert_true(plan_order_around(&s->order, &budget, order[at], &run));
	assert_true(run.count > 4);
	commit(s, &run);
	note_run(s, &run, NO_END);
	assert_true(s->world->pooled[order[at]]);
	use(s, order[at]);
	read_all(s);
	assert_nothing_planned_twice(s->world);
	assert_int_equal(planned_in(s->world, 0, PHOTOS), PHOTOS);
}

TEST_WITH(disk, s, a_file_that_does_not_fit_brings_nothing_with_it)
{
	struct plan_run run;
	uint32_t at = 0;

	follow(s, order, PHOTOS);
	while (s->world->bytes < 200 * MIB)
		assert_true(next_run(s, &run));
	s->world->budget.order = 150 * KIB;
	for (; at < PHOTOS; at++)
		if (!s->world->pooled[order[at]] && s->world->sizes[order[at]] > 150 * KIB)
			assert_false(
				plan_order_around(&s->order, &s->world->budget, order[at], &run));
}

/* --- what is read, and what is not ----------------------------------------------------------- */

BOTH(nothing_of_other_files_is_read,
     "follow 5000 10000; read; planned 5000-15000 = 10000; planned 0-20000 = 10000")

/* world_run() asserts that it is left alone. */
STORY(what_is_there_is_not_read, "disk; pool 0-20000 3; follow; read; planned 0-20000 = 13333")

/* Other jobs use what lies in the pool, and it is evicted. */
STORY(what_is_there_now_may_be_gone_when_it_comes,
      "ssd; pace 20M; follow; have 1000-2000; expect 0-500; evict 1000-2000; expect 500-2000; "
      "hits = 2000")

/* Many workers begin batches at once, farther on than the forecast expects. */
TEST(what_was_asked_for_unforeseen_is_not_read)
{
	struct sim *s = sim_of(photos(2000));
	const uint32_t *files = shuffled(2000);
	const struct forecast *forecast = follow(s, files, 2000);
	uint32_t early = files[1500];

	make_throughput_bound(s);
	demand(s, early);
	for (uint32_t i = 0; i < 1490; i++)
		demand(s, files[i]);
	assert_true(forecast_foresees(forecast, early));
	read_all(s);
	assert_false(s->world->pooled[early]);
	assert_true(s->world->pooled[files[1501]]);
}

STORY(what_the_page_cache_has_is_not_read,
      "cached; serve 0-20000 2; follow; read; planned 0-20000 2 = 0; "
      "planned 1-20000 2 = 10000; twice = 0")

/* Readers ask again for all that they were served before: the page cache has dropped it. */
STORY(what_the_page_cache_dropped_is_read,
      "cached; serve 0-20000; follow; read; runs = 0; ask 0-200; read; "
      "planned 0-20000 > 19700")

/* One in eight is read, in eight pieces; the page cache has the others. */
TEST_WITH(cached, s, a_page_cache_that_dropped_little_has_little_read)
{
	memset(s->world->served, true, sizeof(s->world->served));
	follow(s, order, PHOTOS);
	for (uint32_t i = 0; i < 8000; i++) {
		for (int read = 0; read < 8 && i % 8 == 0; read++)
			demand(s, order[i]);
		if (i % 8)
			plan_order_saw(&s->order, order[i]); /* it was opened */
		read_all(s);
	}
	assert_int_equal(s->world->runs, 0);
}

/* A file that cannot be read would be the next one for ever. */
TEST_WITH(disk, s, what_fails_is_read_twice_and_no_more)
{
	const uint32_t bad = 4711;
	struct plan_run run;

	follow(s, order, PHOTOS);
	while (next_run(s, &run))
		s->world->pooled[bad] = false;
	assert_in_range(s->world->planned[bad], 1, 2);
	assert_int_equal(planned_in(s->world, 0, PHOTOS), PHOTOS);
	for (uint32_t i = 0; order[i] != bad; i++) {
		demand(s, order[i]);
		while (next_run(s, &run))
			s->world->pooled[bad] = false;
	}
	assert_int_equal(s->world->planned[bad], 2);
}

TEST_AGAIN(ssd, what_fails_is_read_twice_and_no_more);

/* What was read ahead and left the pool is read again before its readers come. */
STORY(what_was_evicted_is_read_again,
      "ssd; follow; read; evict 1000-2000; use 0-1000; there 1000-2000 = 1000")

/* The device did not keep up, and nearly all of the epoch is over. */
BOTH(the_last_files_of_an_epoch_are_read_too,
     "follow; ask 0-19900; bytes = 0; expect 19900-20000; wanted = 0")

/* Other files are listed, and were to be read before it. */
STORY(what_was_evicted_goes_first,
      "ssd; pace 100M; follow; read; evict 500-600; use 0-500; there 500-600 = 100")

/* --- files of many extents ------------------------------------------------------------------- */

static void resolve_eight(void *context, uint64_t number, struct extent *ret)
{
	world_resolve(context, number, ret);
	ret->file = number / 8 * 8;
	ret->file_end = ret->file + 8;
}

TEST_WITH(disk, s, a_file_is_read_with_all_of_its_extents)
{
	struct world *w = s->world;
	uint32_t files[1000];

	w->view.resolve = resolve_eight;
	for (uint32_t i = 0; i < 1000; i++)
		files[i] = 16 * i; /* every other file */
	follow(s, files, 1000);
	assert_true(plan_order_has(&s->order, 48));
	assert_true(plan_order_has(&s->order, 55)); /* any extent of it */
	assert_false(plan_order_has(&s->order, 56));
	read_all(s);
	for (uint64_t e = 0; e < 16000; e++)
		assert_int_equal(w->planned[e], e / 8 % 2 == 0);
}

TEST_AGAIN(ssd, a_file_is_read_with_all_of_its_extents);

/* --- several forecasts ----------------------------------------------------------------------- */

BOTH(two_forecasts_share_the_room,
     "memory 400M; follow 0 10000; follow 10000 10000; read; held > 350M; "
     "planned 0-10000 > 1550; planned 0-10000 < 2150; planned 10000-20000 > 1550; "
     "planned 10000-20000 < 2150")

/* The first one has all the memory; what its readers free goes to the other. */
TEST_WITH(disk, s, a_late_comer_gets_its_share)
{
	uint32_t first[10000];
	uint64_t before, bytes, freed;

	memcpy(first, shuffled(10000), sizeof(first));
	s->memory = 400 * MIB;
	follow(s, first, 10000);
	read_all(s);
	before = planned_in(s->world, 0, 10000);
	bytes = s->world->bytes;
	assert_true(s->held > 350 * MIB);
	follow(s, shuffled_from(10000, 10000), 10000);
	for (uint32_t i = 0; i < before / 3; i++) {
		demand(s, first[i]);
		read_all(s);
	}
	assert_int_equal(planned_in(s->world, 0, 10000), before);
	freed = s->world->asked_bytes;
	assert_in_range(s->world->bytes - bytes, freed * 3 / 5, s->memory - bytes + freed);
}

TEST_AGAIN(ssd, a_late_comer_gets_its_share);

STORY(two_jobs_with_the_same_files_read_them_once,
      "photos; follow; follow 0 20000; read; twice = 0; planned 0-20000 = 20000")

TEST_WITH(ssd, s, what_one_job_had_is_read_for_the_other)
{
	uint32_t other[2000];

	for (uint32_t i = 0; i < 2000; i++)
		other[i] = order[1999 - i];
	follow(s, order, 2000);
	follow(s, other, 2000);
	for (uint32_t i = 0; i < 20; i++)
		demand(s, order[i]);
	read_all(s);
	assert_int_equal(count_there(0, 20), 20);
}

/* They were opened while the first order was the only one, and read when the next one was known. */
TEST_WITH(ssd, s, the_last_files_of_an_epoch_are_read_for_the_next_one)
{
	enum { FILES = 2000, LAST = FILES - 16 };
	const uint32_t *next;
	uint32_t first[FILES];

	memcpy(first, order, sizeof(first));
	follow(s, first, FILES);
	read_all(s);
	for (uint32_t i = 0; i < LAST; i++)
		demand(s, first[i]);
	for (uint32_t i = LAST; i < FILES; i++)
		plan_order_saw(&s->order, first[i]);
	next = shuffled(FILES);
	follow(s, next, FILES);
	for (uint32_t i = LAST; i < FILES; i++) {
		plan_order_demand(&s->order, first[i]);
		use(s, first[i]);
	}
	for (uint32_t i = 0; i < FILES; i++) {
		read_all(s);
		assert_true(s->world->pooled[next[i]]);
		demand(s, next[i]);
	}
}

TEST(a_forecast_that_is_left_is_not_read_any_more)
{
	struct sim *s = sim_of(photos(PHOTOS));
	struct forecast *first = follow(s, shuffled_from(0, 10000), 10000);
	struct plan_run run;
	uint64_t before;

	make_seek_bound(s);
	follow(s, shuffled_from(10000, 10000), 10000);
	while (s->world->bytes < 200 * MIB)
		assert_true(next_run(s, &run));
	before = planned_in(s->world, 0, 10000);
	assert_true(before > 0);
	assert_ptr_equal(plan_order_leave(&s->order, first), first);
	assert_null(plan_order_leave(&s->order, first));
	forecast_free(first);
	assert_false(plan_order_has(&s->order, 0));
	read_all(s);
	assert_int_equal(planned_in(s->world, 0, 10000), before);
	assert_int_equal(planned_in(s->world, 10000, PHOTOS), 10000);
}

TEST(a_limited_number_of_forecasts_is_followed)
{
	struct sim *s = sim_of(photos(PHOTOS));
	struct forecast *forecast;

	for (uint32_t i = 0; i < FORECASTS; i++)
		forecast = follow(s, shuffled_from(i * 1000, 1000), 1000);
	assert_int_equal(plan_order_follow(&s->order, s, forecast), -ENOSPC);
	assert_ptr_equal(plan_order_leave(&s->order, forecast), forecast);
	assert_int_equal(plan_order_follow(&s->order, s, forecast), 0);
	read_all(s);
	assert_int_equal(planned_in(s->world, 0, PHOTOS), FORECASTS * 1000);
}

/* --- where readers are ----------------------------------------------------------------------- */

/* Readers that leave out each tenth. */
TEST_WITH(photos, s, what_was_passed_some_demands_ago_is_told_once)
{
	follow(s, order, PHOTOS);
	for (uint32_t i = 0; i < 2000; i++) {
		if (i % 10)
			demand(s, order[i]);
		assert_true(s->world->passed <= i);
	}
	assert_in_range(s->world->passed, 1200, 1990);
}

/* As io_uring's readers do: a batch is opened, and then read. */
TEST_WITH(photos, s, what_is_open_and_not_read_yet_is_not_told)
{
	follow(s, order, PHOTOS);
	for (uint32_t at = 0; at < 128 * 50; at++) {
		if (at % 128 == 0)
			for (uint32_t i = 0; i < 128; i++)
				plan_order_saw(&s->order, order[at + i]);
		demand(s, order[at]);
		assert_true(s->world->passed <= at + 1);
	}
	assert_true(s->world->passed >= 128 * 46);
}

STORY(what_another_order_has_too_is_not_told, "photos; follow; follow; ask 0-2000; passed = 0")

static bool first_of(void *arg, uint32_t file)
{
	*(uint32_t *)arg = file;
	return false;
}

TEST_WITH(photos, s, of_two_orders_the_one_that_is_read_goes_on)
{
	struct forecast *a = follow(s, order, PHOTOS), *b;
	uint32_t i = 0, next;

	for (; i < 100; i++)
		plan_order_saw(&s->order, order[i]);
	b = follow(s, order, PHOTOS);
	for (; i < 200; i++)
		plan_order_saw(&s->order, order[i]);
	assert_int_equal(forecast_position(a), 200);
	assert_int_equal(forecast_position(b), 0);
	assert_true(plan_order_may_push(&s->order));
	plan_order_to_push(&s->order, first_of, &next);
	assert_int_equal(next, order[200]);
	plan_order_pushed(&s->order, order[200]);
	plan_order_to_push(&s->order, first_of, &next);
	assert_int_equal(next, order[201]);
	forecast_free(plan_order_leave(&s->order, a));
	assert_false(plan_order_may_push(&s->order)); /* nobody has begun with b */
}

/* --- what it costs --------------------------------------------------------------------------- */

STORY(without_room_nothing_is_looked_at,
      "photos; room all all 0; follow; wanted = 0; read; looks = 0")

TEST_WITH(photos, s, if_all_is_there_little_is_looked_at)
{
	memset(s->world->pooled, true, sizeof(s->world->pooled));
	follow(s, order, PHOTOS);
	for (uint32_t i = 0; i < PHOTOS; i++) {
		s->held = 0;
		tell_demand(s, order[i]);
		if (plan_order_wants(&s->order, &s->world->budget))
			read_all(s);
	}
	assert_int_equal(s->world->runs, 0);
	assert_true(s->world->looks < 10 * PHOTOS);
}

TEST(small_packs_are_fine)
{
	const uint32_t none = 0;
	struct sim *s = sim_of(photos(3));

	follow(s, shuffled(3), 3);
	read_all(s);
	assert_int_equal(s->world->bytes, total_bytes(s->world));
	s = sim_of(photos(1));
	follow(s, &none, 1);
	read_all(s);
	assert_int_equal(s->world->bytes, total_bytes(s->world));
}

static int release(void **state)
{
	(void)state;
	release_sim();
	return 0;
}

int main(void)
{
	return test_run(NULL, release);
}

/* One of 20 had divided so many reads that there were twice as many, one of 10 three times. */
STORY(a_delta_does_not_divide_the_reads_of_its_base,
      "changed 100; part 50; epoch 4; once; requests < 1800; changed 20; part 50; epoch 4; once; "
      "requests < 1800; changed 10; part 50; epoch 4; once; requests < 1800")
