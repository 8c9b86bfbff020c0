#include "pack/tool/import/dirstack.h"

#include "base/scope.h"
#include <fcntl.h>

struct level {
	uint32_t directory;
	int fd;
};

struct dirstack {
	struct dirstack_tree tree;
	struct level *levels; /* the root first; its fd is the caller's */
	size_t depth, room;
};

int dirstack_new(const struct dirstack_tree *tree, int root, struct dirstack **ret)
{
	struct dirstack *stack = calloc(1, sizeof(*stack));

	if (stack)
		stack->levels = calloc(16, sizeof(*stack->levels));
	if (!stack || !stack->levels) {
		free(stack);
		return -ENOMEM;
	}
	stack->tree = *tree;
	stack->room = 16;
	stack->levels[0] = (struct level){.directory = 0, .fd = root};
	stack->depth = 1;
	*ret = stack;
	return 0;
}

static void leave_to(struct dirstack *stack, size_t depth)
{
	while (stack->depth > depth)
		close(stack->levels[--stack->depth].fd);
}

void dirstack_free(struct dirstack *stack)
{
	if (!stack)
		return;
	leave_to(stack, 1);
	free(stack->levels);
	free(stack);
}

static size_t depth_of(const struct dirstack *stack, uint32_t directory)
{
	size_t depth = 1;

	for (; directory != 0; depth++)
		directory = stack->tree.parent(stack->tree.context, directory);
	return depth;
}

static int stack_reserve(struct dirstack *stack, size_t depth)
{
	struct level *levels;

	if (depth <= stack->room)
		return 0;
	levels = realloc(stack->levels, 2 * depth * sizeof(*levels));
	if (!levels)
		return -ENOMEM;
	stack->levels = levels;
	stack->room = 2 * depth;
	return 0;
}

/* Opens a child of the current directory. */
static int stack_push(struct dirstack *stack, uint32_t directory)
{
	char name[FORMAT_NAME_MAX + 1];
	int fd;

	stack->tree.name(stack->tree.context, directory, name);
	fd = openat(stack->levels[stack->depth - 1].fd, name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (stack->tree.follow ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	stack->levels[stack->depth++] = (struct level){.directory = directory, .fd = fd};
	return 0;
}

/* Makes `directory`, at this depth, the innermost level: its parent first, where that is not
 * where the stack already stands. */
static int stand_in(struct dirstack *stack, uint32_t directory, size_t depth)
{
	int r;

	if (depth <= stack->depth && stack->levels[depth - 1].directory == directory) {
		leave_to(stack, depth);
		return 0;
	}
	r = stand_in(stack, stack->tree.parent(stack->tree.context, directory), depth - 1);
	return r < 0 ? r : stack_push(stack, directory);
}

int dirstack_enter(struct dirstack *stack, uint32_t directory, int *ret_fd)
{
	size_t depth;
	int r;

	if (stack->levels[stack->depth - 1].directory != directory) {
		depth = depth_of(stack, directory);
		r = stack_reserve(stack, depth);
		if (r == 0)
			r = stand_in(stack, directory, depth);
		if (r < 0)
			return r;
	}
	*ret_fd = stack->levels[stack->depth - 1].fd;
	return 0;
}
