/* A reader that keeps a copy of a remote file: remote/reader_blocks.h. */
#include "base/io.h"
#include "base/reader_file.h"
#include "base/size.h"
#include "remote/reader_blocks.h"
#include "tests/unit/far.h"
#include "tests/unit/patience.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE  READER_PAGE
#define PAGES 512u
#define SIZE  (PAGES * (uint64_t)PAGE - 1000)
#define NAME  "https://host/pack"

struct fixture {
	char dir[64];
	struct disk *disk;
	struct far *far;
	struct reader *reader;
	char *image;	       /* of the far file */
	int fd;		       /* of that */
	char *memory;	       /* PAGES pages */
	struct fixture *other; /* another mount; NULL: none */
};

static atomic_uint noticed;

static void on_notice(const char *line)
{
	assert_non_null(strstr(line, "disk cache"));
	noticed++;
}

/* `waits`: it is not far, and reads wait. */
static struct far *far_at(const struct fixture *f, const char *place, bool waits)
{
	struct reader *near;
	struct far *far;

	assert_int_equal(reader_file_borrow(f->fd, &near), 0);
	far = far_new(near);
	far->owns = true;
	far->is_near = waits;
	far->ops.submit = waits ? NULL : far->ops.submit;
	assert_true(!place || reader_set_place(&far->reader, place) == 0);
	return far;
}

/* A reader of a copy of this. `head`: which pack it is. */
static void open_copy(struct fixture *f, struct far *far, bool fill, unsigned head)
{
	f->far = far;
	assert_int_equal(reader_blocks_new(&far->reader, f->disk, fill, &f->reader), 0);
	reader_known(f->reader, &head, sizeof(head));
	assert_int_equal(reader_prepare(f->reader, READER_AUTO), 0);
}

static void open_reader(struct fixture *f)
{
	open_copy(f, far_at(f, NAME, false), false, 0);
}

static void make_image(struct fixture *f)
{
	f->image = malloc(SIZE);
	for (uint64_t i = 0; i < SIZE; i++)
		f->image[i] = (char)(i * 2654435761u >> 13 ^ i >> 9);
	f->fd = memfd_create("far", MFD_CLOEXEC);
	assert_int_equal(io_pwrite_full(f->fd, f->image, SIZE, 0), 0);
}

static struct disk *open_disk(const struct fixture *f)
{
	struct disk *disk = calloc(1, sizeof(*disk));

	assert_int_equal(disk_open(f->dir, on_notice, disk, NULL), 0);
	return disk;
}

static void close_disk(struct disk *disk)
{
	disk_release(disk);
	free(disk);
}

static void setup(struct fixture *f)
{
	strcpy(f->dir, "/var/tmp/test_reader_blocks.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->disk = open_disk(f);
	f->memory = aligned_alloc(PAGE, PAGES * PAGE);
	noticed = 0;
	make_image(f);
	open_reader(f);
}

/* Of the same place, with the same disk cache. */
static struct fixture *other_mount(struct fixture *f)
{
	struct fixture *other = malloc(sizeof(*other));

	*other = *f;
	other->memory = aligned_alloc(PAGE, PAGES * PAGE);
	other->disk = open_disk(f);
	open_reader(other);
	return f->other = other;
}

static void close_mount(struct fixture *f)
{
	reader_free(f->reader);
	close_disk(f->disk);
	free(f->memory);
}

static void teardown(struct fixture *f)
{
	if (f->other)
		close_mount(f->other);
	free(f->other);
	close_mount(f);
	scratch_remove(f->dir);
	free(f->image);
	close(f->fd);
}

static void open_again(struct fixture *f)
{
	reader_free(f->reader);
	open_reader(f);
}

static struct reader_blocks_stats stats_of(struct fixture *f)
{
	struct reader_blocks_stats stats;

	reader_blocks_stats(f->reader, &stats);
	return stats;
}

/* --- three ways to read ----------------------------------------------------------------------- */

enum way { READ, SUBMIT, GET, WAYS };

/* In pieces of all sizes, in another order than in the file. */
static int scatter(struct fixture *f, uint64_t pages, struct iovec *iov)
{
	uint64_t done = 0;
	int count = 0;

	while (done < pages) {
		uint64_t n = 1 + (uint64_t)count % 7;

		n = n < pages - done ? n : pages - done;
		done += n;
		iov[count++] = (struct iovec){f->memory + (PAGES - done) * PAGE, n * PAGE};
	}
	return count;
}

/* READ or SUBMIT. */
static int run_read(struct fixture *f, enum way way, struct iovec *iov, int count, uint64_t offset,
		    uint64_t needed)
{
	return way == READ ? reader_read(f->reader, iov, count, offset, needed)
			   : reader_submit_and_wait(f->reader, iov, count, offset, needed);
}

static int read_in(struct fixture *f, enum way way, uint64_t offset, uint64_t needed)
{
	struct iovec iov[PAGES];
	int count = scatter(f, (needed + PAGE - 1) / PAGE, iov);

	memset(f->memory, 0, PAGES * PAGE);
	if (way == GET)
		return reader_get_full(f->reader, f->memory, needed, offset);
	return run_read(f, way, iov, count, offset, needed);
}

static void expect_image(struct fixture *f, enum way way, uint64_t offset, uint64_t needed)
{
	uint64_t pages = (needed + PAGE - 1) / PAGE, done = 0;
	struct iovec iov[PAGES];
	int count = scatter(f, pages, iov);

	if (way == GET) {
		assert_memory_equal(f->memory, f->image + offset, needed);
		return;
	}
	for (int i = 0; i < count && done < needed; i++) {
		uint64_t len = iov[i].iov_len < needed - done ? iov[i].iov_len : needed - done;

		assert_memory_equal(iov[i].iov_base, f->image + offset + done, len);
		done += len;
	}
}

static void read_right(struct fixture *f, enum way way, uint64_t offset, uint64_t needed)
{
	assert_int_equal(read_in(f, way, offset, needed), 0);
	expect_image(f, way, offset, needed);
	reader_blocks_drain(f->reader);
}

/* What was asked for since the last call. */
static uint64_t far_take(struct fixture *f, unsigned *ret_asked)
{
	SCOPE_LOCK(&f->far->lock);
	uint64_t bytes = f->far->bytes;

	*ret_asked = f->far->asked;
	f->far->bytes = f->far->asked = 0;
	return bytes;
}

static uint64_t far_take_bytes(struct fixture *f)
{
	unsigned asked;

	return far_take(f, &asked);
}

static void expect_far(struct fixture *f, unsigned asked, uint64_t bytes)
{
	unsigned found;

	assert_int_equal(far_take(f, &found), bytes);
	assert_int_equal(found, asked);
}

FIXTURE(f, struct fixture, setup, teardown);

/* --- what is fetched -------------------------------------------------------------------------- */

TEST_OF(f, what_was_read_once_comes_from_the_disk)
{
	for (enum way way = 0; way < WAYS; way++) {
		uint64_t offset = 30 * (way + 1) * PAGE;

		read_right(f, way, offset, 20 * PAGE);
		expect_far(f, 1, 20 * PAGE);
		for (enum way again = 0; again < WAYS; again++)
			read_right(f, again, offset, 20 * PAGE);
		expect_far(f, 0, 0);
	}
	assert_int_equal(stats_of(f).far_bytes, WAYS * 20 * PAGE);
	assert_int_equal(stats_of(f).near_bytes, WAYS * WAYS * 20 * PAGE);
	assert_true(stats_of(f).cached >= WAYS * 20 * PAGE);
}

TEST_OF(f, what_was_announced_is_not_asked_for_twice)
{
	char memory[PAGE];

	reader_will_get(f->reader, 7 * PAGE + 100, PAGE);
	expect_far(f, 1, 2 * PAGE);
	assert_int_equal(reader_get(f->reader, memory, PAGE, 7 * PAGE + 100), PAGE);
	assert_memory_equal(memory, f->image + 7 * PAGE + 100, PAGE);
	reader_blocks_drain(f->reader);
	reader_will_get(f->reader, 7 * PAGE + 200, PAGE);
	expect_far(f, 0, 0);
}

TEST_OF(f, the_end_of_the_file_is_kept_too)
{
	uint64_t last = (PAGES - 3) * (uint64_t)PAGE;

	for (enum way way = 0; way < WAYS; way++) {
		read_right(f, way, last, SIZE - last);
		read_right(f, way, last, SIZE - last - 300);
		assert_int_equal(read_in(f, way, last, SIZE - last + 1), -ENODATA);
	}
	assert_int_equal(stats_of(f).far_bytes, SIZE - last);
}

/* What lies in between, and is not a page's worth, is fetched with its pages. */
TEST_OF(f, bytes_anywhere_in_their_pages_are_kept)
{
	read_right(f, GET, 5 * PAGE + 100, 3 * PAGE);
	expect_far(f, 1, 4 * PAGE);
	read_right(f, GET, 6 * PAGE - 7, 9);
	read_right(f, READ, 5 * PAGE, 4 * PAGE);
	expect_far(f, 0, 0);
}

/* One page of four is wanted, and the last ones. */
static void read_over_gaps(struct fixture *f, enum way way, uint64_t offset, uint64_t pages)
{
	struct iovec iov[PAGES];
	int count = 0;

	memset(f->memory, 0, PAGES * PAGE);
	for (uint64_t at = 0; at < pages; at += 4) {
		iov[count++] = (struct iovec){f->memory + at * PAGE, PAGE};
		iov[count++] = (struct iovec){NULL, (size_t)3 * PAGE};
	}
	iov[count - 1].iov_base = f->memory + (pages - 3) * PAGE;
	assert_int_equal(run_read(f, way, iov, count, offset, pages * PAGE), 0);
	for (uint64_t at = 0; at < pages; at += 4)
		assert_memory_equal(f->memory + at * PAGE, f->image + offset + at * PAGE, PAGE);
	reader_blocks_drain(f->reader);
}

TEST_OF(f, what_nobody_wanted_in_between_is_kept_as_well)
{
	for (enum way way = READ; way <= SUBMIT; way++) {
		uint64_t start = 200 * way * PAGE;

		read_right(f, READ, start + 40 * PAGE, 40 * PAGE);
		expect_far(f, 1, 40 * PAGE);
		read_over_gaps(f, way, start, 120);
		expect_far(f, 2, 80 * PAGE);
		read_right(f, way, start, 120 * PAGE);
		read_over_gaps(f, way, start, 120);
		expect_far(f, 0, 0);
	}
	assert_int_equal(stats_of(f).damaged, 0);
}

TEST_OF(f, only_what_is_missing_is_fetched)
{
	for (enum way way = READ; way <= SUBMIT; way++) {
		uint64_t start = 200 * way * PAGE;

		read_right(f, READ, start + 20 * PAGE, 20 * PAGE);
		read_right(f, READ, start + 80 * PAGE, 20 * PAGE);
		expect_far(f, 2, 40 * PAGE);
		read_right(f, way, start, 120 * PAGE);
		expect_far(f, 3, 80 * PAGE);
		read_right(f, way, start, 120 * PAGE);
		expect_far(f, 0, 0);
	}
}

TEST_OF(f, as_many_parts_as_there_may_be_are_read_right)
{
	for (uint64_t at = 0; at < PAGES - 16; at += 16)
		read_right(f, READ, at * PAGE, 8 * PAGE);
	read_over_gaps(f, READ, 0, PAGES - 16);
	read_right(f, SUBMIT, 0, SIZE);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void damage_copy(const struct fixture *f, uint64_t page)
{
	char path[600], folder[200];
	const struct dirent *entry;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/uid-%u", f->dir, geteuid());
	dir = opendir(folder);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (strchr(entry->d_name, '-')) {
			snprintf(path, sizeof(path), "%s/%s/data", folder, entry->d_name);
			SCOPE_CLOSE int fd = open(path, O_WRONLY);

			assert_int_equal(pwrite(fd, "wrong", 5, (off_t)(page * PAGE)), 5);
		}
	closedir(dir);
}

TEST_OF(f, what_does_not_fit_is_fetched_again)
{
	for (enum way way = 0; way < WAYS; way++) {
		read_right(f, READ, 10 * PAGE, 30 * PAGE);
		far_take_bytes(f);
		damage_copy(f, 15);
		assert_int_equal(read_in(f, way, 14 * PAGE, 4 * PAGE), 0);
		assert_true(reader_bad(f->reader, 14 * PAGE, 4 * PAGE));
		read_right(f, way, 14 * PAGE, 4 * PAGE);
		expect_far(f, 1, 4 * PAGE);
		read_right(f, way, 14 * PAGE, 4 * PAGE);
		expect_far(f, 0, 0);
		assert_int_equal(stats_of(f).damaged, way + 1);
	}
}

TEST_OF(f, what_has_no_checksum_is_read_from_the_origin)
{
	char page[PAGE];

	read_right(f, READ, 0, 4 * PAGE);
	damage_copy(f, 1);
	assert_ptr_equal(reader_origin(f->reader), &f->far->reader);
	assert_int_equal(reader_get_full(reader_origin(f->reader), page, PAGE, PAGE), 0);
	assert_memory_equal(page, f->image + PAGE, PAGE);
}

/* Opens the same pack there, and expects that the copy of what was read before is read, or not. */
static void opens_at(struct fixture *f, const char *place, uint64_t written, bool same)
{
	struct far *far = far_at(f, place, false);

	reader_free(f->reader);
	far->written = written;
	open_copy(f, far, false, 0);
	read_right(f, READ, 10 * PAGE, PAGE);
	expect_far(f, same ? 0 : 1, same ? 0 : PAGE);
}

TEST_OF(f, a_copy_is_of_one_place)
{
	read_right(f, READ, 10 * PAGE, PAGE);
	opens_at(f, NAME, 0, true);
	opens_at(f, NAME, 7, true);
	opens_at(f, "http://host/pack", 0, false);
	opens_at(f, "https://host/pack2", 0, false);
	opens_at(f, "/pack", 0, false);
	opens_at(f, NAME, 0, true);
}

TEST_OF(f, a_path_that_was_written_to_is_another_place)
{
	opens_at(f, "/pack", 1, false);
	opens_at(f, "/pack", 1, true);
	opens_at(f, "/pack", 2, false);
}

TEST_OF(f, what_is_at_no_place_has_no_copy)
{
	reader_free(f->reader);
	open_copy(f, far_at(f, NULL, false), false, 0);
	assert_false(stats_of(f).open);
	read_right(f, READ, 10 * PAGE, PAGE);
}

/* --- faults ----------------------------------------------------------------------------------- */

TEST_OF(f, an_error_of_the_far_reader_is_one_and_nothing_is_kept)
{
	for (enum way way = 0; way < WAYS; way++) {
		struct iovec iov[] = {{f->memory, PAGE}, {NULL, PAGE}, {f->memory + PAGE, PAGE}};

		f->far->error = -ETIMEDOUT;
		assert_int_equal(read_in(f, way, 10 * PAGE, 3 * PAGE), -ETIMEDOUT);
		if (way != GET)
			assert_int_equal(run_read(f, way, iov, 3, 0, 3 * PAGE), -ETIMEDOUT);
		reader_blocks_drain(f->reader);
	}
	f->far->error = 0;
	far_take_bytes(f);
	read_right(f, READ, 0, 13 * PAGE);
	expect_far(f, 1, 13 * PAGE);
}

TEST_OF(f, without_a_copy_all_is_read_from_far)
{
	char folder[200];

	reader_free(f->reader);
	snprintf(folder, sizeof(folder), "%s/uid-%u", f->dir, geteuid());
	scratch_remove(folder);
	open_reader(f);
	assert_int_equal(noticed, 1);
	for (enum way way = 0; way < WAYS; way++)
		read_right(f, way, 10 * PAGE, 3 * PAGE);
	expect_far(f, WAYS, WAYS * 3 * PAGE);
	assert_false(stats_of(f).open);
	assert_false(reader_bad(f->reader, 0, PAGE));
}

TEST_OF(f, after_a_write_that_fails_nothing_is_added_and_it_is_said_once)
{
	struct rlimit old, low;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = (struct rlimit){.rlim_cur = MIB, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	read_right(f, READ, 300 * PAGE, PAGE);
	for (enum way way = 0; way < WAYS; way++)
		read_right(f, way, 10 * PAGE, PAGE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(stats_of(f).left_out, (1 + WAYS) * PAGE);
	assert_true(stats_of(f).failed && !stats_of(f).full);
	assert_int_equal(noticed, 1);
}

TEST_OF(f, threads_begin_again_after_a_rest)
{
	for (unsigned i = 0; i < 3; i++) {
		read_right(f, READ, i * 20 * PAGE, 3 * PAGE);
		reader_rest(f->reader);
	}
	expect_far(f, 3, 9 * PAGE);
	for (unsigned i = 0; i < 3; i++)
		read_right(f, READ, i * 20 * PAGE, 3 * PAGE);
	expect_far(f, 0, 0);
}

/* --- the rest of the file --------------------------------------------------------------------- */

static void await_filler(struct fixture *f, enum disk_fill_state state)
{
	assert_true(poll_until(stats_of(f).filler == state));
}

TEST_OF(f, who_reads_a_part_has_the_rest_fetched)
{
	for (unsigned waits = 0, asked; waits < 2; waits++) {
		reader_free(f->reader);
		block_store_room(f->disk->store, UINT64_MAX);
		open_copy(f, far_at(f, NAME, waits), true, 0);
		read_right(f, READ, 100 * PAGE, 2 * PAGE);
		assert_int_equal(stats_of(f).filler, FILL_IDLE);
		read_right(f, READ, 110 * PAGE, 9 * PAGE);
		await_filler(f, FILL_COMPLETE);
		assert_int_equal(stats_of(f).complete, true);
		/* Once more at most what was short, or was not yet written; that may also divide
		 * what lies before and behind it. */
		assert_in_range(far_take(f, &asked), SIZE + 2 * PAGE, SIZE + 11 * PAGE);
		assert_in_range(asked, 3, 2 + 2 + 9);
		assert_in_range(f->far->ahead, waits ? 0 : SIZE - 9 * PAGE, waits ? 0 : SIZE);
		for (enum way way = 0; way < WAYS; way++)
			read_right(f, way, 0, SIZE);
		expect_far(f, 0, 0);
		assert_false(reader_hints(f->reader).remote);
	}
}

TEST_OF(f, a_complete_copy_is_as_good_as_a_file)
{
	assert_true(reader_hints(f->reader).remote);
	assert_true(reader_blocks_fill(f->reader));
	await_filler(f, FILL_COMPLETE);
	assert_false(reader_hints(f->reader).remote || reader_hints(f->reader).shared);
	open_again(f);
	assert_false(reader_hints(f->reader).remote || reader_hints(f->reader).shared);
	read_right(f, READ, 0, SIZE);
	expect_far(f, 0, 0);
	/* Until a page of it is damaged. */
	assert_true(reader_bad(f->reader, 5 * PAGE, 1));
	assert_true(reader_hints(f->reader).remote);
	read_right(f, READ, 5 * PAGE, PAGE);
	expect_far(f, 1, PAGE);
}

TEST_OF(f, a_copy_that_was_damaged_becomes_complete_again)
{
	reader_free(f->reader);
	open_copy(f, far_at(f, NAME, false), true, 0);
	assert_true(reader_blocks_fill(f->reader));
	await_filler(f, FILL_COMPLETE);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(reader_bad(f->reader, i * PAGE, 1));
		assert_true(poll_until(stats_of(f).complete));
		read_right(f, i % WAYS, 0, SIZE);
	}
}

/* A request that does not wait, for the first pages. */
struct begun {
	pthread_mutex_t lock;
	pthread_cond_t come;
	bool has_come;
	int error;
	struct iovec iov;
	struct reader_request request;
};

static void on_done(void *arg, int error)
{
	struct begun *begun = arg;

	SCOPE_LOCK(&begun->lock);
	begun->has_come = true;
	begun->error = error;
	pthread_cond_signal(&begun->come);
}

static int wait_for(struct begun *begun)
{
	SCOPE_LOCK(&begun->lock);
	while (!begun->has_come)
		pthread_cond_wait(&begun->come, &begun->lock);
	return begun->error;
}

static void begin_read(struct begun *begun, const struct fixture *f, uint64_t pages, bool ahead)
{
	*begun = (struct begun){.lock = PTHREAD_MUTEX_INITIALIZER,
				.come = PTHREAD_COND_INITIALIZER,
				.iov = {f->memory, pages * PAGE},
				.request = {.iov = &begun->iov,
					    .count = 1,
					    .needed = pages * PAGE,
					    .ahead = ahead,
					    .done = on_done,
					    .arg = begun}};
	reader_submit(f->reader, &begun->request);
}

static int end_read(struct begun *begun)
{
	int error = wait_for(begun);

	reader_settle(&begun->request, error == 0);
	return error;
}

TEST_OF(f, what_is_fetched_is_ahead_as_long_as_its_request_is)
{
	struct begun begun;

	far_hold(f->far, true);
	begin_read(&begun, f, 100, true);
	assert_int_equal(f->far->ahead, 100 * PAGE);
	assert_ptr_equal(reader_ahead(f->far->first), &begun.request.ahead);
	far_hold(f->far, false);
	assert_int_equal(end_read(&begun), 0);
}

/* Nobody waits for the copy; and it gets only what was right. */
TEST_OF(f, what_is_submitted_is_written_once_it_is_settled_and_right)
{
	for (int right = 0; right < 2; right++) {
		uint64_t cached = stats_of(f).cached;
		struct begun begun;

		begin_read(&begun, f, 25, false);
		assert_int_equal(wait_for(&begun), 0);
		assert_memory_equal(f->memory, f->image, 25 * PAGE);
		assert_int_equal(stats_of(f).cached, cached);
		reader_settle(&begun.request, right);
		reader_blocks_drain(f->reader);
		expect_far(f, 1, 25 * PAGE);
		assert_int_equal(stats_of(f).far_bytes, (right ? 75 : 25) * PAGE);
		read_right(f, READ, 0, 25 * PAGE);
		expect_far(f, !right, right ? 0 : 25 * PAGE);
		reader_bad(f->reader, 0, SIZE);
	}
}

/* As of two mounts: each page is fetched once in all, and who comes second goes on after the first.
 */
TEST_OF(f, one_of_two_fills)
{
	struct fixture *other = other_mount(f);

	far_hold(f->far, true);
	assert_true(reader_blocks_fill(f->reader));
	await_filler(f, FILL_FILLING);
	assert_true(reader_blocks_fill(other->reader));
	await_filler(other, FILL_ELSEWHERE);
	reader_cancel(f->reader);
	open_again(f);
	await_filler(other, FILL_COMPLETE);
	assert_int_equal(far_take_bytes(other), SIZE);
	assert_true(reader_blocks_fill(f->reader));
	await_filler(f, FILL_COMPLETE);
	expect_far(f, 0, 0);
}

TEST_OF(f, what_another_mount_has_completed_is_complete)
{
	struct fixture *other = other_mount(f);

	assert_true(reader_blocks_fill(other->reader));
	await_filler(other, FILL_COMPLETE);
	for (enum way way = READ; way <= SUBMIT; way++)
		read_right(f, way, 100 * PAGE, 50 * PAGE);
	assert_true(stats_of(f).complete);
	expect_far(f, 0, 0);
	assert_int_equal(stats_of(f).copy, stats_of(other).copy);
}

/* As of a pack that was replaced at its URL. */
TEST_OF(f, who_cannot_fill_leaves_it_to_others)
{
	struct fixture *other = other_mount(f);

	f->far->error = -ESTALE;
	assert_true(reader_blocks_fill(f->reader));
	await_filler(f, FILL_FAILED);
	assert_true(reader_blocks_fill(other->reader));
	await_filler(other, FILL_COMPLETE);
}

/* --- who fetches ------------------------------------------------------------------------------ */

/* Both ask for the same pages, which come once both have. Returns what the second one fetched. */
static uint64_t both_read(struct fixture *f, struct fixture *other, int error)
{
	struct begun one, two;

	f->far->error = error;
	far_hold(f->far, true);
	begin_read(&one, f, 100, false);
	begin_read(&two, other, 100, true);
	expect_far(other, 0, 0);
	far_hold(f->far, false);
	assert_int_equal(end_read(&one), error);
	assert_int_equal(end_read(&two), 0);
	assert_memory_equal(other->memory, f->image, 100 * PAGE);
	return far_take_bytes(other);
}

TEST_OF(f, what_one_mount_fetches_no_other_does)
{
	struct fixture *other = other_mount(f);

	assert_int_equal(both_read(f, other, 0), 0);
}

TEST_OF(f, a_reader_that_was_cancelled_waits_again_once_it_is_prepared)
{
	struct fixture *other = other_mount(f);

	reader_cancel(other->reader);
	assert_int_equal(reader_prepare(other->reader, READER_AUTO), 0);
	assert_int_equal(both_read(f, other, 0), 0);
}

TEST_OF(f, what_could_not_be_fetched_others_fetch)
{
	struct fixture *other = other_mount(f);

	assert_int_equal(both_read(f, other, -ETIMEDOUT), 100 * PAGE);
}

TEST_OF(f, a_mount_that_hangs_holds_up_no_other_for_long)
{
	struct fixture *other = other_mount(f);
	struct begun begun;

	far_hold(f->far, true);
	begin_read(&begun, f, 100, false);
	read_right(other, READ, 0, 100 * PAGE);
	read_right(other, READ, 0, 100 * PAGE);
	assert_int_equal(far_take_bytes(other), 100 * PAGE);
	far_hold(f->far, false);
	assert_int_equal(end_read(&begun), 0);
}

TEST_OF(f, the_filler_passes_over_what_readers_fetch)
{
	struct fixture *other = other_mount(f);
	struct begun begun;

	far_hold(f->far, true);
	begin_read(&begun, f, 100, false);
	assert_true(reader_blocks_fill(other->reader));
	await_filler(other, FILL_ELSEWHERE);
	assert_int_equal(far_take_bytes(other), 0);
	far_hold(f->far, false);
	assert_int_equal(end_read(&begun), 0);
	await_filler(other, FILL_COMPLETE);
	assert_int_equal(far_take_bytes(other), SIZE - 100 * PAGE);
}

/* --- many copies ------------------------------------------------------------------------------ */

#define COPIES 40

static unsigned count_threads(void)
{
	SCOPE_DIR DIR *dir = opendir("/proc/self/task");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	return count - 2;
}

static void open_copies(const struct fixture *f, struct fixture all[COPIES])
{
	for (unsigned i = 0; i < COPIES; i++) {
		all[i] = *f;
		open_copy(&all[i], far_at(f, NAME, false), true, i + 1);
	}
}

/* Each remote reader of this test has one itself. */
TEST_OF(f, many_copies_have_no_more_threads_than_one)
{
	struct fixture all[COPIES];
	unsigned before = count_threads();

	open_copies(f, all);
	for (unsigned i = 0; i < COPIES; i++) {
		read_right(&all[i], SUBMIT, 0, 100 * PAGE);
		reader_blocks_drain(all[i].reader);
		read_right(&all[i], SUBMIT, 0, 100 * PAGE);
	}
	assert_in_range(count_threads(), before + COPIES + 1, before + COPIES + 24);
	for (unsigned i = 0; i < COPIES; i++)
		await_filler(&all[i], FILL_COMPLETE);
	assert_in_range(count_threads(), before + COPIES + 1, before + COPIES + 24);
	for (unsigned i = 0; i < COPIES; i++)
		reader_free(all[i].reader);
	disk_rest(f->disk);
	assert_int_equal(count_threads(), before);
}

TEST_OF(f, a_copy_that_cannot_be_fetched_holds_up_no_other)
{
	struct fixture all[COPIES];

	open_copies(f, all);
	far_hold(all[1].far, true);
	atomic_store(&all[0].far->error, -EIO);
	for (unsigned i = 0; i < COPIES; i++)
		assert_true(reader_blocks_fill(all[i].reader));
	for (unsigned i = 2; i < COPIES; i++)
		await_filler(&all[i], FILL_COMPLETE);
	await_filler(&all[0], FILL_FAILED);
	assert_int_equal(stats_of(&all[1]).filler, FILL_FILLING);
	far_hold(all[1].far, false);
	await_filler(&all[1], FILL_COMPLETE);
	atomic_store(&all[0].far->error, 0);
	await_filler(&all[0], FILL_COMPLETE);
	for (unsigned i = 0; i < COPIES; i++)
		reader_free(all[i].reader);
}

/* --- many at once ----------------------------------------------------------------------------- */

#define READERS 4

static void *read_for_a_while(void *arg)
{
	struct fixture mine = *(struct fixture *)arg;
	unsigned seed = (unsigned)(uintptr_t)&mine;

	mine.memory = aligned_alloc(PAGE, PAGES * PAGE);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t first = (uint64_t)rand_r(&seed) % (PAGES - 40);
		uint64_t pages = 1 + (uint64_t)rand_r(&seed) % 39;
		enum way way = i % WAYS;

		if (i % 17 == 0)
			reader_bad(mine.reader, first * PAGE, pages * PAGE);
		assert_int_equal(read_in(&mine, way, first * PAGE, pages * PAGE), 0);
		expect_image(&mine, way, first * PAGE, pages * PAGE);
		stats_of(&mine);
	}
	free(mine.memory);
	return NULL;
}

TEST_OF(f, readers_of_two_mounts_share_a_copy)
{
	struct fixture *other = other_mount(f);
	pthread_t threads[2 * READERS];

	for (unsigned i = 0; i < 2 * READERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, read_for_a_while, i % 2 ? f : other), 0);
	for (unsigned i = 0; i < 2 * READERS; i++)
		pthread_join(threads[i], NULL);
}
