/* A copy of a pack on the disk, and the folder that such copies are in: remote/blocks.h,
 * remote/block_store.h. */
#include "base/digest.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "remote/block_store.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#define PAGE  READER_PAGE
#define PAGES 3000u
#define SIZE  (PAGES * (uint64_t)PAGE - 1000) /* ends within a page */

#define A	    "https://host/a"
#define B	    "https://host/b"
#define C	    "https://host/c"
#define STATE	    "0123456789abcdef0123456789abcdef"
#define OTHER_STATE "fedcba9876543210fedcba9876543210"

struct fixture {
	char dir[64];
	struct block_store *store;
	struct blocks *blocks;
	char *page; /* aligned, 16 pages */
};

/* A folder with a bound, bytes. */
static int open_bounded(const char *dir, uint64_t most, struct block_store **ret)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "%s,%llu", dir, (unsigned long long)most);
	return block_store_open(spec, ret, NULL);
}

static void setup(struct fixture *f)
{
	strcpy(f->dir, "/var/tmp/test_blocks.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(block_store_open(f->dir, &f->store, NULL), 0);
	assert_int_equal(block_store_blocks(f->store, A, STATE, SIZE, &f->blocks), 0);
	f->page = aligned_alloc(PAGE, 16 * PAGE);
	memset(f->page, 'p', 16 * PAGE);
}

static void teardown(struct fixture *f)
{
	blocks_free(f->blocks);
	block_store_free(f->store);
	scratch_remove(f->dir);
	free(f->page);
}

/* As another process opens it. */
static struct blocks *open_a(const struct fixture *f)
{
	struct blocks *blocks;

	assert_int_equal(block_store_blocks(f->store, A, STATE, SIZE, &blocks), 0);
	return blocks;
}

static void open_again(struct fixture *f)
{
	blocks_free(f->blocks);
	f->blocks = open_a(f);
}

/* The path of a copy, and of what is in it. */
static char *path_of(const struct fixture *f, const char *place, const char *in)
{
	static char path[256];
	char digits[DIGEST_DIGITS + 1];

	digest_text(place, digits);
	snprintf(path, sizeof(path), "%s/uid-%u/%s-" STATE "%s", f->dir, geteuid(), digits, in);
	return path;
}

static char *folder_of(const struct fixture *f)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/uid-%u", f->dir, geteuid());
	return path;
}

static bool has(struct blocks *blocks, uint64_t first, uint64_t end)
{
	return blocks_has(blocks, first * PAGE, end * PAGE);
}

/* The next pages that are missing are these. */
static void expect_missing(const struct fixture *f, uint64_t from, uint64_t first, uint64_t end)
{
	uint64_t begin, until;

	assert_true(blocks_find_missing(f->blocks, from * PAGE, PAGES * PAGE, &begin, &until));
	assert_int_equal(begin / PAGE, first);
	assert_int_equal(until / PAGE, end);
}

static void write_pages(struct fixture *f, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count; i += 16) {
		uint64_t n = count - i < 16 ? count - i : 16;
		uint64_t begin = (first + i) * PAGE;
		uint64_t end = begin + n * PAGE < SIZE ? begin + n * PAGE : SIZE;

		assert_int_equal(blocks_write(f->blocks, f->page, end - begin, begin), 0);
	}
}

FIXTURE(f, struct fixture, setup, teardown);

/* --- one copy --------------------------------------------------------------------------------- */

TEST_OF(f, pages_are_there_once_they_are_written)
{
	char read[PAGE];

	expect_missing(f, 0, 0, PAGES);
	write_pages(f, 50, 30);
	write_pages(f, PAGES - 2, 2);
	for (int again = 0; again < 2; again++) {
		assert_true(has(f->blocks, 50, 80) && has(f->blocks, PAGES - 2, PAGES));
		assert_false(has(f->blocks, 49, 51) || has(f->blocks, 79, 81));
		expect_missing(f, 0, 0, 50);
		expect_missing(f, 50, 80, PAGES - 2);
		assert_in_range(blocks_used(f->blocks), 30 * PAGE, 42 * PAGE);
		open_again(f); /* as another process does */
	}
	assert_int_equal(reader_get_full(blocks_reader(f->blocks), read, PAGE, 60 * PAGE), 0);
	assert_memory_equal(read, f->page, PAGE);
}

TEST_OF(f, a_few_pages_that_are_there_do_not_divide_what_is_missing)
{
	uint64_t begin, end;

	write_pages(f, 20, 7);
	write_pages(f, 40, 8);
	expect_missing(f, 0, 0, 40);
	assert_true(blocks_find_missing(f->blocks, 0, 16 * PAGE, &begin, &end));
	assert_int_equal(end, 16 * PAGE);
}

TEST_OF(f, a_copy_is_complete_until_something_is_forgotten)
{
	write_pages(f, 0, PAGES);
	for (int i = 0; i < 2; i++) {
		assert_true(blocks_complete(f->blocks));
		open_again(f);
	}
	assert_true(blocks_forget(f->blocks, 77 * PAGE + 5, PAGE));
	assert_false(blocks_complete(f->blocks));
	assert_false(blocks_forget(f->blocks, 100 * PAGE, PAGE));
	expect_missing(f, 0, 77, 79);
	expect_missing(f, 79, 100, 101);
	write_pages(f, 77, 2);
	write_pages(f, 100, 1);
	assert_true(blocks_complete(f->blocks));
}

TEST_OF(f, what_others_write_is_found_until_there_is_damage)
{
	struct blocks *mine = f->blocks, *other = open_a(f);

	f->blocks = other;
	write_pages(f, 5, 3);
	f->blocks = mine;
	assert_false(has(mine, 5, 8));
	assert_int_equal(blocks_take(mine, 5 * PAGE, 8 * PAGE), BLOCKS_THERE);
	assert_int_equal(blocks_take(mine, 5 * PAGE, 9 * PAGE), BLOCKS_TAKEN);
	blocks_leave(mine, 5 * PAGE, 9 * PAGE);
	f->blocks = other;
	write_pages(f, 0, PAGES);
	f->blocks = mine;
	assert_false(blocks_complete(mine));
	assert_true(blocks_see_complete(mine));
	blocks_forget(mine, 6 * PAGE, PAGE);
	assert_int_equal(blocks_take(mine, 6 * PAGE, 7 * PAGE), BLOCKS_TAKEN);
	assert_false(blocks_see_complete(mine));
	blocks_free(other);
}

TEST_OF(f, one_process_at_a_time_fetches_a_page_and_fills)
{
	struct blocks *other = open_a(f);

	assert_int_equal(blocks_take(f->blocks, 10 * PAGE, 20 * PAGE), BLOCKS_TAKEN);
	assert_int_equal(blocks_take(f->blocks, 15 * PAGE, 25 * PAGE), BLOCKS_TAKEN);
	assert_int_equal(blocks_take(other, 24 * PAGE, 30 * PAGE), BLOCKS_BUSY);
	assert_int_equal(blocks_take(other, 25 * PAGE, 30 * PAGE), BLOCKS_TAKEN);
	write_pages(f, 10, 15);
	blocks_leave(f->blocks, 10 * PAGE, 25 * PAGE);
	assert_int_equal(blocks_take(other, 10 * PAGE, 25 * PAGE), BLOCKS_THERE);
	assert_true(blocks_may_fill(f->blocks));
	assert_false(blocks_may_fill(other));
	blocks_free(f->blocks);
	f->blocks = other;
	assert_true(blocks_may_fill(other));
}

/* --- a copy that is not whole ----------------------------------------------------------------- */

TEST_OF(f, a_copy_of_another_size_gets_its_own)
{
	static const off_t sizes[] = {0, 7 * PAGE, 2 * SIZE};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_pages(f, 0, 10);
		blocks_free(f->blocks);
		f->blocks = NULL;
		assert_int_equal(truncate(path_of(f, A, "/data"), sizes[i]), 0);
		assert_int_equal(block_store_blocks(f->store, A, STATE, SIZE, &f->blocks), 0);
		expect_missing(f, 0, min((uint64_t)sizes[i] / PAGE, 10), PAGES);
	}
}

TEST_OF(f, a_copy_that_is_cut_off_meanwhile_harms_nobody)
{
	char read[PAGE];

	write_pages(f, 0, 10);
	assert_int_equal(truncate(path_of(f, A, "/data"), 0), 0);
	assert_int_equal(reader_get_full(blocks_reader(f->blocks), read, PAGE, PAGE), -ENODATA);
	blocks_forget(f->blocks, PAGE, PAGE);
	write_pages(f, 1, 1);
	assert_int_equal(reader_get_full(blocks_reader(f->blocks), read, PAGE, PAGE), 0);
}

/* --- the folder ------------------------------------------------------------------------------- */

static void expect_refused(const char *dir, int error, const char *why)
{
	struct block_store *store;
	struct err err = {0};

	assert_int_equal(block_store_open(dir, &store, &err), error);
	assert_non_null(strstr(err.text, why));
	assert_non_null(strstr(err.text, dir));
}

TEST_OF(f, each_user_has_a_closed_folder)
{
	struct stat st;

	assert_int_equal(stat(folder_of(f), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(path_of(f, A, "/data"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(chmod(folder_of(f), 0755), 0);
	expect_refused(f->dir, -EPERM, "open to other users");
}

TEST_OF(f, a_group_may_share_a_folder)
{
	struct block_store *store;
	struct blocks *blocks;
	char path[160], digits[DIGEST_DIGITS + 1];
	struct stat st;
	mode_t mask = umask(077);

	assert_int_equal(chmod(f->dir, 02770), 0);
	assert_int_equal(block_store_open(f->dir, &store, NULL), 0);
	assert_int_equal(block_store_blocks(store, B, STATE, SIZE, &blocks), 0);
	umask(mask);
	digest_text(B, digits);
	snprintf(path, sizeof(path), "%s/%s-" STATE, f->dir, digits);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 02770);
	strcat(path, "/data");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	blocks_free(blocks);
	block_store_free(store);
}

TEST_OF(f, what_is_no_folder_is_refused)
{
	expect_refused(path_of(f, A, "/data"), -ENOTDIR,
		       "ot a directory; let '--cache-dir' name a folder");
	expect_refused(
		"/proc/nothing/here", -ENOENT,
		"cannot be made: No such file or directory; let '--cache-dir' name a folder");
	expect_refused("/var/tmp/a,lot", -EINVAL, "'lot' is not a size");
	expect_refused("/var/tmp/a,0", -EINVAL, "'0' is not a size");
}

static bool exists(const struct fixture *f, const char *place)
{
	return access(path_of(f, place, ""), F_OK) == 0;
}

static void fill_copy(struct fixture *f, const char *place)
{
	assert_int_equal(block_store_blocks(f->store, place, STATE, SIZE, &f->blocks), 0);
	write_pages(f, 0, 256);
	blocks_free(f->blocks);
	f->blocks = NULL;
}

static void set_opened(const struct fixture *f, const char *place, time_t when)
{
	const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};

	assert_int_equal(utimensat(AT_FDCWD, path_of(f, place, ""), times, 0), 0);
}

TEST_OF(f, what_was_opened_longest_ago_leaves_first)
{
	struct block_store *store;

	blocks_free(f->blocks);
	fill_copy(f, A);
	fill_copy(f, B);
	fill_copy(f, C);
	set_opened(f, A, 2000);
	set_opened(f, B, 1000);
	set_opened(f, C, 3000);
	assert_int_equal(open_bounded(f->dir, 4 * MIB - 64 * KIB, &store), 0);
	/* Each has 1 MiB. */
	assert_int_equal(block_store_room(store, 512 * KIB), 512 * KIB);
	assert_true(exists(f, A) && exists(f, B) && exists(f, C));
	assert_int_equal(block_store_room(store, MIB), MIB);
	assert_true(exists(f, A) && !exists(f, B) && exists(f, C));
	assert_int_equal(block_store_room(store, 3 * MIB - 64 * KIB), 3 * MIB - 64 * KIB);
	assert_true(!exists(f, A) && !exists(f, B) && exists(f, C));
	block_store_free(store);
}

TEST_OF(f, what_somebody_has_open_stays)
{
	struct block_store *store;
	uint64_t room;

	write_pages(f, 0, 256);
	assert_int_equal(open_bounded(f->dir, 2 * MIB, &store), 0);
	room = block_store_room(store, 4 * MIB);
	assert_in_range(room, 512 * KIB, MIB);
	assert_true(exists(f, A));
	blocks_free(f->blocks);
	f->blocks = NULL;
	assert_int_equal(block_store_room(store, 4 * MIB), 2 * MIB);
	assert_false(exists(f, A));
	block_store_free(store);
}

/* Nobody else may look into what a store makes in it. */
static void is_private(const char *dir)
{
	struct block_store *store;
	struct stat st;

	assert_int_equal(block_store_open(dir, &store, NULL), 0);
	assert_int_equal(fstat(block_store_folder(store), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	block_store_free(store);
}

/* With or without the sticky bit and a set group; or if it was missing. */
TEST_OF(f, a_folder_that_all_may_write_to_is_shared_with_nobody)
{
	static const mode_t modes[] = {01777, 02777, 0777, 02773, 03772, 03777};
	char made[128];
	mode_t mask;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(f->dir, modes[i]), 0);
		is_private(f->dir);
	}
	mask = umask(002);
	snprintf(made, sizeof(made), "%s/made", f->dir);
	is_private(made);
	umask(mask);
}

static char notice_text[512];

static void keep_notice(const char *line)
{
	snprintf(notice_text, sizeof(notice_text), "%s", line);
}

TEST_OF(f, a_group_s_folder_of_another_user_is_not_shared)
{
	struct block_store *store;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(f->dir, 4711, 4711), 0);
	assert_int_equal(chmod(f->dir, 02770), 0);
	assert_int_equal(block_store_open(f->dir, &store, NULL), 0);
	block_store_notice(store, keep_notice);
	assert_non_null(strstr(notice_text, "another user owns it"));
	block_store_free(store);
	is_private(f->dir);
}

/* What a member of the group lays where a copy belongs leads to files of others. */
TEST_OF(f, what_is_no_plain_file_is_no_copy)
{
	struct blocks *other;
	char victim[128], path[256];
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", f->dir);
	snprintf(path, sizeof(path), "%s", path_of(f, B, "/data"));
	assert_int_equal(mkdir(path_of(f, B, ""), 0700), 0);
	for (unsigned kind = 0; kind < 3; kind++) {
		assert_int_equal(close(open(victim, O_WRONLY | O_CREAT, 0600)), 0);
		assert_int_equal(truncate(victim, 3), 0);
		assert_int_equal(kind == 0   ? link(victim, path)
				 : kind == 1 ? symlink(victim, path)
					     : mkfifo(path, 0600),
				 0);
		assert_true(block_store_blocks(f->store, B, STATE, SIZE, &other) < 0);
		assert_int_equal(stat(victim, &st), 0);
		assert_int_equal(st.st_size, 3);
		unlink(path);
		assert_int_equal(unlink(victim), 0);
	}
}

TEST_OF(f, what_a_link_leads_to_is_not_removed)
{
	struct blocks *other;
	char files[128], data[160];

	snprintf(files, sizeof(files), "%s/files", f->dir);
	snprintf(data, sizeof(data), "%s/data", files);
	assert_int_equal(mkdir(files, 0700), 0);
	assert_int_equal(close(open(data, O_WRONLY | O_CREAT, 0600)), 0);
	assert_int_equal(symlink(files, path_of(f, B, "")), 0);
	assert_int_not_equal(block_store_blocks(f->store, B, STATE, SIZE, &other), 0);
	block_store_room(f->store, UINT64_MAX);
	assert_int_equal(access(data, F_OK), 0);
}

TEST_OF(f, the_copy_that_was_opened_last_is_found_by_its_place_if_it_is_complete)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	struct blocks *newer;
	char read[PAGE];

	assert_int_equal(block_store_find(f->store, A, &reader), -ENOENT);
	write_pages(f, 0, PAGES);
	assert_int_equal(block_store_find(f->store, B, &reader), -ENOENT);
	set_opened(f, A, 2000);
	assert_int_equal(block_store_blocks(f->store, A, OTHER_STATE, SIZE, &newer), 0);
	assert_int_equal(block_store_find(f->store, A, &reader), -ENOENT);
	blocks_free(newer);
	open_again(f);
	set_opened(f, A, time(NULL) + 10);
	assert_int_equal(block_store_find(f->store, A, &reader), 0);
	blocks_free(f->blocks);
	f->blocks = NULL;
	/* It has the copy open. */
	block_store_room(f->store, UINT64_MAX);
	assert_true(exists(f, A));
	assert_int_equal(reader_get_full(reader, read, PAGE, 6 * PAGE), 0);
	assert_memory_equal(read, f->page, PAGE);
	reader_free(steal_ptr(&reader));
	block_store_room(f->store, UINT64_MAX);
	assert_false(exists(f, A));
}
