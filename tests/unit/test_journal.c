/* The journal by itself: what was added comes back in its order, and of a file that ends anywhere,
 * or has a wrong byte anywhere, only what lies before that counts. */
#include "base/io.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/write/journal.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define assert_done(r) assert_int_equal(r, 0)

static const uint8_t run[FORMAT_RUN_BYTES] = "a run's number..";

struct fixture {
	char dir[64], path[96], pack_path[96];
	int pack;
	struct journal *journal;
	struct journal_params params;
	off_t ends[3]; /* of write_three() */
};

static void setup(struct fixture *f)
{
	scratch_make(f->dir);
	snprintf(f->path, sizeof(f->path), "%s/journal", f->dir);
	snprintf(f->pack_path, sizeof(f->pack_path), "%s/pack", f->dir);
	f->pack = open(f->pack_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(f->pack >= 0);
	f->params = (struct journal_params){.path = f->path,
					    .pack = f->pack,
					    .run = run,
					    .options = "order=path\nresize=256\n"};
}

static void teardown(struct fixture *f)
{
	journal_free(f->journal);
	close(f->pack);
	unlink(f->path);
	unlink(f->pack_path);
	rmdir(f->dir);
}

/* --- words --------------------------------------------------------------------------------- */

/* All that is in a record follows from its number. */
static struct journal_record record_of(unsigned number, uint64_t checksums[8], char note[16])
{
	struct journal_record record = {
		.kind = (enum journal_kind)(JOURNAL_STORED + number % 4),
		.image = {.kind = IMAGE_PNG, .width = number, .height = 2 * number},
		.fingerprint = 1000 + number,
		.size = number * 77777,
		.checksums = checksums,
		.checksum_count = number % 9 < 8 ? number % 9 : 0,
		.note = note,
	};

	for (unsigned i = 0; i < 8; i++)
		checksums[i] = (uint64_t)number << 32 | i;
	record.note_len = (uint16_t)(snprintf(note, 16, "note %u", number) % (1 + (int)number));
	return record;
}

static void add(struct fixture *f, unsigned number)
{
	uint64_t checksums[8];
	char note[16];
	struct journal_record record = record_of(number, checksums, note);

	journal_add(f->journal, &record);
}

static void expect_record(struct fixture *f, unsigned number)
{
	uint64_t checksums[8];
	char note[16];
	struct journal_record want = record_of(number, checksums, note), have;

	assert_done(journal_next(f->journal, &have));
	assert_int_equal(have.fingerprint, want.fingerprint);
	assert_int_equal(have.kind, want.kind);
	assert_int_equal(have.size, want.size);
	assert_memory_equal(&have.image, &want.image, sizeof(want.image));
	assert_int_equal(have.note_len, want.note_len);
	assert_memory_equal(have.note, want.note, want.note_len);
	assert_int_equal(have.checksum_count, want.checksum_count);
	assert_memory_equal(have.checksums, want.checksums,
			    want.checksum_count * sizeof(*checksums));
}

static struct journal_checkpoint checkpoint_of(unsigned number)
{
	struct journal_checkpoint checkpoint = {.files = number,
						.bytes = 100 * number,
						.super_offset = 3,
						.puts = 4,
						.index_checksum = 5,
						.store = {.bytes = 1000 * number,
							  .page = 4096,
							  .last_key = "last",
							  .last_key_len = number % 5}};

	memset(checkpoint.store.metas, (int)number, sizeof(checkpoint.store.metas));
	memset(checkpoint.store.last_key + checkpoint.store.last_key_len, 0, 4);
	return checkpoint;
}

static void commit(struct fixture *f, unsigned number)
{
	struct journal_checkpoint checkpoint = checkpoint_of(number);

	assert_done(journal_commit(f->journal, &checkpoint));
}

static void expect_last(struct fixture *f, unsigned number)
{
	struct journal_checkpoint want = checkpoint_of(number), have;

	assert_done(journal_last(f->journal, &have));
	assert_int_equal(have.files, number);
	assert_memory_equal(&have, &want, sizeof(want));
}

static void begin(struct fixture *f)
{
	assert_done(journal_new(&f->params, &f->journal));
}

static void end(struct fixture *f)
{
	journal_free(f->journal);
	f->journal = NULL;
}

static int reopen(struct fixture *f)
{
	struct journal_params params = {.path = f->path, .pack = f->pack};
	struct err err = {0};

	end(f);
	return journal_open(&params, &f->journal, &err);
}

static off_t length(const struct fixture *f)
{
	struct stat st;

	return stat(f->path, &st) == 0 ? st.st_size : -1;
}

/* Records 1 to 30, a checkpoint after each tenth; notes the lengths behind these. */
static void write_three(struct fixture *f)
{
	begin(f);
	for (unsigned i = 1; i <= 30; i++) {
		add(f, i);
		if (i % 10)
			continue;
		commit(f, i);
		assert_done(journal_settle(f->journal));
		f->ends[i / 10 - 1] = length(f);
	}
	end(f);
}

/* The records up to the last checkpoint that is there, which is `last`; 0: none. */
static void expect_up_to(struct fixture *f, unsigned last)
{
	struct journal_record record;

	if (last == 0) {
		assert_int_equal(reopen(f), -ENODATA);
		return;
	}
	assert_done(reopen(f));
	expect_last(f, last);
	for (unsigned i = 1; i <= last; i++)
		expect_record(f, i);
	assert_int_equal(journal_next(f->journal, &record), 1);
	assert_int_equal(journal_next(f->journal, &record), 1);
}

FIXTURE(f, struct fixture, setup, teardown);

/* --- tests --------------------------------------------------------------------------------- */

TEST_OF(f, a_file_is_made_with_the_first_checkpoint)
{
	begin(f);
	add(f, 1);
	assert_int_equal(length(f), -1);
	assert_int_equal(reopen(f), -ENODATA);
	begin(f);
	commit(f, 1);
	end(f);
	assert_true(length(f) > 0);
}

TEST_OF(f, only_its_own_file_is_removed)
{
	char next[sizeof(f->path) + 8];

	begin(f);
	commit(f, 1);
	assert_int_equal(journal_settle(f->journal), 0);
	snprintf(next, sizeof(next), "%s.next", f->path);
	assert_done(rename(f->path, next));
	assert_done(mknod(f->path, S_IFREG | 0600, 0));
	journal_remove(f->journal);
	assert_int_equal(length(f), 0);
	assert_done(rename(next, f->path));
	journal_remove(f->journal);
	assert_int_equal(length(f), -1);
	end(f);
}

TEST_OF(f, a_checkpoint_that_is_under_way_is_waited_for)
{
	begin(f);
	for (unsigned i = 1; i <= 10; i++) {
		add(f, i);
		commit(f, i);
	}
	end(f);
	expect_up_to(f, 10);
}

TEST_OF(f, the_image_may_come_after_the_file)
{
	const struct dataset_image image = {.kind = IMAGE_BMP, .width = 640, .height = 480};
	struct journal_record record;

	begin(f);
	journal_amend(f->journal, &image); /* of nothing */
	add(f, 1);
	add(f, 2);
	journal_amend(f->journal, &image);
	commit(f, 2);
	journal_amend(f->journal, &image); /* too late */
	assert_done(reopen(f));
	expect_record(f, 1);
	assert_done(journal_next(f->journal, &record));
	assert_memory_equal(&record.image, &image, sizeof(image));
}

/* As it is left by a kill, or by a disk that lost the end. */
TEST_OF(f, a_torn_end_does_not_count)
{
	write_three(f);
	assert_done(truncate(f->path, f->ends[2] + 5000)); /* zeros */
	expect_up_to(f, 30);
	assert_memory_equal(journal_run(f->journal), run, sizeof(run));
	assert_string_equal(journal_options(f->journal), f->params.options);
	for (off_t len = f->ends[2] - 1; len >= 0; len -= len > 700 ? 97 : 1) {
		unsigned last = len >= f->ends[1] ? 20 : len >= f->ends[0] ? 10 : 0;

		assert_done(truncate(f->path, len));
		expect_up_to(f, last);
	}
}

static void flip(struct fixture *f, off_t at)
{
	SCOPE_CLOSE int fd = open(f->path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_done(io_pread_full(fd, &byte, 1, (uint64_t)at));
	byte ^= 0x40;
	assert_done(io_pwrite_full(fd, &byte, 1, (uint64_t)at));
}

TEST_OF(f, what_lies_behind_a_wrong_byte_does_not_count)
{
	write_three(f);
	for (off_t at = 0; at < f->ends[2]; at += 61) {
		flip(f, at);
		expect_up_to(f, at >= f->ends[1] ? 20 : at >= f->ends[0] ? 10 : 0);
		flip(f, at);
	}
	expect_up_to(f, 30);
}

/* A byte of the last block has another value, and the checksum is right: it is no accident, but
 * another program's. */
static void forge(struct fixture *f, size_t at, uint8_t value)
{
	SCOPE_CLOSE int fd = open(f->path, O_RDWR | O_CLOEXEC);
	uint64_t before, checksum;
	uint8_t block[8192];
	size_t len = (size_t)(f->ends[2] - f->ends[1]) - sizeof(checksum);

	assert_true(len <= sizeof(block));
	assert_done(
		io_pread_full(fd, &before, sizeof(before), (uint64_t)f->ends[1] - sizeof(before)));
	assert_done(io_pread_full(fd, block, len, (uint64_t)f->ends[1]));
	block[at] = value;
	checksum = journal_checksum(block, len, before);
	assert_done(io_pwrite_full(fd, block, len, (uint64_t)f->ends[1]));
	assert_done(io_pwrite_full(fd, &checksum, sizeof(checksum), (uint64_t)f->ends[1] + len));
}

TEST_OF(f, a_flag_that_is_neither_yes_nor_no_does_not_count)
{
	write_three(f);
	forge(f, offsetof(struct journal_block, checkpoint.store.revisited), 2);
	expect_up_to(f, 20);
}

TEST_OF(f, a_record_that_runs_out_of_its_block_is_damage)
{
	struct journal_record last;
	uint64_t checksums[8];
	char note[16];
	size_t at;

	write_three(f);
	last = record_of(30, checksums, note);
	assert_in_range(last.note_len, 1, 8);
	at = (size_t)(f->ends[2] - f->ends[1]) - sizeof(uint64_t) - 8 -
	     last.checksum_count * sizeof(uint64_t) - sizeof(struct journal_head);
	forge(f, at + offsetof(struct journal_head, note_len), (uint8_t)(last.note_len + 8));
	assert_done(reopen(f));
	for (unsigned i = 1; i < 30; i++)
		expect_record(f, i);
	assert_int_equal(journal_next(f->journal, &last), -EBADMSG);
}

TEST_OF(f, going_on_writes_over_a_torn_end)
{
	write_three(f);
	assert_done(truncate(f->path, f->ends[1] + 40));
	expect_up_to(f, 20);
	for (unsigned i = 21; i <= 40; i++)
		add(f, i);
	commit(f, 40);
	expect_up_to(f, 40);
}

/* Blocks of another run, left behind what counts, do not follow from what is before them. */
TEST_OF(f, blocks_of_another_run_do_not_count)
{
	SCOPE_CLOSE int old = -1, mine = -1;
	size_t len;

	write_three(f);
	len = (size_t)(f->ends[2] - f->ends[0]);
	old = open(f->path, O_RDONLY | O_CLOEXEC);
	assert_done(unlink(f->path));
	begin(f);
	for (unsigned i = 1; i <= 11; i++)
		add(f, i);
	commit(f, 11);
	end(f);
	mine = open(f->path, O_WRONLY | O_CLOEXEC);
	assert_true(lseek(mine, 0, SEEK_END) > 0);
	assert_int_equal(copy_file_range(old, &f->ends[0], mine, NULL, len, 0), len);
	expect_up_to(f, 11);
}

TEST_OF(f, another_version_is_told)
{
	struct journal_params params = {.path = f->path, .pack = f->pack};
	struct err err = {0};

	write_three(f);
	flip(f, 8);
	assert_int_equal(journal_open(&params, &f->journal, &err), -EPROTONOSUPPORT);
	assert_string_equal(err.text, "was begun by another version of foldpack");
}

TEST_OF(f, after_a_failure_there_are_no_more_checkpoints)
{
	struct journal_checkpoint checkpoint = checkpoint_of(2);

	begin(f);
	commit(f, 1);
	assert_done(journal_settle(f->journal));
	close(f->pack);
	commit(f, 2);
	assert_int_equal(journal_settle(f->journal), -EBADF);
	assert_int_equal(journal_status(f->journal), -EBADF);
	f->pack = open(f->pack_path, O_RDWR | O_CLOEXEC);
	assert_int_equal(journal_commit(f->journal, &checkpoint), -EBADF);
	expect_last(f, 1);
}

TEST_OF(f, no_room_for_the_journal_is_told)
{
	struct rlimit old, low;

	signal(SIGXFSZ, SIG_IGN);
	begin(f);
	commit(f, 1);
	assert_done(journal_settle(f->journal));
	assert_done(getrlimit(RLIMIT_FSIZE, &old));
	low = (struct rlimit){.rlim_cur = (rlim_t)length(f) + 100, .rlim_max = old.rlim_max};
	assert_done(setrlimit(RLIMIT_FSIZE, &low));
	commit(f, 2);
	assert_int_equal(journal_settle(f->journal), -EFBIG);
	assert_done(setrlimit(RLIMIT_FSIZE, &old));
	assert_done(reopen(f));
	expect_last(f, 1);
}
