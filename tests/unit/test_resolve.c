/* What the paths of a job name: fs/nofuse/resolve.h, on a real skeleton. The job is this process.
 */
#include "fs/nofuse/resolve.h"
#include "fs/nofuse/skeleton.h"
#include "tests/unit/pack_fixture.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

struct world {
	struct fixture pack;
	struct tree tree;
	struct skeleton skeleton;
	struct resolver resolver;
	char folder[96], outside[96];
};

static void make_pack(struct fixture *f)
{
	uint32_t a, b;

	a = add_dir(f, PACK_ROOT, "a");
	b = add_dir(f, a, "b");
	add_file(f, b, "file", 10);
	add_file(f, a, "..odd", 1);
	add_symlink(f, PACK_ROOT, "dir", "a");
	add_symlink(f, PACK_ROOT, "to-file", "a/b/file");
	add_symlink(f, a, "chain", "../to-file");
	add_symlink(f, PACK_ROOT, "out", "/proc/meminfo");
	add_symlink(f, PACK_ROOT, "nowhere", "missing");
	add_symlink(f, PACK_ROOT, "loop", "loop");
	finish_and_open(f);
}

/* Until the next one is. */
static const char *in(const char *folder, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void world_setup(struct world *w)
{
	char target[256];

	fixture_setup(&w->pack);
	make_pack(&w->pack);
	w->tree = (struct tree){.dataset = w->pack.dataset, .uid = getuid(), .umask = UINT64_MAX};
	w->skeleton = SKELETON_NONE;
	snprintf(w->folder, sizeof(w->folder), "%s/shown", w->pack.dir);
	snprintf(w->outside, sizeof(w->outside), "%s/outside", w->pack.dir);
	assert_done(mkdir(w->outside, 0755));
	assert_done(skeleton_make(&w->tree, w->folder, true, &w->skeleton, NULL));
	resolver_init(&w->resolver, &w->skeleton);
	assert_done(symlink(w->folder, in(w->outside, "to-shown")));
	strcpy(target, in(w->folder, "a/b/file"));
	assert_done(symlink(target, in(w->outside, "to-file")));
	assert_done(symlink("to-file", in(w->outside, "twice")));
	assert_done(symlink("../shown/a", in(w->outside, "relative")));
	assert_done(symlink("/proc/self/fd", in(w->outside, "fds")));
}

static void world_teardown(struct world *w)
{
	assert_done(chdir("/"));
	skeleton_remove(&w->skeleton);
	assert_int_equal(access(w->folder, F_OK), -1);
	skeleton_release(&w->skeleton);
	fixture_teardown(&w->pack);
}

FIXTURE(world, struct world, world_setup, world_teardown);

/* The job is the main thread; a thread with a working folder of its own is the server. */
struct question {
	const struct world *w;
	int fd;
	const char *path;
	enum follow follow;
	struct resolved ret;
};

static void *answer(void *context)
{
	struct question *q = context;

	unshare(CLONE_FS);
	if (fchdir(q->w->skeleton.folder) == 0)
		q->ret = q->path ? resolve(&q->w->resolver, getpid(), q->fd, q->path, q->follow)
				 : resolve_open(&q->w->resolver, getpid(), q->fd);
	return NULL;
}

static struct resolved ask(const struct world *w, int fd, const char *path, enum follow follow)
{
	struct question q = {.w = w, .fd = fd, .path = path, .follow = follow};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, answer, &q), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return q.ret;
}

#define ELSEWHERE 1

/* What a path names: an entry, an error, or ELSEWHERE. */
struct expected {
	const char *path;
	int error;
	const char *entry;
	bool stays; /* the last link is not followed */
};

static void expect(const struct world *w, int fd, const char *path, const struct expected *e)
{
	struct resolved found = ask(w, fd, path, e->stays ? FOLLOW_SLASH : FOLLOW_ALWAYS);
	SCOPE(buf_release) struct buf name = BUF_INIT;

	if (e->error == ELSEWHERE) {
		if (found.inside)
			fail_msg("'%s' is not elsewhere", path);
		return;
	}
	if (!found.inside || found.error != e->error)
		fail_msg("'%s': inside %d, error %d, not %d", path, found.inside, found.error,
			 e->error);
	if (e->error)
		return;
	assert_done(dataset_path(w->tree.dataset, found.entry, &name));
	assert_string_equal(name.data, e->entry);
}

static void expect_all(const struct world *w, const char *before, int fd,
		       const struct expected *all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s%s", before, all[i].path);
		expect(w, fd, path, &all[i]);
	}
}

#define EXPECT_ALL(w, before, fd, all) \
	expect_all(w, before, fd, all, sizeof(all) / sizeof((all)[0]))

static const struct expected in_folder[] = {
	{"/a/b/file", 0, "a/b/file", false},
	{"/a//b/./file", 0, "a/b/file", false},
	{"/a/b/../b/file", 0, "a/b/file", false},
	{"/dir/b/../../a/b/file", 0, "a/b/file", false},
	{"/a/..odd", 0, "a/..odd", false},
	{"/a/b", 0, "a/b", false},
	{"/a/b/", 0, "a/b", false},
	{"/a/b/.", 0, "a/b", false},
	{"/a/b/..", 0, "a", false},
	{"/a/b/../..", 0, "", false},
	{"/a/b/../../..", ELSEWHERE, NULL, false},
	{"/dir", 0, "a", false},
	{"/dir", 0, "dir", true},
	{"/dir/", 0, "a", true},
	{"/to-file", 0, "a/b/file", false},
	{"/to-file", 0, "to-file", true},
	{"/dir/chain", 0, "a/b/file", false},
	{"/out", ELSEWHERE, NULL, false},
	{"/out", 0, "out", true},
	{"/loop", -ELOOP, NULL, false},
	{"/loop", 0, "loop", true},
	{"/nowhere", -ENOENT, NULL, false},
	{"/missing", -ENOENT, NULL, false},
	{"/missing/more", -ENOENT, NULL, false},
	{"/missing/..", -ENOENT, NULL, false},
	{"/a/b/file/", -ENOTDIR, NULL, false},
	{"/a/b/file/.", -ENOTDIR, NULL, false},
	{"/a/b/file/more", -ENOTDIR, NULL, false},
	{"/a/b/file/more/yet", -ENOTDIR, NULL, false},
	{"/to-file/more", -ENOTDIR, NULL, false},
};

TEST_WITH(world, w, absolute_paths)
{
	EXPECT_ALL(w, w->folder, AT_FDCWD, in_folder);
}

TEST_WITH(world, w, paths_from_a_descriptor_and_the_working_folder)
{
	char above[128];
	SCOPE_CLOSE int fd = open(w->outside, O_PATH | O_DIRECTORY);

	EXPECT_ALL(w, "../shown", fd, in_folder);
	EXPECT_ALL(w, "to-shown", fd, in_folder);
	snprintf(above, sizeof(above), "/proc/self/fd/%d/../shown", fd);
	EXPECT_ALL(w, above, AT_FDCWD, in_folder);
	assert_done(chdir(w->outside));
	EXPECT_ALL(w, "../shown", AT_FDCWD, in_folder);
	EXPECT_ALL(w, "/proc/self/cwd/../shown", AT_FDCWD, in_folder);
	assert_done(chdir(w->folder));
	EXPECT_ALL(w, ".", AT_FDCWD, in_folder);
	expect(w, AT_FDCWD, "to-file", &(struct expected){.entry = "a/b/file"});
}

TEST_WITH(world, w, paths_that_begin_outside)
{
	static const struct expected outside[] = {
		{"/to-file", 0, "a/b/file", false},
		{"/to-file", ELSEWHERE, NULL, true},
		{"/twice", 0, "a/b/file", false},
		{"/relative/b/file", 0, "a/b/file", false},
		{"/to-shown", 0, "", false},
		{"/to-shown/a/missing", -ENOENT, NULL, false},
		{"/to-file/x", -ENOTDIR, NULL, false},
		{"/missing", ELSEWHERE, NULL, false},
		{"/missing/x", ELSEWHERE, NULL, false},
	};

	EXPECT_ALL(w, w->outside, AT_FDCWD, outside);
	expect(w, AT_FDCWD, "/", &(struct expected){.error = ELSEWHERE});
	expect(w, AT_FDCWD, "/proc/self/status", &(struct expected){.error = ELSEWHERE});
	expect(w, 999, "a", &(struct expected){.error = ELSEWHERE});
}

TEST_WITH(world, w, a_path_of_a_thousand_names_that_are_missing)
{
	char path[PATH_MAX];
	size_t len = (size_t)snprintf(path, sizeof(path), "%s", w->folder);

	while (len < sizeof(path) - 3) {
		memcpy(path + len, "/x", 3);
		len += 2;
	}
	expect(w, AT_FDCWD, path, &(struct expected){.error = -ENOENT});
	expect(w, AT_FDCWD, path + strlen(w->folder), &(struct expected){.error = ELSEWHERE});
}

TEST_WITH(world, w, a_name_that_is_missing_knows_its_folder)
{
	assert_true(ask(w, AT_FDCWD, in(w->folder, "a/new/"), FOLLOW_ALWAYS).above);
	assert_true(ask(w, AT_FDCWD, in(w->folder, "a/new/"), FOLLOW_ALWAYS).slash);
	assert_false(ask(w, AT_FDCWD, in(w->folder, "new/too"), FOLLOW_ALWAYS).above);
}

TEST_WITH(world, w, open_files_are_known_by_their_names)
{
	uint32_t entry = find(&w->pack, "a/b/file");
	const struct expected file = {.entry = "a/b/file"}, other = {.error = ELSEWHERE};
	char name[64], path[256];
	SCOPE_CLOSE int fd = -1, stranger = memfd_create("foldfs-5", MFD_CLOEXEC);
	struct resolved found;

	resolver_name(&w->resolver, entry, name);
	fd = memfd_create(name, MFD_CLOEXEC);
	found = ask(w, fd, NULL, FOLLOW_ALWAYS);
	assert_true(found.inside && found.error == 0 && found.entry == entry);
	assert_false(ask(w, stranger, NULL, FOLLOW_ALWAYS).inside);
	for (int way = 0; way < 4; way++) {
		const char *const ways[] = {"/proc/self/fd", "/dev/fd", "/proc/thread-self/fd",
					    "fds"};

		snprintf(path, sizeof(path), "%s%s%s/%d", way == 3 ? w->outside : "",
			 way == 3 ? "/" : "", ways[way], fd);
		expect(w, AT_FDCWD, path, &file);
		found = ask(w, AT_FDCWD, path, FOLLOW_SLASH);
		assert_true(found.by_link && !found.inside && found.entry == entry);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", stranger);
	expect(w, AT_FDCWD, path, &other);
}

TEST_WITH(world, w, a_folder_with_anything_else_in_it_is_not_taken)
{
	struct skeleton again = SKELETON_NONE;
	struct err err = {0};

	assert_done(skeleton_make(&w->tree, w->folder, false, &again, &err));
	skeleton_release(&again);
	close(open(in(w->folder, "a/b/file"), O_CREAT | O_WRONLY, 0600));
	assert_int_equal(skeleton_make(&w->tree, w->folder, false, &again, &err), -ENOTEMPTY);
	assert_string_equal(err.text,
			    "not empty: 'file' in it would be hidden; use an empty folder");
	skeleton_remove(&again);
	skeleton_release(&again);
	assert_done(unlink(in(w->folder, "a/b/file")));
	assert_done(unlink(in(w->folder, "dir")));
	assert_done(symlink("another", in(w->folder, "dir")));
	assert_int_equal(skeleton_make(&w->tree, w->folder, false, &again, &err), -ENOTEMPTY);
	skeleton_release(&again);
	assert_done(unlink(in(w->folder, "dir"))); /* what is another's would stay */
}
