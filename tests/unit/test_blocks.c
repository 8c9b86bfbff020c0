/* A copy of a pack on the disk, and the folder that such copies are in: remote/blocks.h,
 * remote/block_store.h. */
#include "base/clock.h"
#include "base/io.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "base/size.h"
#include "remote/block_claims.h"
#include "remote/block_store.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>

#define PAGE  READER_PAGE
#define PAGES 3000u
#define SIZE  (PAGES * (uint64_t)PAGE - 1000) /* ends within a page */

#define KEY_A "0123456789abcdef0123456789abcdef"
#define KEY_B "fedcba9876543210fedcba9876543210"
#define KEY_C "00000000000000000000000000000001"

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
	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &f->blocks), 0);
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

/* Opened anew, as by another process. */
static void open_again(struct fixture *f)
{
	blocks_free(f->blocks);
	f->blocks = NULL;
	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &f->blocks), 0);
}

static char *path_of(const struct fixture *f, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/uid-%u/%s", f->dir, geteuid(), name);
	return path;
}

static void expect_run(const struct fixture *f, bool there, uint64_t first, uint64_t end)
{
	uint64_t until;

	assert_int_equal(blocks_look(f->blocks, first * PAGE, (uint64_t)PAGES * PAGE, &until),
			 there);
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

TEST_OF(f, a_new_copy_has_no_page)
{
	expect_run(f, false, 0, PAGES);
}

TEST_OF(f, pages_are_there_once_they_are_written)
{
	char read[PAGE];

	write_pages(f, 5, 3);
	expect_run(f, false, 0, 5);
	expect_run(f, true, 5, 8);
	expect_run(f, true, 7, 8);
	expect_run(f, false, 8, PAGES);
	assert_int_equal(reader_get_full(blocks_reader(f->blocks), read, PAGE, 6 * PAGE), 0);
	assert_memory_equal(read, f->page, PAGE);
}

/* Longer than what is looked up at once. */
TEST_OF(f, a_long_run_is_one)
{
	write_pages(f, 100, 2000);
	expect_run(f, false, 0, 100);
	expect_run(f, true, 100, 2100);
	expect_run(f, true, 612, 2100);
	expect_run(f, false, 2100, PAGES);
	blocks_forget(f->blocks, 1000 * PAGE + 1, 1);
	expect_run(f, true, 100, 1000);
	expect_run(f, false, 1000, 1001);
	expect_run(f, true, 1001, 2100);
}

/* What is looked up at once is 512 pages. */
TEST_OF(f, a_run_may_end_where_a_look_does)
{
	write_pages(f, 512, 1024);
	expect_run(f, false, 0, 512);
	expect_run(f, true, 512, 1536);
	expect_run(f, true, 1024, 1536);
}

TEST_OF(f, the_last_page_need_not_be_whole)
{
	const size_t last = SIZE % PAGE;
	struct reader_identity identity;
	char read[PAGE];

	write_pages(f, PAGES - 2, 2);
	expect_run(f, true, PAGES - 2, PAGES);
	assert_int_equal(reader_get_full(blocks_reader(f->blocks), read, last, SIZE - last), 0);
	assert_memory_equal(read, f->page, last);
	assert_int_equal(reader_identity(blocks_reader(f->blocks), &identity), 0);
	assert_int_equal(identity.size, SIZE);
}

TEST_OF(f, what_is_there_is_there_for_the_next_process)
{
	write_pages(f, 5, 3);
	open_again(f);
	expect_run(f, true, 5, 8);
	expect_run(f, false, 8, PAGES);
}

TEST_OF(f, what_is_forgotten_is_forgotten_for_all)
{
	struct blocks *other;
	uint64_t until;

	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &other), 0);
	write_pages(f, 5, 3);
	assert_true(blocks_look(other, 5 * PAGE, 6 * PAGE, &until));
	blocks_forget(other, 6 * PAGE, PAGE);
	expect_run(f, true, 5, 6);
	expect_run(f, false, 6, 7);
	expect_run(f, true, 7, 8);
	blocks_free(other);
}

TEST_OF(f, a_copy_is_complete_until_something_is_forgotten)
{
	struct blocks *other;

	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &other), 0);
	write_pages(f, 0, PAGES);
	assert_false(blocks_complete(f->blocks));
	blocks_set_complete(f->blocks);
	assert_true(blocks_complete(f->blocks));
	assert_false(blocks_complete(other));
	assert_true(blocks_see_complete(other));
	assert_true(blocks_complete(other));
	blocks_free(other);
	open_again(f);
	assert_true(blocks_complete(f->blocks));
	assert_true(blocks_forget(f->blocks, 77 * PAGE, PAGE));
	assert_false(blocks_complete(f->blocks));
	assert_false(blocks_forget(f->blocks, 78 * PAGE, PAGE));
	open_again(f);
	assert_false(blocks_complete(f->blocks));
}

TEST_OF(f, one_process_at_a_time_fills)
{
	struct blocks *other;

	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &other), 0);
	assert_true(blocks_may_fill(f->blocks));
	assert_false(blocks_may_fill(other));
	blocks_free(f->blocks);
	f->blocks = other;
	assert_true(blocks_may_fill(other));
}

/* From the beginning, and up to where the file ends: both are before or behind what stands for
 * pages. */
TEST_OF(f, another_program_s_lock_on_the_map_is_a_claim)
{
	static const struct {
		off_t start, len;
		bool free; /* from page 20 on */
	} cases[] = {{0, 0, false}, {PAGE + 7, 0, false}, {0, PAGE + 20, true}};
	struct block_claims *claims;
	uint64_t end;

	assert_int_equal(block_claims_new(f->blocks, true, &claims), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct flock lock = {.l_type = F_RDLCK,
				     .l_whence = SEEK_SET,
				     .l_start = cases[i].start,
				     .l_len = cases[i].len};
		SCOPE_CLOSE int fd = open(path_of(f, KEY_A "/map"), O_RDONLY | O_CLOEXEC);

		assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
		assert_false(block_claims_take(claims, false, 10 * PAGE, 15 * PAGE, &end));
		assert_int_equal(end, 15 * PAGE);
		assert_int_equal(block_claims_take(claims, false, 20 * PAGE, 25 * PAGE, &end),
				 cases[i].free);
		assert_int_equal(end, 25 * PAGE);
		block_claims_drop(claims, false, 20 * PAGE, 25 * PAGE);
	}
	block_claims_free(claims);
}

TEST_OF(f, who_waits_for_a_page_ignores_who_fetches_it_ahead_but_not_the_other_way_round)
{
	struct block_claims *mine, *others;
	uint64_t end;

	assert_int_equal(block_claims_new(f->blocks, true, &mine), 0);
	assert_int_equal(block_claims_new(f->blocks, true, &others), 0);
	assert_true(block_claims_take(mine, true, 10 * PAGE, 20 * PAGE, &end));
	assert_true(block_claims_take(others, false, 15 * PAGE, 20 * PAGE, &end));
	assert_int_equal(end, 20 * PAGE);
	block_claims_drop(mine, true, 10 * PAGE, 20 * PAGE);
	assert_true(block_claims_take(mine, true, 10 * PAGE, 25 * PAGE, &end));
	assert_int_equal(end, 15 * PAGE);
	assert_false(block_claims_take(mine, false, 15 * PAGE, 25 * PAGE, &end));
	assert_int_equal(end, 20 * PAGE);
	assert_false(block_claims_take(others, true, 10 * PAGE, 20 * PAGE, &end));
	assert_int_equal(end, 15 * PAGE);
	block_claims_free(mine);
	block_claims_free(others);
}

/* --- a copy that is not whole ----------------------------------------------------------------- */

static void damage(const struct fixture *f, const char *name, off_t size)
{
	assert_int_equal(truncate(path_of(f, name), size), 0);
}

TEST_OF(f, a_copy_with_a_torn_map_begins_anew)
{
	static const struct {
		const char *name;
		off_t size;
	} cases[] = {{KEY_A "/map", 0},
		     {KEY_A "/map", 100},
		     {KEY_A "/map", PAGE + 5},
		     {KEY_A "/data", PAGE}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_pages(f, 0, 10);
		blocks_free(f->blocks);
		f->blocks = NULL;
		damage(f, cases[i].name, cases[i].size);
		assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &f->blocks), 0);
		expect_run(f, false, 0, PAGES);
	}
}

TEST_OF(f, a_copy_of_another_size_begins_anew)
{
	uint64_t until;

	write_pages(f, 0, 10);
	blocks_free(f->blocks);
	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE / 2, &f->blocks), 0);
	assert_false(blocks_look(f->blocks, 0, PAGE, &until));
}

/* No page seems to be there, no call kills, and who comes next is told. */
TEST_OF(f, a_map_that_is_cut_off_meanwhile_harms_nobody)
{
	struct blocks *other;

	write_pages(f, 0, 10);
	damage(f, KEY_A "/map", 0);
	expect_run(f, false, 0, PAGES);
	assert_int_equal(block_store_blocks(f->store, KEY_A, SIZE, &other), -EBUSY);
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

	assert_int_equal(stat(path_of(f, ""), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(path_of(f, KEY_A "/data"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(chmod(path_of(f, ""), 0755), 0);
	expect_refused(f->dir, -EPERM, "open to other users");
}

TEST_OF(f, a_group_may_share_a_folder)
{
	struct block_store *store;
	struct blocks *blocks;
	char path[128];
	struct stat st;
	mode_t mask = umask(077);

	assert_int_equal(chmod(f->dir, 02770), 0);
	assert_int_equal(block_store_open(f->dir, &store, NULL), 0);
	assert_int_equal(block_store_blocks(store, KEY_B, SIZE, &blocks), 0);
	umask(mask);
	snprintf(path, sizeof(path), "%s/" KEY_B, f->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 02770);
	strcat(path, "/map");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	blocks_free(blocks);
	block_store_free(store);
}

TEST_OF(f, what_is_no_folder_is_refused)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/uid-%u/" KEY_A "/map", f->dir, geteuid());
	expect_refused(path, -ENOTDIR, "ot a directory");
	expect_refused("/proc/nothing/here", -ENOENT, "cannot be made");
	expect_refused("/var/tmp/a,lot", -EINVAL, "'lot' is not a size");
	expect_refused("/var/tmp/a,0", -EINVAL, "'0' is not a size");
}

static bool exists(const struct fixture *f, const char *name)
{
	return access(path_of(f, name), F_OK) == 0;
}

static void fill_copy(struct fixture *f, const char *key)
{
	assert_int_equal(block_store_blocks(f->store, key, SIZE, &f->blocks), 0);
	write_pages(f, 0, 256);
	blocks_free(f->blocks);
	f->blocks = NULL;
}

static void set_opened(const struct fixture *f, const char *key, time_t when)
{
	const struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};

	assert_int_equal(utimensat(AT_FDCWD, path_of(f, key), times, 0), 0);
}

TEST_OF(f, what_was_opened_longest_ago_leaves_first)
{
	struct block_store *store;

	blocks_free(f->blocks);
	fill_copy(f, KEY_A);
	fill_copy(f, KEY_B);
	fill_copy(f, KEY_C);
	set_opened(f, KEY_A, 2000);
	set_opened(f, KEY_B, 1000);
	set_opened(f, KEY_C, 3000);
	assert_int_equal(open_bounded(f->dir, 4 * MIB, &store), 0);
	/* Each has a bit over 1 MiB. */
	assert_int_equal(block_store_room(store, 512 * KIB), 512 * KIB);
	assert_true(exists(f, KEY_A) && exists(f, KEY_B) && exists(f, KEY_C));
	assert_int_equal(block_store_room(store, MIB), MIB);
	assert_true(exists(f, KEY_A) && !exists(f, KEY_B) && exists(f, KEY_C));
	assert_int_equal(block_store_room(store, 3 * MIB - 64 * KIB), 3 * MIB - 64 * KIB);
	assert_true(!exists(f, KEY_A) && !exists(f, KEY_B) && exists(f, KEY_C));
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
	assert_true(exists(f, KEY_A "/data"));
	blocks_free(f->blocks);
	f->blocks = NULL;
	assert_int_equal(block_store_room(store, 4 * MIB), 2 * MIB);
	assert_false(exists(f, KEY_A));
	block_store_free(store);
}

/* With or without the sticky bit and a set group. */
TEST_OF(f, a_folder_that_all_may_write_to_is_shared_with_nobody)
{
	static const mode_t modes[] = {01777, 03777, 02777, 0777, 02773, 03772};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct block_store *store;
		struct stat st;

		assert_int_equal(chmod(f->dir, modes[i]), 0);
		assert_int_equal(block_store_open(f->dir, &store, NULL), 0);
		assert_int_equal(fstat(block_store_folder(store), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
		block_store_free(store);
	}
}

TEST_OF(f, a_folder_that_was_missing_is_shared_with_nobody)
{
	struct block_store *store;
	char made[128];
	struct stat st;
	mode_t mask = umask(002);

	assert_int_equal(chmod(f->dir, 03777), 0);
	snprintf(made, sizeof(made), "%s/made", f->dir);
	assert_int_equal(block_store_open(made, &store, NULL), 0);
	assert_int_equal(fstat(block_store_folder(store), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	block_store_free(store);
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
	struct stat st;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(f->dir, 4711, 4711), 0);
	assert_int_equal(chmod(f->dir, 02770), 0);
	assert_int_equal(block_store_open(f->dir, &store, NULL), 0);
	block_store_notice(store, keep_notice);
	assert_non_null(strstr(notice_text, "another user owns it"));
	assert_int_equal(fstat(block_store_folder(store), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	block_store_free(store);
}

/* What a member of the group lays where a copy belongs leads to files of others. */
TEST_OF(f, what_is_no_plain_file_is_no_copy)
{
	static const char *const files[] = {"data", "map"};
	struct blocks *other;
	char victim[128];
	struct stat st;

	snprintf(victim, sizeof(victim), "%s/victim", f->dir);
	for (unsigned kind = 0; kind < 3; kind++)
		for (unsigned i = 0; i < 2; i++) {
			const char *at = i ? KEY_B "/map" : KEY_B "/data";
			char path[256];

			assert_int_equal(mkdir(path_of(f, KEY_B), 0700), 0);
			snprintf(path, sizeof(path), "%s", path_of(f, at));
			assert_int_equal(close(open(victim, O_WRONLY | O_CREAT, 0600)), 0);
			assert_int_equal(truncate(victim, 3), 0);
			assert_int_equal(kind == 0   ? link(victim, path)
					 : kind == 1 ? symlink(victim, path)
						     : mkfifo(path, 0600),
					 0);
			assert_true(block_store_blocks(f->store, KEY_B, SIZE, &other) < 0);
			assert_int_equal(stat(victim, &st), 0);
			assert_int_equal(st.st_size, 3);
			for (unsigned j = 0; j < 2; j++) {
				snprintf(path, sizeof(path), "%s/%s", path_of(f, KEY_B), files[j]);
				unlink(path);
			}
			assert_int_equal(unlink(victim), 0);
			assert_int_equal(rmdir(path_of(f, KEY_B)), 0);
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
	assert_int_equal(symlink(files, path_of(f, KEY_B)), 0);
	assert_int_not_equal(block_store_blocks(f->store, KEY_B, SIZE, &other), 0);
	block_store_room(f->store, UINT64_MAX);
	assert_int_equal(access(data, F_OK), 0);
}

/* As one of another user, who may read a folder that a group shares. */
TEST_OF(f, a_process_that_keeps_the_lock_is_not_waited_for_for_ever)
{
	SCOPE_CLOSE int kept = open(path_of(f, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct reader *reader;
	struct blocks *other;
	uint64_t since = clock_ns();

	assert_int_equal(flock(kept, LOCK_SH), 0);
	block_store_notice(f->store, keep_notice);
	assert_int_equal(block_store_blocks(f->store, KEY_B, SIZE, &other), -EBUSY);
	assert_non_null(strstr(notice_text, "another process has it locked: it is done without"));
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(block_store_blocks(f->store, KEY_B, SIZE, &other), -EBUSY);
		assert_int_equal(block_store_find(f->store, "a", &reader), -EBUSY);
		assert_int_equal(block_store_room(f->store, MIB), 0);
		assert_false(block_store_has_room(f->store, MIB));
		block_store_remember(f->store, "a", KEY_A);
	}
	assert_in_range(clock_ns() - since, 0, 20 * CLOCK_SECOND);
	assert_int_equal(flock(kept, LOCK_UN), 0);
	assert_int_equal(block_store_blocks(f->store, KEY_B, SIZE, &other), 0);
	blocks_free(other);
}

static int held = -1;
static char said[256];

static void let_go(const char *line)
{
	snprintf(said, sizeof(said), "%s", line);
	close(held);
}

/* As one that was stopped by ^Z. */
TEST_OF(f, a_process_that_holds_the_lock_for_long_is_told_of)
{
	char want[256];

	snprintf(want, sizeof(want), "%s: another process has it locked: waiting", f->dir);
	held = open(path_of(f, ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);
	block_store_notice(f->store, let_go);
	block_store_remember(f->store, "https://host/a", KEY_A);
	assert_string_equal(said, want);
	assert_true(exists(f, "names"));
}

TEST_OF(f, a_complete_copy_is_found_by_the_name_it_was_read_under)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	char read[PAGE];

	assert_int_equal(block_store_find(f->store, "https://host/a", &reader), -ENOENT);
	block_store_remember(f->store, "https://host/a", KEY_B);
	block_store_remember(f->store, "https://host/a", KEY_A);
	assert_int_equal(block_store_find(f->store, "https://host/a", &reader), -ENOENT);
	write_pages(f, 0, PAGES);
	blocks_set_complete(f->blocks);
	assert_int_equal(block_store_find(f->store, "https://host/b", &reader), -ENOENT);
	assert_int_equal(block_store_find(f->store, "https://host/a", &reader), 0);
	blocks_free(f->blocks);
	f->blocks = NULL;
	/* It has the copy open. */
	block_store_room(f->store, UINT64_MAX);
	assert_true(exists(f, KEY_A));
	assert_int_equal(reader_get_full(reader, read, PAGE, 6 * PAGE), 0);
	assert_memory_equal(read, f->page, PAGE);
	reader_free(steal_ptr(&reader));
	block_store_room(f->store, UINT64_MAX);
	assert_false(exists(f, KEY_A));
	assert_int_equal(block_store_find(f->store, "https://host/a", &reader), -ENOENT);
}
