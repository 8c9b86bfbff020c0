/* Writing to a copy beside those who wait for its bytes: remote/block_writer.h. */
#include "base/size.h"
#include "remote/block_writer.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define KEY   "0123456789abcdef0123456789abcdef"
#define PIECE (256 * KIB)
#define SIZE  (16 * MIB)
#define BOUND (5 * MIB)
#define TIMES 20

struct fixture {
	char dir[64];
	struct block_store *store;
	struct blocks *blocks;
	struct block_writer *writer;
	struct block_target target;
};

static unsigned notices;

static void count_notice(const char *line)
{
	assert_non_null(strstr(line, "the disk cache cannot be written to: File too large"));
	notices++;
}

static void open_all(struct fixture *f, uint64_t bound)
{
	char spec[128];

	snprintf(f->dir, sizeof(f->dir), "/var/tmp/test_block_writer.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(spec, sizeof(spec), "%s,%llu", f->dir, (unsigned long long)(bound));
	assert_int_equal(block_store_open(spec, &f->store, NULL), 0);
	assert_int_equal(block_store_blocks(f->store, KEY, SIZE, &f->blocks), 0);
	assert_int_equal(block_writer_new(f->store, count_notice, &f->writer), 0);
	f->target = (struct block_target){.writer = f->writer, .blocks = f->blocks};
}

static void close_all(struct fixture *f)
{
	block_writer_free(f->writer);
	blocks_free(f->blocks);
	block_store_free(f->store);
	scratch_remove(f->dir);
}

static void put(struct fixture *f, uint64_t offset)
{
	struct block_piece *piece = block_writer_take(&f->target, PIECE, offset, true);

	if (!piece)
		return;
	memset(piece->memory, 'p', PIECE);
	block_writer_put(piece);
}

TEST(two_threads_that_write_keep_a_bound)
{
	for (int i = 0; i < TIMES; i++) {
		uint64_t bound = BOUND + (uint64_t)i * 4 * KIB;
		struct block_writer_stats stats;
		struct fixture f;
		uint64_t used;

		open_all(&f, bound);
		for (uint64_t offset = 0; offset < SIZE; offset += PIECE)
			put(&f, offset);
		block_writer_drain(&f.target);
		used = blocks_used(f.blocks);
		block_writer_stats(&f.target, &stats);
		close_all(&f);
		assert_in_range(used, bound - MIB, bound);
		assert_true(stats.full && !stats.failed);
		assert_in_range(stats.left_out, SIZE - bound, SIZE - bound + MIB);
	}
}

/* What is written is counted once: a copy fits into a bound that is hardly larger. */
TEST(two_threads_that_write_use_all_of_a_bound)
{
	for (int i = 0; i < TIMES; i++) {
		struct block_writer_stats stats;
		struct fixture f;

		open_all(&f, SIZE + 64 * KIB);
		for (uint64_t offset = 0; offset < SIZE; offset += PIECE)
			put(&f, offset);
		block_writer_drain(&f.target);
		block_writer_stats(&f.target, &stats);
		close_all(&f);
		assert_false(stats.full || stats.failed);
		assert_int_equal(stats.left_out, 0);
	}
}

TEST(after_a_write_that_fails_nothing_is_added_and_it_is_said_once)
{
	struct block_writer_stats stats;
	struct rlimit old, low;
	struct fixture f;
	uint64_t end;

	open_all(&f, 2 * SIZE);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = (struct rlimit){.rlim_cur = MIB, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	for (int i = 0; i < 3; i++)
		put(&f, 2 * MIB);
	block_writer_drain(&f.target);
	put(&f, 0);
	block_writer_drain(&f.target);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	block_writer_stats(&f.target, &stats);
	assert_true(stats.failed && !stats.full);
	assert_int_equal(stats.left_out, 4 * PIECE);
	assert_int_equal(notices, 1);
	assert_false(blocks_look(f.blocks, 0, SIZE, &end));
	assert_int_equal(end, SIZE);
	close_all(&f);
}

/* However many copies there are. */
TEST(what_waits_to_be_written_is_bounded_for_all_copies_together)
{
	struct block_piece *pieces[4 * 128];
	struct block_target other;
	struct fixture f;
	uint64_t count = 0;

	open_all(&f, 2 * SIZE);
	other = f.target;
	for (unsigned i = 0; i < 4 * 128; i++) {
		struct block_target *target = i % 2 ? &other : &f.target;

		pieces[count] = block_writer_take(target, MIB, 0, false);
		count += pieces[count] != NULL;
	}
	assert_int_equal(count, 128);
	assert_int_equal(f.target.left_out + other.left_out, (4 * 128 - 128) * MIB);
	while (count) {
		pieces[--count]->len = 0;
		block_writer_put(pieces[count]);
	}
	close_all(&f);
}
