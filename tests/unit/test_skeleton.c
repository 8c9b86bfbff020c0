/* The folders of a pack in a real folder, into which others write meanwhile:
 * fs/nofuse/skeleton.h. */
#include "fs/nofuse/skeleton.h"
#include "tests/unit/pack_fixture.h"
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

struct world {
	struct fixture pack;
	struct tree tree;
	struct skeleton skeleton;
	char folder[96], victim[96], file[128];
	struct stat before[3]; /* of what others must not reach */
};

static struct world *world;  /* that is attacked */
static const char *attacked; /* just before this name is made or looked up, */
static void (*attack)(int above, const char *name);	/* this happens */
static void (*afterwards)(int above, const char *name); /* once the folder itself is made */
static bool remote;

static void before(int above, const char *name)
{
	void (*now)(int, const char *) = attack;

	if (!now || strcmp(name, attacked) != 0)
		return;
	attack = NULL;
	now(above, name);
}

/* These take the place of the C library's. */
int mkdirat(int fd, const char *path, mode_t mode)
{
	int r;

	before(fd, path);
	r = (int)syscall(SYS_mkdirat, fd, path, mode);
	if (afterwards && strcmp(path, "shown") == 0)
		afterwards(fd, path);
	return r;
}

int symlinkat(const char *target, int fd, const char *path)
{
	before(fd, path);
	return (int)syscall(SYS_symlinkat, target, fd, path);
}

int unlinkat(int fd, const char *path, int flags)
{
	before(fd, path);
	return (int)syscall(SYS_unlinkat, fd, path, flags);
}

int fstatfs(int fd, struct statfs *ret)
{
	int r = (int)syscall(SYS_fstatfs, fd, ret);

	if (remote)
		ret->f_type = NFS_SUPER_MAGIC;
	return r;
}

/* Until the next one is. */
static const char *in(const char *folder, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void look_at_victim(const struct world *w, struct stat ret[3])
{
	assert_done(stat(w->victim, &ret[0]));
	assert_done(stat(w->file, &ret[1]));
	assert_done(lstat(in(w->victim, "link"), &ret[2]));
}

static void world_setup(struct world *w)
{
	uint32_t a, b;

	fixture_setup(&w->pack);
	a = add_dir(&w->pack, PACK_ROOT, "a");
	b = add_dir(&w->pack, a, "b");
	add_dir(&w->pack, b, "c");
	add_symlink(&w->pack, a, "link", "b");
	add_dir(&w->pack, PACK_ROOT, "z");
	finish_and_open(&w->pack);
	w->tree = (struct tree){.dataset = w->pack.dataset, .uid = getuid(), .umask = 0};
	w->skeleton = SKELETON_NONE;
	snprintf(w->folder, sizeof(w->folder), "%s/shown", w->pack.dir);
	snprintf(w->victim, sizeof(w->victim), "%s/victim", w->pack.dir);
	snprintf(w->file, sizeof(w->file), "%s/file", w->victim);
	assert_done(mkdir(w->victim, 0711));
	assert_done(mkdir(w->folder, 0755));
	close(open(w->file, O_CREAT | O_WRONLY, 0600));
	assert_done(symlink("file", in(w->victim, "link")));
	assert_done(mkdir(in(w->victim, "b"), 0700));
	look_at_victim(w, w->before);
	world = w;
	remote = false;
}

static void world_teardown(struct world *w)
{
	attack = afterwards = NULL;
	skeleton_release(&w->skeleton);
	fixture_teardown(&w->pack);
}

FIXTURE(world, struct world, world_setup, world_teardown);

static int make(struct world *w, struct err *err)
{
	return skeleton_make(&w->tree, w->folder, false, &w->skeleton, err);
}

static bool exists(const struct world *w, const char *name)
{
	return faccessat(AT_FDCWD, in(w->folder, name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void assert_victim_is_whole(const struct world *w)
{
	struct stat now[3];

	look_at_victim(w, now);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(now[i].st_mode, w->before[i].st_mode);
		assert_int_equal(now[i].st_ino, w->before[i].st_ino);
	}
	assert_int_equal(now[0].st_nlink, w->before[0].st_nlink);
	assert_int_equal(now[0].st_mtim.tv_nsec, w->before[0].st_mtim.tv_nsec);
}

static void link_to_victim(int above, const char *name)
{
	unlinkat(above, name, AT_REMOVEDIR);
	assert_done(symlinkat(world->victim, above, name));
}

static void link_to_file(int above, const char *name)
{
	unlinkat(above, name, AT_REMOVEDIR);
	assert_done(symlinkat(world->file, above, name));
}

/* The folder above the name that is about to be made. */
static void put_victim_above(int above, const char *name)
{
	SCOPE_CLOSE int top = openat(above, "../..", O_PATH | O_DIRECTORY);

	(void)name;
	assert_done(renameat(top, "a", top, "moved"));
	assert_done(symlinkat(world->victim, top, "a"));
}

static void put_file(int above, const char *name)
{
	unlinkat(above, name, 0);
	close(openat(above, name, O_CREAT | O_WRONLY, 0600));
}

static void put_folder_above(int above, const char *name)
{
	(void)above;
	(void)name;
	assert_done(chdir(world->pack.dir));
	assert_done(rename("shown", "moved"));
	assert_done(mkdir("shown", 0755));
}

TEST_WITH(world, w, a_link_that_others_put_where_a_folder_is_to_be_made_is_not_followed)
{
	static const char *const names[] = {"a", "b", "c", "z"};

	for (size_t i = 0; i < 8; i++) {
		struct err err = {0};

		attacked = names[i / 2];
		attack = i % 2 ? link_to_file : link_to_victim;
		assert_true(make(w, &err) < 0);
		assert_null(attack);
		assert_non_null(strstr(err.text, "in it, which foldfs needs"));
		assert_non_null(strstr(err.text, names[i / 2]));
		skeleton_remove(&w->skeleton);
		skeleton_release(&w->skeleton);
		assert_victim_is_whole(w);
		scratch_remove(w->folder);
		assert_done(mkdir(w->folder, 0755));
	}
}

TEST_WITH(world, w, a_link_in_place_of_a_folder_that_was_made_leads_nowhere)
{
	struct err err = {0};

	attacked = "c";
	attack = put_victim_above;
	make(w, &err);
	skeleton_remove(&w->skeleton);
	assert_victim_is_whole(w);
	assert_true(exists(w, "a"));
	assert_int_equal(skeleton_open(&w->skeleton, find(&w->pack, "a/b"), O_RDONLY), -ENOTDIR);
}

TEST_WITH(world, w, what_is_removed_is_what_was_made)
{
	assert_done(make(w, NULL));
	attacked = "c";
	attack = put_victim_above;
	skeleton_remove(&w->skeleton);
	assert_victim_is_whole(w);
	assert_true(exists(w, "a"));
	assert_false(exists(w, "z"));
}

TEST_WITH(world, w, a_file_in_place_of_a_link_stays)
{
	assert_done(make(w, NULL));
	put_file(w->skeleton.folder, "a/link");
	skeleton_remove(&w->skeleton);
	assert_true(exists(w, "a/link"));
	assert_false(exists(w, "a/b"));
}

TEST_WITH(world, w, another_link_in_place_of_a_link_is_not_taken_for_it)
{
	struct err err = {0};

	attacked = "link";
	attack = link_to_file;
	assert_int_equal(make(w, &err), -EEXIST);
	skeleton_remove(&w->skeleton);
	assert_true(exists(w, "a/link"));
}

TEST_WITH(world, w, another_folder_at_its_path_stays)
{
	assert_done(rmdir(w->folder));
	assert_done(skeleton_make(&w->tree, w->folder, true, &w->skeleton, NULL));
	assert_true(w->skeleton.created);
	attacked = "a";
	attack = put_folder_above;
	skeleton_remove(&w->skeleton);
	assert_done(access(w->folder, F_OK));
	assert_done(chdir("/"));
}

static void put_link_to_empty(int above, const char *name)
{
	assert_done(renameat(above, name, above, "moved"));
	assert_done(symlinkat(in(world->victim, "b"), above, name));
}

TEST_WITH(world, w, a_folder_that_others_put_in_place_of_one_that_was_created_stays)
{
	assert_done(rmdir(w->folder));
	afterwards = put_link_to_empty;
	assert_int_equal(skeleton_make(&w->tree, w->folder, true, &w->skeleton, NULL), -ENOTDIR);
	skeleton_remove(&w->skeleton);
	assert_done(access(in(w->victim, "b"), F_OK));
	assert_victim_is_whole(w);
}

TEST_WITH(world, w, a_folder_that_was_created_goes)
{
	assert_done(rmdir(w->folder));
	assert_done(skeleton_make(&w->tree, w->folder, true, &w->skeleton, NULL));
	skeleton_remove(&w->skeleton);
	assert_int_equal(access(w->folder, F_OK), -1);
}

/* To all that is made, the pack gives rights to all. */
TEST_WITH(world, w, others_cannot_write_to_what_is_made)
{
	struct stat st;

	assert_done(rmdir(w->folder));
	umask(0);
	assert_done(skeleton_make(&w->tree, w->folder, true, &w->skeleton, NULL));
	umask(022);
	assert_done(fstatat(w->skeleton.folder, "a/b/c", &st, 0));
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_done(fstat(w->skeleton.folder, &st));
	assert_int_equal(st.st_mode & 0777, 0755);
}

TEST_WITH(world, w, a_folder_that_others_may_write_to_is_none_for_root)
{
	static const mode_t modes[] = {0777, 0775, 0757, 01777, 02775};
	struct err err;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		assert_done(chmod(w->folder, modes[i]));
		assert_int_equal(make(w, &err), geteuid() == 0 ? -EPERM : 0);
		assert_false(geteuid() == 0 && exists(w, "a"));
		skeleton_remove(&w->skeleton);
		skeleton_release(&w->skeleton);
	}
	assert_done(chmod(w->folder, 0755));
	if (geteuid() == 0) {
		assert_non_null(strstr(err.text, "others may write to it"));
		assert_non_null(strstr(err.text, "--mkdir"));
		assert_done(chown(w->folder, 1, 0));
		assert_int_equal(make(w, &err), -EPERM);
	}
}

TEST_WITH(world, w, what_others_made_in_it_is_not_taken_over)
{
	if (geteuid() != 0)
		skip();
	assert_done(mkdir(in(w->folder, "a"), 0755));
	assert_done(chown(in(w->folder, "a"), 1, 1));
	assert_int_equal(make(w, NULL), -EPERM);
}

TEST_WITH(world, w, on_storage_of_other_machines_it_stays_for_their_jobs)
{
	remote = true;
	assert_done(rmdir(w->folder));
	assert_done(skeleton_make(&w->tree, w->folder, true, &w->skeleton, NULL));
	skeleton_remove(&w->skeleton);
	assert_true(exists(w, "a/b/c"));
	skeleton_release(&w->skeleton);
	remote = false;
	assert_done(make(w, NULL));
	skeleton_remove(&w->skeleton);
	assert_false(exists(w, "a"));
}

TEST_WITH(world, w, a_real_folder_is_known_by_whatever_path)
{
	struct statx_file file;
	uint32_t entry;

	assert_done(make(w, NULL));
	assert_done(statx_file(AT_FDCWD, in(w->folder, "../shown/a/b"), &file));
	assert_done(skeleton_find(&w->skeleton, &file, &entry));
	assert_int_equal(entry, find(&w->pack, "a/b"));
	assert_done(statx_file(AT_FDCWD, w->folder, &file));
	assert_done(skeleton_find(&w->skeleton, &file, &entry));
	assert_int_equal(entry, 0);
	assert_done(statx_file(AT_FDCWD, w->victim, &file));
	assert_int_equal(skeleton_find(&w->skeleton, &file, &entry), -ENOENT);
}

TEST_WITH(world, w, a_folder_with_the_number_of_one_that_is_gone_is_another)
{
	struct statx_file file, later, unknown;
	uint32_t entry;

	assert_done(make(w, NULL));
	assert_done(statx_file(w->skeleton.folder, "a/b/c", &file));
	later = unknown = file;
	later.made++;
	unknown.made = 0;
	assert_done(skeleton_find(&w->skeleton, &file, &entry));
	assert_done(unlinkat(w->skeleton.folder, "a/b/c", AT_REMOVEDIR));
	if (file.made)
		assert_int_equal(skeleton_find(&w->skeleton, &later, &entry), -ENOENT);
	assert_int_equal(skeleton_find(&w->skeleton, &unknown, &entry), -ENOENT);
	file.type = S_IFREG;
	assert_int_equal(skeleton_find(&w->skeleton, &file, &entry), -ENOENT);
}
