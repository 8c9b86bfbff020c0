/* Descriptors of the directories of a tree: pack/tool/import/dirstack.h. */
#include "pack/tool/import/dirstack.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each directory is in the one whose number is a half of its own: 1 in the root, 2 and 3 in 1. */
static uint32_t half(const void *context, uint32_t directory)
{
	(void)context;
	return directory / 2;
}

static void name_by_number(const void *context, uint32_t directory, char ret[FORMAT_NAME_MAX + 1])
{
	(void)context;
	snprintf(ret, FORMAT_NAME_MAX + 1, "%u", directory);
}

static const struct dirstack_tree halves = {.parent = half, .name = name_by_number};

struct fixture {
	char dir[64];
	int root;
	struct dirstack *stack;
};

static void setup(struct fixture *f)
{
	scratch_make(f->dir);
	f->root = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(f->root >= 0);
}

static void teardown(struct fixture *f)
{
	dirstack_free(f->stack);
	close(f->root);
	scratch_remove(f->dir);
}

static void make(const struct fixture *f, const char *path)
{
	assert_int_equal(mkdirat(f->root, path, 0700), 0);
}

/* Whether the directory that is entered is the one with this path. */
static void expect_entered(const struct fixture *f, uint32_t directory, const char *path)
{
	struct stat want, got;
	int fd;

	assert_int_equal(dirstack_enter(f->stack, directory, &fd), 0);
	assert_int_equal(fstat(fd, &got), 0);
	assert_int_equal(fstatat(f->root, path, &want, 0), 0);
	assert_int_equal(got.st_ino, want.st_ino);
}

FIXTURE(f, struct fixture, setup, teardown);

TEST_OF(f, directories_are_entered_in_any_order)
{
	make(f, "1");
	make(f, "1/2");
	make(f, "1/3");
	make(f, "1/2/4");
	make(f, "1/2/5");
	assert_int_equal(dirstack_new(&halves, f->root, &f->stack), 0);
	expect_entered(f, 5, "1/2/5");
	expect_entered(f, 4, "1/2/4");
	expect_entered(f, 2, "1/2");
	expect_entered(f, 3, "1/3");
	expect_entered(f, 5, "1/2/5");
	expect_entered(f, 0, ".");
	expect_entered(f, 1, "1");
}

TEST_OF(f, one_that_is_missing_leaves_those_above_it)
{
	int fd;

	make(f, "1");
	make(f, "1/2");
	assert_int_equal(dirstack_new(&halves, f->root, &f->stack), 0);
	assert_int_equal(dirstack_enter(f->stack, 10, &fd), -ENOENT);
	expect_entered(f, 2, "1/2");
	assert_int_equal(dirstack_enter(f->stack, 3, &fd), -ENOENT);
	expect_entered(f, 1, "1");
}
