/* Files that are read in an order that is known before: pack/tool/work/batch_ahead.h. */
#include "far_pack.h"
#include "pack/tool/work/batch_ahead.h"

struct world {
	struct fixture pack;
	struct far *far;
	struct reader *near;
	uint32_t files[512];
	size_t count;
	struct batch_ahead *ahead;
	char *buf;
};

static void world_setup(struct world *w)
{
	fixture_setup(&w->pack);
	w->buf = malloc(64 * MIB);
}

static void world_teardown(struct world *w)
{
	batch_ahead_free(w->ahead);
	free(w->buf);
	fixture_teardown(&w->pack);
}

FIXTURE(w, struct world, world_setup, world_teardown);

/* "c/000", ... of `size` bytes each. */
static void add_files(struct world *w, unsigned count, uint64_t size)
{
	char path[32];

	for (unsigned i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "c/%03u", i);
		add_path(&w->pack, path, size);
	}
}

/* All files are to be read, in the order of their names. */
static void open_far(struct world *w)
{
	struct fixture *f = &w->pack;

	w->far = far_open(f);
	for (uint32_t e = 0; e < dataset_entries(f->dataset); e++)
		if (format_is_file(dataset_entry(f->dataset, e).kind))
			w->files[w->count++] = e;
}

static void begin_reading(struct world *w)
{
	assert_done(batch_ahead_new(w->pack.dataset, w->files, w->count, &w->ahead));
}

static void begin_all(struct world *w)
{
	begin_reading(w);
	for (size_t i = 0; i < w->count; i++)
		batch_ahead_begin(w->ahead, i);
}

/* Where its first byte lies in the pack. */
static uint64_t place_of(const struct world *w, size_t number)
{
	struct dataset *dataset = w->pack.dataset;

	return dataset_extent(dataset, dataset_first_extent(dataset, w->files[number])).offset;
}

static uint64_t size_of(const struct world *w, size_t number)
{
	return dataset_entry(w->pack.dataset, w->files[number]).size;
}

/* Its bytes are those of the pack, as it is on this machine. */
static void expect_right(const struct world *w, size_t number)
{
	uint64_t size = size_of(w, number);
	char *want = malloc(size + 1);

	assert_non_null(want);
	memset(w->buf, 0, size);
	assert_done(batch_ahead_read(w->ahead, number, w->buf));
	assert_done(reader_get_full(w->far->near, want, size, place_of(w, number)));
	assert_memory_equal(w->buf, want, size);
	free(want);
}

TEST_OF(w, neighbours_come_by_one_request)
{
	add_files(w, 40, 3000);
	open_far(w);
	begin_all(w);
	for (size_t i = w->count; i-- > 0;)
		expect_right(w, i);
	assert_int_equal(w->far->reads, 1);
}

TEST_OF(w, each_file_is_begun_when_there_is_room_for_it)
{
	add_files(w, 300, 100);
	open_far(w);
	begin_reading(w);
	for (size_t i = 0; i < w->count; i++) {
		batch_ahead_begin(w->ahead, i);
		expect_right(w, i);
	}
	assert_int_equal(w->far->reads, 2); /* as there are 256 files in a batch */
}

TEST_OF(w, all_requests_are_under_way_before_anybody_reads)
{
	add_files(w, 80, MIB);
	open_far(w);
	far_hold(w->far, true);
	begin_all(w);
	assert_in_range(far_waiting(w->far), 20, 27);
	far_hold(w->far, false);
	for (size_t i = 0; i < w->count; i++)
		expect_right(w, i);
	assert_in_range(w->far->reads, 20, 27);
}

static void *let_go_soon(void *context)
{
	struct world *w = context;

	while (!far_awaited(w->far))
		sched_yield();
	far_hold(w->far, false);
	return NULL;
}

TEST_OF(w, who_waits_says_so_to_the_reader)
{
	pthread_t id;

	add_files(w, 4, 3000);
	open_far(w);
	far_hold(w->far, true);
	begin_all(w);
	assert_int_equal(pthread_create(&id, NULL, let_go_soon, w), 0);
	expect_right(w, 2);
	pthread_join(id, NULL);
}

TEST_OF(w, the_reader_is_told_what_was_right)
{
	add_files(w, 12, MIB);
	open_far(w);
	w->far->bad = place_of(w, 1);
	begin_all(w);
	for (size_t i = 2; i < w->count - 1; i++)
		batch_ahead_read(w->ahead, i, w->buf);
	expect_right(w, w->count - 1);
	assert_true(poll_until(w->far->settled < w->far->reads)); /* file 0 was not read */
	assert_int_equal(batch_ahead_read(w->ahead, 0, w->buf), -EIO);
	assert_int_equal(batch_ahead_read(w->ahead, 1, w->buf), -EIO);
	batch_ahead_free(steal_ptr(&w->ahead));
	assert_int_equal(w->far->settled, w->far->reads);
	assert_int_equal(w->far->right, w->far->reads - 1);
}

TEST_OF(w, a_long_file_comes_in_pieces)
{
	add_files(w, 2, 9 * MIB + 5);
	open_far(w);
	begin_reading(w);
	batch_ahead_begin(w->ahead, 0);
	batch_ahead_begin(w->ahead, 1);
	expect_right(w, 0);
	expect_right(w, 1);
	assert_int_equal(w->far->reads, 6);
}

TEST_OF(w, files_that_are_passed_over_are_not_waited_for)
{
	add_files(w, 40, 3000);
	open_far(w);
	begin_reading(w);
	for (size_t i = 7; i < w->count; i += 3) {
		batch_ahead_begin(w->ahead, i);
		expect_right(w, i);
	}
	assert_int_equal(w->far->reads, 1);
	expect_right(w, 3); /* which has not begun */
}

TEST_OF(w, an_empty_file_needs_no_request)
{
	add_files(w, 3, 0);
	open_far(w);
	begin_reading(w);
	for (size_t i = 0; i < w->count; i++) {
		batch_ahead_begin(w->ahead, i);
		assert_done(batch_ahead_read(w->ahead, i, w->buf));
	}
	assert_int_equal(w->far->reads, 0);
}

TEST_OF(w, what_is_near_is_read_file_by_file)
{
	add_files(w, 10, 3000);
	open_far(w);
	w->far->is_near = true;
	begin_all(w);
	for (size_t i = 0; i < w->count; i++)
		expect_right(w, i);
	assert_int_equal(w->far->reads, 10);
}

TEST_OF(w, what_does_not_match_its_checksum_is_read_once_more)
{
	add_files(w, 4, 3000);
	open_far(w);
	w->far->flip = place_of(w, 2);
	begin_all(w);
	for (size_t i = 0; i < w->count; i++)
		expect_right(w, i);
	assert_int_equal(w->far->reads, 2);
}

TEST_OF(w, what_is_under_way_can_be_given_up)
{
	add_files(w, 12, MIB);
	open_far(w);
	far_hold(w->far, true);
	begin_all(w);
	assert_in_range(far_waiting(w->far), 3, 5);
	batch_ahead_free(steal_ptr(&w->ahead));
	assert_int_equal(far_waiting(w->far), 0);
	assert_int_equal(w->far->awaited, 0);
	assert_int_equal(w->far->reads, 0);
}

static void *read_some(void *context)
{
	struct world *w = context;
	static atomic_size_t next;
	char *buf = malloc(4000);

	for (size_t i; (i = next++) < w->count;)
		assert_done(batch_ahead_read(w->ahead, i, buf));
	free(buf);
	return NULL;
}

TEST_OF(w, many_threads_read)
{
	pthread_t threads[8];

	add_files(w, 500, 3000);
	open_far(w);
	begin_all(w);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_some, w), 0);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(w->far->reads, 2);
}
