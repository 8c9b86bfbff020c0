/* Packs that were interrupted: whatever stopped the run, and whenever, going on gives the file
 * that it would have given; a source that has changed is told, and what is unfinished is not taken
 * for a pack. */
#define TEST_MAIN
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <malloc.h>

/* Five batches of files, and one of the index: the target of a symbolic link may be that long in
 * a builder, if nowhere else. */
#define FILES	 1000
#define FILE_LEN ((unsigned)(batch / 210))
#define LINKS	 50
#define TARGETS	 80
#define TARGET	 (batch / 128)

static uint64_t batch = BATCH; /* as packs have it, if FOLDFS_TEST_BIG is set */

/* So many 64ths of a batch: a MiB of packs. */
static uint64_t share(uint64_t count)
{
	return count * batch / 64;
}

struct build {
	unsigned files;	 /* stop before this one; FILES: at the end */
	unsigned change; /* this one has another fingerprint */
	unsigned hole;	 /* this one is not there */
	bool settle;	 /* wait for what is handed over at the stop */
	bool rival;	 /* another pack takes the name before the finish */
	bool folder;	 /* there is one before all files */
	const char *options;
	unsigned resumed; /* files found stored; filled in */
};

static const struct build whole = {.files = FILES, .change = FILES, .hole = FILES};

/* Cheap, and different for each file. */
static int content_read(void *context, void *buf, size_t len)
{
	unsigned number = *(unsigned *)context;

	if (number % 50 == 7)
		return -EIO;
	memset(buf, (int)number, len);
	memcpy(buf, context, sizeof(number));
	return 0;
}

static void add_rest(struct fixture *f, const uint32_t *ids)
{
	SCOPE_FREE char *target = malloc(TARGET);
	char name[32];

	memset(target, 'x', TARGET);
	for (unsigned i = 0; i < LINKS; i++) {
		snprintf(name, sizeof(name), "link%u", i);
		add_link(f, PACK_ROOT, name, ids[i * 20]);
	}
	for (unsigned i = 0; i < TARGETS; i++) {
		struct pack_entry entry;

		snprintf(name, sizeof(name), "sym%u", i);
		entry = entry_of(FORMAT_SYMLINK, PACK_ROOT, name, strlen(name));
		entry.target = target;
		entry.target_len = TARGET;
		add(f, &entry);
	}
}

/* Whether a file has the bytes of number 1, which was added as the third entry. */
static bool is_same(struct fixture *f, unsigned number)
{
	SCOPE_FREE char *data = malloc(FILE_LEN);
	unsigned content = number % 20 == 3 ? 1 : number;
	bool same;

	assert_done(content_read(&content, data, FILE_LEN));
	assert_done(builder_same(f->builder, 3, data, FILE_LEN, &same));
	assert_int_equal(same, number % 20 == 3);
	return same;
}

/* Stores, or drops, one file that has not been. */
static int store_one(struct fixture *f, uint32_t id, unsigned number, uint64_t fingerprint)
{
	const struct dataset_image image = {.kind = IMAGE_PNG, .width = number, .height = 5};
	struct builder_source source = {
		.read = content_read, .context = &number, .size = number % 10 ? FILE_LEN : number};
	int r;

	builder_mark(f->builder, fingerprint, "note", number % 5);
	if ((number % 20 == 3 || number % 10 == 4) && is_same(f, number))
		return builder_alias(f->builder, id, 3, &f->err);
	r = builder_store(f->builder, id, &source, &f->err);
	if (number % 50 == 7) {
		assert_int_equal(r, -EIO);
		return builder_drop(f->builder, id);
	}
	if (r == 0)
		builder_image(f->builder, id, &image);
	return r;
}

static void expect_past(const struct builder_past *past, unsigned number)
{
	assert_int_equal(past->dropped, number % 50 == 7);
	assert_int_equal(past->note_len, number % 5);
	assert_memory_equal(past->note, "note", past->note_len);
}

static int build_file(struct fixture *f, struct build *build, uint32_t id, unsigned number)
{
	uint64_t fingerprint = 5000 + number + (number == build->change);
	struct builder_past past;
	int r = builder_resumed(f->builder, id, fingerprint, &past, &f->err);

	if (r == 0)
		return store_one(f, id, number, fingerprint);
	if (r == 1) {
		expect_past(&past, number);
		build->resumed++;
	}
	return r < 0 ? r : 0;
}

static int build_new(struct fixture *f, const struct build *build, bool resume)
{
	const struct builder_params params = {
		.path = f->path, .resume = resume, .options = build->options, .batch = batch};

	f->err.text[0] = '\0';
	return builder_new(&params, &f->builder, &f->err);
}

/* Goes on, or begins; up to the stop, or to the finished pack. The builder is left. */
static int build_on(struct fixture *f, struct build *build)
{
	static uint32_t ids[FILES];
	struct builder_kept kept;
	uint32_t dir;
	char name[16];
	int r = build_new(f, build, true);

	if (r < 0)
		return r;
	dir = add_dir(f, PACK_ROOT, "dir");
	if (build->folder)
		add_dir(f, PACK_ROOT, "a");
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%05u", i);
		if (i != build->hole)
			ids[i] = add_name(f, dir, name);
	}
	add_rest(f, ids);
	for (unsigned i = 0; i < build->files && r == 0; i++)
		r = i == build->hole ? 0 : build_file(f, build, ids[i], i);
	if (r == 0 && build->settle)
		builder_kept(f->builder, &kept);
	if (r < 0 || build->files < FILES)
		return r;
	if (build->rival)
		assert_done(mknod(f->path, S_IFREG | 0600, 0));
	return builder_finish(f->builder, 0, &f->summary, &f->err);
}

/* Of the pack, had nothing ever happened. It is made once. */
static XXH128_hash_t want_hash(struct fixture *f)
{
	static XXH128_hash_t hash;
	static bool known;
	struct build build = whole;

	if (known)
		return hash;
	assert_done(build_on(f, &build));
	let_go(f);
	hash = file_hash(f->path);
	known = true;
	assert_done(unlink(f->path));
	return hash;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Goes on to the end; then all is as if nothing had happened. */
static unsigned expect_whole(struct fixture *f, XXH128_hash_t want)
{
	struct build build = whole;
	int r = build_on(f, &build);

	if (r < 0)
		fail_msg("going on: %s", err_text(&f->err, r));
	let_go(f);
	assert_true(XXH128_isEqual(file_hash(f->path), want));
	assert_false(is_there(f->partial));
	assert_false(is_there(f->journal));
	return build.resumed;
}

static int build_alone(struct fixture *f, void *build)
{
	return build_on(f, build) < 0;
}

/* --- the same file ------------------------------------------------------------------------- */

/* After which files a commit has become a checkpoint. */
static unsigned find_commits(struct fixture *f, unsigned at[16])
{
	unsigned count = 0;
	uint64_t before = 0;
	struct build build = whole;
	struct builder_kept kept;

	for (build.files = 0; build.files < FILES; build.files += 20) {
		if (build.files)
			assert_done(build_on(f, &build));
		if (build.files && builder_kept(f->builder, &kept) && kept.files != before) {
			before = kept.files;
			at[count++] = (unsigned)before;
		}
		let_go(f);
	}
	assert_true(unlink(f->path) < 0);
	return count;
}

static void remove_remains(struct fixture *f)
{
	assert_done(unlink(f->partial));
	assert_done(unlink(f->journal));
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

/* A commit comes with the first file that its batch has no room for. Some runs end while it
 * is on its way to the disk, some when it is there. */
TEST_OF(f, a_run_that_ends_around_any_commit_is_gone_on_with)
{
	XXH128_hash_t want = want_hash(f);
	unsigned commits[16], count = find_commits(f, commits);

	assert_true(count >= 4);
	remove_remains(f);
	for (unsigned i = 0; i < 3 * count; i++) {
		struct build build = whole;

		build.files = commits[i / 3] + i % 3;
		build.settle = i % 2;
		assert_int_equal(child_status(build_alone, f, &build), 0);
		if (build.settle && i % 3)
			assert_true(is_there(f->journal));
	}
	expect_whole(f, want);
	open_pack(f);
	expect_faults(f, "");
}

static int build_up_to_size(struct fixture *f, void *bytes)
{
	struct build build = whole;

	limit_file_size(*(uint64_t *)bytes);
	build_on(f, &build);
	return 0;
}

/* The limit on the size of files kills a process in the midst of a commit: here at each step of
 * 24/64 of a batch, that is in data and index, once without going on in between. */
static int die_at_size(struct fixture *f, uint64_t bytes)
{
	return child_status(build_up_to_size, f, &bytes);
}

TEST_OF(f, a_run_that_is_killed_within_a_commit_is_gone_on_with)
{
	XXH128_hash_t want = want_hash(f);
	unsigned kills = 0;

	for (uint64_t size = share(10) + 1234; WIFSIGNALED(die_at_size(f, size)); size += share(24))
		kills++;
	assert_true(kills >= 12);
	assert_true(is_there(f->path));
	assert_true(XXH128_isEqual(file_hash(f->path), want));
	assert_done(unlink(f->path));
	for (uint64_t size = share(80); WIFSIGNALED(die_at_size(f, size)); size += share(90)) {
		expect_whole(f, want);
		assert_done(unlink(f->path));
	}
}

/* --- power failures ------------------------------------------------------------------------ */

static void copy(const char *from, const char *to)
{
	char command[300];

	snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
	assert_done(system(command));
}

static void run_up_to(struct fixture *f, unsigned files)
{
	struct build build = whole;

	build.files = files;
	assert_done(build_on(f, &build));
	let_go(f);
}

/* Pages of the later file over the older one, each or none: which of them reached the disk before
 * the power failed. */
static void mix(const char *older, const char *newer, unsigned one_in)
{
	SCOPE_CLOSE int to = open(older, O_RDWR | O_CLOEXEC);
	SCOPE_CLOSE int from = open(newer, O_RDONLY | O_CLOEXEC);
	uint8_t page[4096];
	unsigned random = 12345;

	for (uint64_t at = 0; io_pread_full(from, page, sizeof(page), at) == 0; at += 4096) {
		random = random * 1664525 + 1013904223;
		if (random / 65536 % one_in == 0)
			assert_done(io_pwrite_full(to, page, sizeof(page), at));
	}
}

/* The journal promises the tree of its last checkpoint while two more commits are written. */
TEST_OF(f, whatever_two_later_commits_brought_to_the_disk_is_undone)
{
	XXH128_hash_t want = want_hash(f);
	unsigned commits[16], count = find_commits(f, commits);
	char older[104], newer[104], promise[104];

	assert_true(count >= 4);
	remove_remains(f);
	snprintf(older, sizeof(older), "%s.older", f->path);
	snprintf(newer, sizeof(newer), "%s.newer", f->path);
	snprintf(promise, sizeof(promise), "%s.promise", f->path);
	run_up_to(f, commits[1] + 2);
	copy(f->partial, older);
	copy(f->journal, promise);
	run_up_to(f, commits[3] + 2);
	copy(f->partial, newer);
	for (unsigned one_in = 1; one_in <= 3; one_in++) {
		copy(older, f->partial);
		mix(f->partial, newer, one_in);
		copy(promise, f->journal);
		assert_int_equal(expect_whole(f, want), commits[1]);
		assert_done(unlink(f->path));
	}
}

/* --- changed sources ----------------------------------------------------------------------- */

static void expect_change(struct fixture *f, struct build build, const char *sentence)
{
	assert_int_equal(build_on(f, &build), -ESTALE);
	assert_string_equal(f->err.text, sentence);
	let_go(f);
	assert_true(is_there(f->journal));
}

TEST_OF(f, a_changed_source_is_told_and_nothing_is_lost)
{
	XXH128_hash_t want = want_hash(f);
	struct build build = whole;

	run_up_to(f, 500);
	build.change = 100;
	expect_change(f, build,
		      "'dir/00100' is not the file that was packed in this place before the "
		      "interruption, or has changed since");
	build = whole;
	build.hole = 41;
	expect_change(f, build,
		      "'dir/00042' is not the file that was packed in this place before the "
		      "interruption, or has changed since");
	build = whole;
	build.folder = true;
	expect_change(
		f, build,
		"folders or links were added or removed since the interruption, so that the file "
		"with the bytes of 'dir/00003' cannot be told");
	assert_true(expect_whole(f, want) > 100);
}

TEST_OF(f, files_that_are_gone_at_the_end_are_told)
{
	uint32_t dir, id;

	run_up_to(f, 500);
	assert_done(build_new(f, &whole, true));
	dir = add_dir(f, PACK_ROOT, "dir");
	id = add_name(f, dir, "00000");
	assert_int_equal(store_bytes(f, id, "00000", 5, 0), -ESTALE);
	assert_done(builder_drop(f->builder, id));
	let_go(f);
	assert_done(build_new(f, &whole, true));
	assert_int_equal(builder_finish(f->builder, 0, &f->summary, &f->err), -ESTALE);
	assert_string_equal(f->err.text, "files are gone that were packed before the interruption");
}

/* The pages that LMDB lists as free: a count and as many numbers in each record of database 0. */
static void expect_free_pages_empty(struct fixture *f)
{
	static const uint8_t zeros[4096];
	SCOPE_CLOSE int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	unsigned pages = 0;
	MDB_cursor *cursor;
	MDB_val key, list;
	struct lmdb lmdb;

	lmdb_begin(&lmdb, f->path, false);
	assert_done(mdb_cursor_open(lmdb.txn, 0, &cursor));
	for (; mdb_cursor_get(cursor, &key, &list, MDB_NEXT) == 0; pages++)
		for (size_t at = 8; at < list.mv_size; at += 8) {
			uint64_t page = le_get64((char *)list.mv_data + at);
			uint8_t data[4096];

			assert_done(io_pread_full(fd, data, 4096, page * 4096));
			assert_memory_equal(data, zeros, 4096);
		}
	assert_true(pages > 0);
	mdb_cursor_close(cursor);
	lmdb_end(&lmdb);
}

/* Of what was lost in the interruption nothing is left in the file, in free pages neither. */
TEST_OF(f, a_change_behind_the_mark_is_packed_as_if_it_had_always_been)
{
	struct build build = whole;
	unsigned commits[16];
	XXH128_hash_t hash;

	find_commits(f, commits);
	remove_remains(f);
	for (unsigned hole = commits[1] + 1; hole < commits[1] + 400; hole += 150) {
		build.hole = hole;
		assert_true(WIFSIGNALED(die_at_size(f, hole * (uint64_t)FILE_LEN * 4 / 5)));
		assert_done(build_on(f, &build));
		let_go(f);
		hash = file_hash(f->path);
		assert_done(unlink(f->path));
		assert_done(build_on(f, &build));
		let_go(f);
		assert_true(XXH128_isEqual(file_hash(f->path), hash));
		expect_free_pages_empty(f);
		open_pack(f);
		expect_faults(f, "");
		assert_done(unlink(f->path));
	}
}

/* --- what there is to know ----------------------------------------------------------------- */

TEST_OF(f, other_options_are_named)
{
	static const struct {
		const char *then, *now, *sentence;
	} cases[] = {
		{"a=1\nresize=256\n", "a=1\nresize=512\n", " 'resize=256'"},
		{"a=1\nresize=256\n", "a=1\n", " 'resize=256'"},
		{"a=1\n", "a=1\nresize=256\n", "out 'resize=256'"},
		{NULL, "resize=256\n", "out 'resize=256'"},
	};
	char sentence[120];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct build build = whole;

		build.files = 300;
		build.options = cases[i].then;
		assert_done(build_on(f, &build));
		let_go(f);
		build.options = cases[i].now;
		assert_int_equal(build_on(f, &build), -EINVAL);
		snprintf(sentence, sizeof(sentence),
			 "was begun with%s; go on with the same "
			 "options, or start again",
			 cases[i].sentence);
		assert_string_equal(f->err.text, sentence);
		let_go(f);
		remove_remains(f);
	}
}

TEST_OF(f, with_nothing_to_go_on_with_a_pack_is_begun)
{
	XXH128_hash_t want = want_hash(f);

	run_up_to(f, 500);
	assert_done(truncate(f->partial, (off_t)share(50)));
	assert_int_equal(expect_whole(f, want), 0);
	assert_done(unlink(f->path));
	run_up_to(f, 500);
	assert_done(unlink(f->partial));
	assert_int_equal(expect_whole(f, want), 0);
	assert_done(unlink(f->path));
	run_up_to(f, 500);
	assert_done(unlink(f->journal));
	assert_int_equal(expect_whole(f, want), 0);
}

TEST_OF(f, the_journal_of_another_run_is_not_believed)
{
	XXH128_hash_t want = want_hash(f);
	char kept[104];

	snprintf(kept, sizeof(kept), "%s.kept", f->path);
	run_up_to(f, 500);
	copy(f->journal, kept);
	remove_remains(f);
	run_up_to(f, 900);
	copy(kept, f->journal);
	assert_int_equal(expect_whole(f, want), 0);
}

/* The builder makes it read-only right before it takes its name. */
TEST_OF(f, a_pack_that_only_wants_its_name_is_gone_on_with)
{
	XXH128_hash_t want = want_hash(f);
	struct build build = whole;
	struct stat st;

	build.rival = true;
	assert_int_equal(build_on(f, &build), -EEXIST);
	let_go(f);
	assert_done(stat(f->partial, &st));
	assert_int_equal(st.st_mode & 0777, 0444);
	assert_done(unlink(f->path));
	assert_int_equal(expect_whole(f, want), FILES);
}

static int open_as_nobody(struct fixture *f, void *unused)
{
	struct builder_kept kept;

	(void)unused;
	if (geteuid() == 0 &&
	    (chown(f->dir, 65534, 65534) < 0 || chown(f->partial, 65534, 65534) < 0 ||
	     chown(f->journal, 65534, 65534) < 0 || setuid(65534) < 0))
		return 1;
	return build_new(f, &whole, true) < 0 || !builder_kept(f->builder, &kept);
}

TEST_OF(f, a_partial_file_that_was_made_read_only_is_opened)
{
	run_up_to(f, 500);
	assert_done(chmod(f->partial, 0444));
	assert_int_equal(child_status(open_as_nobody, f, NULL), 0);
}

/* --- files in parts ------------------------------------------------------------------------ */

#define BIG (GIB + 100 * MIB)

/* One file in parts, with bytes that follow from `content`, between two small ones. */
static int build_big(struct fixture *f, const char *content, uint64_t fails_at)
{
	struct builder_past past;
	uint32_t id;
	int r = build_new(f, &whole, true);

	if (r < 0)
		return r;
	id = add_name(f, PACK_ROOT, "a");
	if (builder_resumed(f->builder, id, 1, &past, &f->err) == 0) {
		builder_mark(f->builder, 1, NULL, 0);
		store(f, id, "a", 100000);
	}
	id = add_name(f, PACK_ROOT, "big");
	r = builder_resumed(f->builder, id, 2, &past, &f->err);
	if (r == 0) {
		builder_mark(f->builder, 2, NULL, 0);
		r = store_bytes(f, id, content, BIG, fails_at);
	}
	if (r < 0)
		return r;
	id = add_name(f, PACK_ROOT, "c");
	if (builder_resumed(f->builder, id, 3, &past, &f->err) == 0)
		store(f, id, "c", 100000);
	return builder_finish(f->builder, 0, &f->summary, &f->err);
}

static void need_room(void)
{
	if (getenv("FOLDFS_TEST_BIG"))
		return;
	print_message("writes 1.1 GiB: set FOLDFS_TEST_BIG to run it\n");
	skip();
}

static int build_big_up_to_size(struct fixture *f, void *bytes)
{
	limit_file_size(*(uint64_t *)bytes);
	build_big(f, "big", 0);
	return 0;
}

TEST_OF(f, a_file_in_parts_is_gone_on_with)
{
	XXH128_hash_t want;

	need_room();
	assert_done(build_big(f, "big", 0));
	let_go(f);
	want = file_hash(f->path);
	assert_done(unlink(f->path));
	for (uint64_t size = 200 * MIB; size < GIB; size += 300 * MIB)
		assert_true(WIFSIGNALED(child_status(build_big_up_to_size, f, &size)));
	assert_int_equal(build_big(f, "other", 0), -ESTALE);
	assert_string_equal(f->err.text,
			    "'big' differs from what was packed of it before the interruption");
	let_go(f);
	assert_done(build_big(f, "big", 0));
	let_go(f);
	assert_true(XXH128_isEqual(file_hash(f->path), want));
}

/* Its parts are in older batches when the last one cannot be read, before or after going on. */
TEST_OF(f, a_file_in_parts_that_fails_is_taken_out_whenever)
{
	struct builder_kept kept;
	uint32_t id;

	need_room();
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(build_big(f, "big", round ? 500 * MIB : GIB), -EIO);
		assert_true(builder_kept(f->builder, &kept));
		let_go(f);
	}
	assert_done(build_new(f, &whole, true));
	id = add_name(f, PACK_ROOT, "a");
	assert_int_equal(builder_resumed(f->builder, id, 1, &(struct builder_past){0}, &f->err), 1);
	id = add_name(f, PACK_ROOT, "big");
	assert_int_equal(builder_resumed(f->builder, id, 2, &(struct builder_past){0}, &f->err), 0);
	assert_done(builder_drop(f->builder, id));
	add_file(f, PACK_ROOT, "c", 100000);
	finish_and_open(f);
	expect_faults(f, "");
	assert_int_equal(dataset_entries(f->dataset), 3);
}

int main(void)
{
	if (getenv("FOLDFS_TEST_BIG"))
		batch = 64 * MIB;
	/* As foldpack does: else each batch faults its memory in anew. */
	mallopt(M_MMAP_THRESHOLD, (int)(32 * MIB));
	mallopt(M_TRIM_THRESHOLD, (int)(256 * MIB));
	return test_run(NULL, NULL);
}
