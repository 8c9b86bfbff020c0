/* Packs being written: the same input gives the same file, failures leave nothing behind, and
 * no pack appears under its name before it is whole. */
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <dirent.h>
#include <signal.h>

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_done(io_write_full(fd, text, strlen(text)));
	close(fd);
}

static void expect_text(const char *path, const char *text)
{
	char have[64] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(io_read(fd, have, sizeof(have) - 1) >= 0);
	assert_string_equal(have, text);
	close(fd);
}

/* The names in the test's directory, sorted and separated by blanks. */
static void expect_names(const struct fixture *f, const char *want)
{
	struct dirent **names;
	char have[256] = "";
	int count = scandir(f->dir, &names, NULL, alphasort);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.') {
			strcat(have, have[0] ? " " : "");
			strcat(have, names[i]->d_name);
		}
		free(names[i]);
	}
	free(names);
	assert_string_equal(have, want);
}

static void expect_sentence(const struct fixture *f, const char *sentence)
{
	assert_string_equal(f->err.text, sentence);
}

static int new_builder(struct fixture *f, bool replace)
{
	struct builder_params params = {.path = f->path, .replace = replace, .batch = BATCH};

	f->err.text[0] = '\0';
	return builder_new(&params, &f->builder, &f->err);
}

static void expect_finish_fails(struct fixture *f, int code, const char *sentence)
{
	assert_int_equal(builder_finish(f->builder, 0, &f->summary, &f->err), code);
	expect_sentence(f, sentence);
}

/* --- the same file -------------------------------------------------------------------------- */

/* Leaves other bytes on the heap each time. */
static void dirty_heap(uint8_t byte)
{
	void *blocks[64];

	for (size_t i = 0; i < 64; i++) {
		blocks[i] = malloc(4096 * (i + 1));
		assert_non_null(blocks[i]);
		memset(blocks[i], byte, 4096 * (i + 1));
	}
	for (size_t i = 0; i < 64; i++)
		free(blocks[i]);
}

/* Three batches, links of both kinds, and a source that fails within a file each time. */
static XXH128_hash_t build_mixed(struct fixture *f, uint8_t dirt)
{
	uint32_t dir, id = 0;
	char name[32];

	dirty_heap(dirt);
	dir = add_dir(f, PACK_ROOT, "dir");
	for (unsigned i = 0; i < 1500; i++) {
		snprintf(name, sizeof(name), "%05u", i);
		id = add_name(f, dir, name);
		if (i % 100 == 77) {
			assert_int_equal(store_bytes(f, id, name, 60000, 30000), -EIO);
			builder_drop(f->builder, id);
			continue;
		}
		store(f, id, name, i % 2 ? BATCH / 300 : i);
	}
	add_link(f, PACK_ROOT, "linked", id);
	add_symlink(f, PACK_ROOT, "sym", "dir/00001");
	finish(f);
	return file_hash(f->path);
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, the_same_input_gives_the_same_file)
{
	XXH128_hash_t first = build_mixed(f, 0x11);
	XXH128_hash_t second = build_mixed(f, 0xee);

	assert_true(XXH128_isEqual(first, second));
	open_pack(f);
	expect_faults(f, "");
}

TEST_OF(f, the_summary_counts_what_is_in_the_pack)
{
	struct stat st;

	add_lines(f, "d/\nx 5000\ny 0\nz => x\ns -> x");
	finish(f);
	assert_int_equal(f->summary.files, 2);
	assert_int_equal(f->summary.directories, 2);
	assert_int_equal(f->summary.symlinks, 1);
	assert_int_equal(f->summary.hardlinks, 1);
	assert_int_equal(f->summary.bytes, 5000);
	assert_done(stat(f->path, &st));
	assert_int_equal(f->summary.pack_bytes, st.st_size);
	assert_int_equal(st.st_mode & 07777, 0444);
	expect_names(f, "data.lmdb");
}

TEST_OF(f, the_pack_has_no_bit_that_the_umask_of_any_run_takes_away)
{
	mode_t mask = umask(027);
	struct stat st;

	finish(f);
	assert_done(stat(f->path, &st));
	assert_int_equal(st.st_mode & 07777, 0440);
	assert_done(unlink(f->path));
	umask(0);
	start(f);
	assert_done(link(f->partial, f->path));
	builder_free(steal_ptr(&f->builder));
	assert_done(rename(f->path, f->partial));
	umask(077);
	finish(f);
	assert_done(stat(f->path, &st));
	assert_int_equal(st.st_mode & 07777, 0400);
	umask(mask);
}

/* --- sources that fail, entries that go ---------------------------------------------------------
 */

TEST_OF(f, a_source_that_fails_leaves_the_builder_usable)
{
	uint32_t bad, entry;

	add_file(f, PACK_ROOT, "a", 5000);
	bad = add_name(f, PACK_ROOT, "bad");
	assert_int_equal(store_bytes(f, bad, "bad", 3 * MIB, 2 * MIB), -EIO);
	builder_drop(f->builder, bad);
	bad = add_name(f, PACK_ROOT, "retried");
	assert_int_equal(store_bytes(f, bad, "retried", 100, 50), -EIO);
	store(f, bad, "retried", 100);
	add_file(f, PACK_ROOT, "z", 5000);
	finish_and_open(f);
	expect_file(f, "a", 5000);
	expect_file(f, "retried", 100);
	expect_file(f, "z", 5000);
	assert_int_equal(dataset_find(f->dataset, "bad", 3, &entry), -ENOENT);
	expect_faults(f, "");
}

/* Its pages were the last of the file, and are not written: the pack must not look cut off. */
TEST_OF(f, a_source_that_fails_last_does_not_truncate_the_pack)
{
	char name[16];
	uint32_t bad;

	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "%u", i);
		add_file(f, PACK_ROOT, name, BATCH * 5 / 8);
	}
	add_file(f, PACK_ROOT, "x", 10);
	bad = add_name(f, PACK_ROOT, "z");
	assert_int_equal(store_bytes(f, bad, "z", BATCH * 5 / 16, MIB), -EIO);
	builder_drop(f->builder, bad);
	finish_and_open(f);
	expect_file(f, "4", BATCH * 5 / 8);
	expect_faults(f, "");
}

struct late {
	unsigned reads;
	int error;
};

static int third_read_fails(void *context, void *buf, size_t len)
{
	struct late *late = context;

	memset(buf, 'x', len);
	return ++late->reads == 3 ? late->error : 0;
}

/* -ESTALE is a word of the builder's, too. */
TEST_OF(f, a_split_file_that_fails_takes_its_parts_along)
{
	uint32_t id = add_name(f, PACK_ROOT, "big");

	for (unsigned i = 0; i < 2; i++) {
		struct late late = {.error = i ? -ESTALE : -EIO};
		struct builder_source source = {third_read_fails, &late, 2 * GIB};

		assert_int_equal(builder_store(f->builder, id, &source, &f->err), late.error);
	}
	store(f, id, "big", 5);
	finish_and_open(f);
	expect_file(f, "big", 5);
	expect_faults(f, "");
}

TEST_OF(f, a_file_without_its_bytes_stops_the_finish)
{
	uint32_t dir;

	dir = add_dir(f, PACK_ROOT, "dir");
	add_name(f, dir, "forgotten");
	expect_finish_fails(f, -EINVAL, "'dir/forgotten': was added, but never stored");
	let_go(f);
	expect_names(f, "");
}

TEST_OF(f, a_hard_link_to_a_dropped_file_stops_the_finish)
{
	uint32_t id;

	id = add_name(f, PACK_ROOT, "a");
	add_link(f, PACK_ROOT, "b", id);
	builder_drop(f->builder, id);
	expect_finish_fails(f, -EINVAL, "'b': is a hard link to a file that was left out");
}

TEST_OF(f, what_was_added_can_be_asked_for_until_it_is_stored)
{
	struct pack_entry entry = entry_of(FORMAT_FILE, add_dir(f, PACK_ROOT, "d"), "a", 1), known;
	uint32_t file, link;

	entry.size = 500;
	entry.mtime = (struct timespec){.tv_sec = -2, .tv_nsec = 7};
	file = add(f, &entry);
	link = add_link(f, PACK_ROOT, "b", file);
	known = builder_entry(f->builder, file);
	assert_int_equal(known.kind, FORMAT_FILE);
	assert_int_equal(known.parent, entry.parent);
	assert_int_equal(known.size, 500);
	assert_int_equal(known.mode, entry.mode);
	assert_int_equal(known.mtime.tv_sec, -2);
	assert_int_equal(known.mtime.tv_nsec, 7);
	assert_int_equal(builder_kind(f->builder, link), FORMAT_HARDLINK);
	assert_int_equal(builder_parent(f->builder, entry.parent), PACK_ROOT);
	assert_int_equal(builder_file(f->builder, file), file);
	assert_int_equal(builder_file(f->builder, link), file);
	store(f, file, "a", 300);
	assert_int_equal(builder_entry(f->builder, file).size, 300);
}

TEST_OF(f, a_directory_can_get_other_attributes)
{
	struct timespec mtime = {.tv_sec = 5, .tv_nsec = 7};
	struct dataset_attr attr;
	uint32_t id = add_dir(f, PACK_ROOT, "d");

	builder_attr(f->builder, id, 0711, mtime);
	finish_and_open(f);
	assert_done(dataset_attr(f->dataset, find(f, "d"), &attr));
	assert_int_equal(attr.mode, 0711);
	assert_int_equal(attr.mtime.tv_sec, 5);
	assert_int_equal(attr.mtime.tv_nsec, 7);
}

static int note_empty(void *context, uint32_t id, bool had_files)
{
	return buf_addf(context, "%u%s ", id, had_files ? " had files" : "");
}

TEST_OF(f, of_folders_without_files_the_outermost_are_found)
{
	SCOPE(buf_release) struct buf found = BUF_INIT;
	uint32_t full, nested, links, dropped;
	char want[64];

	full = add_dir(f, PACK_ROOT, "full");
	add_file(f, add_dir(f, full, "sub"), "file", 1);
	nested = add_dir(f, PACK_ROOT, "nested");
	add_dir(f, nested, "sub");
	links = add_dir(f, PACK_ROOT, "links");
	add_symlink(f, links, "link", "target");
	dropped = add_dir(f, PACK_ROOT, "dropped");
	builder_drop(f->builder, add_name(f, dropped, "file"));
	assert_done(builder_find_empty(f->builder, note_empty, &found));
	snprintf(want, sizeof(want), "%u %u %u had files ", nested, links, dropped);
	assert_string_equal(found.data, want);
}

TEST_OF(f, two_files_of_one_path_are_refused_at_once)
{
	uint32_t id;

	add_file(f, PACK_ROOT, "same", 5000);
	id = add_name(f, PACK_ROOT, "same");
	assert_int_equal(store_bytes(f, id, "same", 100, 0), -EEXIST);
	expect_sentence(f, "two entries have the path 'same'");
	builder_drop(f->builder, id);
	finish_and_open(f);
	expect_file(f, "same", 5000);
}

TEST_OF(f, two_entries_of_one_name_are_refused_at_the_end)
{
	uint32_t dir;

	dir = add_dir(f, PACK_ROOT, "d");
	add_dir(f, dir, "same");
	add_file(f, dir, "same", 5);
	expect_finish_fails(f, -EEXIST, "'d/same': there are two of this name");
}

static void expect_add(struct fixture *f, const struct pack_entry *entry, int code,
		       const char *sentence)
{
	uint32_t id;

	assert_int_equal(builder_add(f->builder, entry, &id, &f->err), code);
	expect_sentence(f, sentence);
}

TEST_OF(f, a_folder_that_is_too_deep_is_refused)
{
	uint32_t folder = PACK_ROOT;
	struct pack_entry entry;

	for (int i = 0; i < FORMAT_DEPTH_MAX; i++)
		folder = add_dir(f, folder, "d");
	entry = entry_of(FORMAT_DIRECTORY, folder, "d", 1);
	expect_add(f, &entry, -ENAMETOOLONG, "deeper than 4096 folders");
	add_file(f, folder, "file", 1);
	finish_and_open(f);
}

TEST_OF(f, entries_that_no_pack_can_hold_are_refused)
{
	struct pack_entry entry;
	uint32_t file;

	file = add_file(f, PACK_ROOT, "file", 1);
	entry = entry_of(FORMAT_FILE, PACK_ROOT, "a/b", 3);
	expect_add(f, &entry, -EINVAL, "not a name that a pack can hold");
	entry = entry_of(FORMAT_DIRECTORY, PACK_ROOT, "..", 2);
	expect_add(f, &entry, -EINVAL, "not a name that a pack can hold");
	entry = entry_of(FORMAT_FILE, file, "x", 1);
	expect_add(f, &entry, -EINVAL, "its parent is not a folder");
	entry = entry_of(FORMAT_FILE, 99, "x", 1);
	expect_add(f, &entry, -EINVAL, "its parent is not a folder");
	entry = entry_of(FORMAT_SYMLINK, PACK_ROOT, "x", 1);
	expect_add(f, &entry, -EINVAL, "a symbolic link without target");
	entry.target = "all targets are one record";
	entry.target_len = 0x7ffff000;
	expect_add(f, &entry, -EOVERFLOW, "more names than one pack can hold: pack it in parts");
	entry = entry_of(FORMAT_HARDLINK, PACK_ROOT, "x", 1);
	expect_add(f, &entry, -EINVAL, "a hard link to something that is not a file");
	assert_int_equal(store_bytes(f, file, "file", 1, 0), -EINVAL);
	expect_sentence(f, "not a file that still wants its bytes");
	finish_and_open(f);
	assert_int_equal(dataset_entries(f->dataset), 2);
}

/* --- names on disk ------------------------------------------------------------------------------
 */

TEST_OF(f, an_existing_pack_is_replaced_only_when_told)
{
	write_text(f->path, "precious");
	assert_int_equal(new_builder(f, false), -EEXIST);
	expect_sentence(f, "exists");
	expect_names(f, "data.lmdb");
	assert_done(new_builder(f, true));
	expect_text(f->path, "precious");
	add_file(f, PACK_ROOT, "x", 5);
	finish_and_open(f);
	expect_file(f, "x", 5);
	expect_names(f, "data.lmdb");
}

/* 255 bytes less those of .partial.journal. */
TEST_OF(f, a_name_that_leaves_no_room_for_its_journal_is_refused)
{
	struct builder_params params = {.batch = BATCH};
	char path[PATH_MAX];
	int folder = (int)(strrchr(f->path, '/') - f->path);

	params.path = path;
	snprintf(path, sizeof(path), "%.*s/%0240d", folder, f->path, 0);
	assert_int_equal(builder_new(&params, &f->builder, &f->err), -ENAMETOOLONG);
	expect_sentence(f,
			"the name is too long: '.partial.journal' is put behind it for as long "
			"as it is written; choose a shorter one");
	expect_names(f, "");
	snprintf(path, sizeof(path), "%.*s/%0239d", folder, f->path, 0);
	assert_done(builder_new(&params, &f->builder, &f->err));
}

TEST_OF(f, a_directory_or_symlink_is_never_replaced)
{
	assert_done(mkdir(f->path, 0755));
	assert_int_equal(new_builder(f, true), -EEXIST);
	expect_sentence(f, "exists and is not a regular file; choose another name");
	assert_done(rmdir(f->path));
	assert_done(symlink("elsewhere", f->path));
	assert_int_equal(new_builder(f, true), -EEXIST);
	expect_names(f, "data.lmdb");
}

/* A descriptor that is closed twice may be somebody else's by then. Threads that still read when
 * the disk is full ask for names. */
TEST_OF(f, what_was_discarded_is_closed_once_and_has_names)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int fds[16];

	add_file(f, PACK_ROOT, "x", 100000);
	builder_discard(f->builder);
	assert_done(builder_path(f->builder, 1, &path));
	assert_string_equal(path.data, "x");
	for (int i = 0; i < 16; i++)
		assert_true((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
	let_go(f);
	for (int i = 0; i < 16; i++)
		assert_int_equal(close(fds[i]), 0);
	expect_names(f, "");
}

TEST_OF(f, a_second_builder_of_one_pack_is_refused)
{
	struct builder *first;
	char sentence[200];

	start(f);
	first = f->builder;
	f->builder = NULL;
	assert_int_equal(new_builder(f, true), -EBUSY);
	snprintf(sentence, sizeof(sentence), "another foldpack is writing '%s.partial'", f->path);
	expect_sentence(f, sentence);
	expect_names(f, "data.lmdb.partial");
	f->builder = first;
	add_file(f, PACK_ROOT, "x", 5);
	finish_and_open(f);
	expect_file(f, "x", 5);
}

static int die_after_a_batch(struct fixture *f, void *unused)
{
	(void)unused;
	add_file(f, PACK_ROOT, "old", BATCH * 3 / 2);
	return raise(SIGKILL);
}

TEST_OF(f, the_remains_of_a_killed_run_are_written_over)
{
	assert_true(WIFSIGNALED(child_status(die_after_a_batch, f, NULL)));
	assert_done(access(f->partial, F_OK));
	add_file(f, PACK_ROOT, "new", 5);
	finish_and_open(f);
	expect_file(f, "new", 5);
	assert_true(f->summary.pack_bytes < MIB);
	expect_names(f, "data.lmdb");
}

static int finish_for_another_s_name(struct fixture *f, void *unused)
{
	(void)unused;
	assert_done(new_builder(f, false));
	add_file(f, PACK_ROOT, "x", 5);
	write_text(f->path, "in the way");
	return builder_finish(f->builder, 0, &f->summary, &f->err) != -EEXIST;
}

/* It has no name yet, and is no pack that was put aside. */
TEST_OF(f, a_small_pack_that_only_wants_its_name_is_gone_on_with)
{
	struct builder_kept kept;

	assert_int_equal(child_status(finish_for_another_s_name, f, NULL), 0);
	expect_text(f->path, "in the way");
	assert_done(unlink(f->path));
	assert_int_equal(new_builder(f, false), -EINPROGRESS);
	assert_done(builder_new(
		&(struct builder_params){.path = f->path, .resume = true, .batch = BATCH},
		&f->builder, &f->err));
	assert_true(builder_kept(f->builder, &kept));
	assert_int_equal(kept.files, 1);
}

static int die_behind_the_meta_pages(struct fixture *f, void *unused)
{
	(void)unused;
	limit_file_size(8192);
	start(f);
	return 0;
}

TEST_OF(f, a_run_that_is_killed_before_it_has_written_a_record_is_begun_anew)
{
	assert_true(WIFSIGNALED(child_status(die_behind_the_meta_pages, f, NULL)));
	assert_done(new_builder(f, false));
	add_file(f, PACK_ROOT, "new", 5);
	finish_and_open(f);
	expect_file(f, "new", 5);
}

static void expect_in_the_way(struct fixture *f, const char *path)
{
	char sentence[300];

	snprintf(sentence, sizeof(sentence),
		 "'%s' is in the way, and not what foldpack left; move it, or choose another name",
		 path);
	assert_int_equal(new_builder(f, false), -EEXIST);
	expect_sentence(f, sentence);
	assert_int_equal(new_builder(f, true), -EEXIST);
	expect_sentence(f, sentence);
}

TEST_OF(f, a_link_or_pipe_in_place_of_the_partial_file_is_kept)
{
	char victim[120];

	snprintf(victim, sizeof(victim), "%s/victim", f->dir);
	write_text(victim, "precious");
	assert_done(symlink("victim", f->partial));
	expect_in_the_way(f, f->partial);
	expect_text(victim, "precious");
	assert_done(unlink(f->partial));
	assert_done(mkfifo(f->partial, 0600));
	expect_in_the_way(f, f->partial);
	assert_done(unlink(f->partial));
}

/* A download under that name, whole or in part, with room for the rest or not; a pack that was put
 * aside. Nothing tells that this may go, not even that PATH may be replaced. */
TEST_OF(f, what_is_not_a_run_s_in_place_of_the_partial_file_is_kept)
{
	write_text(f->partial, "precious");
	expect_in_the_way(f, f->partial);
	expect_text(f->partial, "precious");
	assert_done(unlink(f->partial));
	add_file(f, PACK_ROOT, "x", 5);
	finish(f);
	assert_done(rename(f->path, f->partial));
	expect_in_the_way(f, f->partial);
	assert_done(truncate(f->partial, 8192));
	expect_in_the_way(f, f->partial);
	assert_done(truncate(f->partial, (off_t)GIB));
	expect_in_the_way(f, f->partial);
	assert_done(truncate(f->partial, 0));
	assert_done(truncate(f->partial, 65536));
	expect_in_the_way(f, f->partial);
}

TEST_OF(f, what_is_not_a_run_s_in_place_of_the_journal_is_kept)
{
	assert_done(mkdir(f->journal, 0755));
	expect_in_the_way(f, f->journal);
	assert_done(rmdir(f->journal));
	write_text(f->journal, "precious");
	expect_in_the_way(f, f->journal);
	expect_names(f, "data.lmdb.partial.journal");
	builder_tidy(f->path);
	expect_text(f->journal, "precious");
}

/* The superblock is there from the beginning; any other page may be missing. */
TEST_OF(f, what_a_power_failure_left_of_the_first_batch_is_begun_again)
{
	char kept[120];
	int fd;

	snprintf(kept, sizeof(kept), "%s.kept", f->path);
	add_file(f, PACK_ROOT, "x", 5);
	assert_done(link(f->partial, kept));
	builder_free(steal_ptr(&f->builder));
	assert_done(rename(kept, f->partial));
	fd = open(f->partial, O_WRONLY);
	assert_done(io_pwrite_full(fd, (char[8192]){0}, 8192, 0));
	assert_done(ftruncate(fd, (off_t)GIB));
	close(fd);
	assert_done(new_builder(f, false));
}
