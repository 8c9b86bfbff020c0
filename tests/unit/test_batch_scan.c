/* All of a pack, or some files of it, by batches and in many threads: pack/tool/work/batches.h and
 * pack/tool/read/batch_scan.h, of servers. Of files: tests/mount/test_verify.py. */
#include "far_pack.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/work/interrupt.h"
#include <sys/wait.h>

/* --- batches -------------------------------------------------------------------------------- */

enum { FILES_MOST = 4000, WINDOWS_MOST = 64 };

/* What lies in a pack, as batch_list_next() gives it out. */
struct glass {
	uint32_t files[FILES_MOST];
	size_t count;
	struct batch_list batches;
	struct batch all[WINDOWS_MOST];
	unsigned made;
};

/* Every file of the pack whose number among them leaves the remainder 0. */
static void cut(struct fixture *f, uint32_t divisor, struct glass *glass)
{
	uint32_t number = 0;

	for (uint32_t e = 0; e < dataset_entries(f->dataset); e++) {
		if (dataset_child(f->dataset, e).kind == FORMAT_FILE && number++ % divisor == 0)
			glass->files[glass->count++] = e;
	}
	assert_done(batch_sort(f->dataset, glass->files, glass->count));
	glass->batches = (struct batch_list){
		.dataset = f->dataset, .files = glass->files, .count = glass->count};
	while (glass->made < WINDOWS_MOST &&
	       batch_list_next(&glass->batches, &glass->all[glass->made]))
		glass->made++;
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, files_come_in_the_order_in_which_they_were_stored)
{
	struct glass glass = {0};
	static const char *const names[] = {"d", "b", "a", "e", "c"};
	uint32_t ids[5];

	for (unsigned i = 0; i < 5; i++)
		ids[i] = add_name(f, PACK_ROOT, names[i]);
	for (unsigned i = 0; i < 5; i++)
		store(f, ids[i], names[i], 200 * KIB);
	finish_and_open(f);
	cut(f, 1, &glass);
	assert_int_equal(glass.made, 1);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(glass.files[i], find(f, names[i]));
}

TEST_OF(f, a_long_file_is_pieces_and_the_next_begins_anew)
{
	struct glass glass = {0};
	struct batch_extents extents;

	add_file(f, PACK_ROOT, "a", 10 * MIB + 1);
	add_file(f, PACK_ROOT, "b", 100);
	add_file(f, PACK_ROOT, "c", 4 * MIB);
	add_file(f, PACK_ROOT, "d", 4 * MIB + 1);
	finish_and_open(f);
	cut(f, 1, &glass);
	/* Where b lies is LMDB's choice: with others of its size, on a page of keys. */
	assert_int_equal(glass.made, 7);
	for (unsigned i = 0, pieces = 0; i < glass.made; i++) {
		const struct batch *batch = &glass.all[i];

		if (*batch->files != find(f, "a"))
			continue;
		assert_true(batch->piece);
		assert_int_equal(batch->from, pieces * BATCH_BYTES);
		assert_int_equal(batch->last, pieces == 2);
		extents = batch_extents(f->dataset, batch, 0);
		assert_int_equal(extents.first,
				 dataset_first_extent(f->dataset, find(f, "a")) + 4 * pieces);
		assert_int_equal(extents.count, pieces == 2 ? 3 : 4);
		pieces++;
	}
}

TEST_OF(f, what_lies_far_between_is_not_read_along)
{
	struct glass all = {0};
	struct glass some = {0};
	uint64_t bytes = 0;
	char name[16];

	for (unsigned i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "%02u", i);
		add_file(f, PACK_ROOT, name, 300 * KIB);
	}
	finish_and_open(f);
	cut(f, 1, &all);
	cut(f, 2, &some);
	assert_int_equal(all.made, 1);
	assert_int_equal(some.made, 6);
	for (unsigned i = 0; i < some.made; i++)
		bytes += some.all[i].len;
	assert_int_equal(bytes, 6 * 300 * KIB);
}

/* --- sweeping ------------------------------------------------------------------------------- */

struct note {
	unsigned number; /* of the batch */
	uint64_t bytes;	 /* that were right */
	unsigned unreadable;
};

struct broom {
	struct fixture *f;
	unsigned begun, done, workers;
	uint64_t bytes;
	unsigned unreadable;
	unsigned stop;	 /* with this batch; 0: never */
	struct far *far; /* where somebody waits for a read before it stops */
};

static int broom_begin(void *context, const struct batch *batch, void *note)
{
	struct broom *broom = context;
	struct note *n = note;

	(void)batch;
	assert_int_equal(n->number, 0);
	n->number = ++broom->begun;
	if (broom->begun != broom->stop)
		return 0;
	while (!far_awaited(broom->far))
		sched_yield();
	return -ECANCELED;
}

static void look(struct fixture *f, struct batch_reader *reader, uint64_t number, struct note *note)
{
	SCOPE_FREE char *want = malloc(FORMAT_EXTENT);
	struct dataset_extent extent;
	struct dataset_entry entry;
	char *data;

	if (batch_reader_check(reader, number, &extent, &data) < 0) {
		note->unreadable++;
		return;
	}
	entry = dataset_entry(f->dataset, extent.entry);
	pattern_bytes(pattern_seed(entry.name, entry.name_len), extent.from, want, extent.size);
	if (memcmp(data, want, extent.size) == 0)
		note->bytes += extent.size;
}

static void broom_work(void *context, unsigned worker, const struct batch *batch,
		       struct batch_reader *reader, void *note)
{
	struct broom *broom = context;

	if (worker >= broom->workers)
		return; /* is missed in the sum */
	batch_reader_read(reader, batch);
	for (uint32_t i = 0; i < batch->count; i++) {
		struct batch_extents extents = batch_extents(reader->dataset, batch, i);

		for (uint64_t k = 0; k < extents.count; k++)
			look(broom->f, reader, extents.first + k, note);
	}
}

static int broom_done(void *context, const struct batch *batch, void *note)
{
	struct broom *broom = context;
	const struct note *n = note;

	(void)batch;
	assert_int_equal(n->number, ++broom->done);
	broom->bytes += n->bytes;
	broom->unreadable += n->unreadable;
	return 0;
}

static int swept(struct fixture *f, unsigned jobs, struct broom *broom)
{
	struct glass glass = {0};
	struct batch_scan_params params = {.dataset = f->dataset,
					   .files = glass.files,
					   .jobs = jobs,
					   .note_size = sizeof(struct note),
					   .begin = broom_begin,
					   .work = broom_work,
					   .done = broom_done,
					   .context = broom};

	broom->f = f;
	broom->workers = jobs;
	cut(f, 1, &glass);
	params.count = glass.count;
	return batch_scan(&params);
}

/* --- far -------------------------------------------------------------------------------------- */

static struct far *far_with(struct fixture *f, unsigned count)
{
	char name[16];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%02u", i);
		add_file(f, PACK_ROOT, name, MIB);
	}
	return far_open(f);
}

static void *let_go_when_many_wait(void *far)
{
	while (far_waiting(far) < 12)
		sched_yield();
	far_hold(far, false);
	return NULL;
}

TEST_OF(f, one_thread_has_many_reads_of_a_server_under_way)
{
	struct far *far = far_with(f, 80);
	struct broom broom = {0};
	pthread_t id;

	far_hold(far, true);
	assert_int_equal(pthread_create(&id, NULL, let_go_when_many_wait, far), 0);
	assert_done(swept(f, 1, &broom));
	pthread_join(id, NULL);
	assert_int_equal(broom.bytes, 80 * MIB);
	assert_int_equal(far->reads, broom.done);
	assert_int_equal(far->right, far->settled);
	assert_int_equal(far->settled, broom.done);
}

TEST_OF(f, a_batch_that_a_server_refuses_costs_its_files_alone)
{
	struct far *far = far_with(f, 12);
	struct broom broom = {0};

	far->bad =
		dataset_extent(f->dataset, dataset_first_extent(f->dataset, find(f, "05"))).offset;
	assert_done(swept(f, 2, &broom));
	assert_in_range(broom.unreadable, 1, 4);
	assert_int_equal(broom.bytes, (12 - broom.unreadable) * MIB);
	assert_int_equal(far->settled, far->right + 1);
}

/* The reads are held: they end only if they are cancelled while a thread waits. */
TEST_OF(f, a_failure_gives_up_what_its_threads_wait_for)
{
	struct far *far = far_with(f, 12);
	struct broom broom = {.stop = 3, .far = far};

	far_hold(far, true);
	assert_int_equal(swept(f, 1, &broom), -ECANCELED);
	assert_int_equal(broom.done, 0);
	assert_int_equal(far->awaited, 1);
	assert_int_equal(far_waiting(far), 0);
}

static void *interrupt_who_waits(void *far)
{
	while (!far_awaited(far))
		sched_yield();
	kill(getpid(), SIGTERM);
	return NULL;
}

/* In a process of its own, as an interruption stays. */
TEST_OF(f, an_interruption_ends_the_wait_for_a_server)
{
	struct far *far = far_with(f, 12);
	struct broom broom = {0};
	pthread_t id;
	int status;
	pid_t pid;

	far_hold(far, true);
	pid = fork();
	if (pid == 0) {
		interrupt_catch();
		if (pthread_create(&id, NULL, interrupt_who_waits, far) != 0)
			_exit(2);
		if (swept(f, 2, &broom) < 0 || broom.done != broom.begun)
			_exit(3);
		pthread_join(id, NULL);
		_exit(broom.unreadable == 12 && far->reads == 0 ? 0 : 4);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
