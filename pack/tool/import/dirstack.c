#include "pack/tool/import/dirstack.h"

#include "base/buf.h"
#include "base/scope.h"
#include <fcntl.h>

struct level {
	uint32_t directory;
	int fd;
};

struct dirstack {
	struct dirstack_tree tree;
	struct buf levels; /* struct level, the root first; its fd is the caller's */
	struct buf above;  /* uint32_t: where to go */
};

static size_t depth_of_stack(const struct dirstack *stack)
{
	return BUF_COUNT(&stack->levels, struct level);
}

/* The level at a depth, from 1. */
static const struct level *level_at(const struct dirstack *stack, size_t depth)
{
	return BUF_ITEMS(&stack->levels, const struct level) + depth - 1;
}

static int push_level(struct dirstack *stack, uint32_t directory, int fd)
{
	const struct level level = {.directory = directory, .fd = fd};

	return buf_add(&stack->levels, &level, sizeof(level));
}

static uint32_t builder_above(const void *builder, uint32_t directory)
{
	return builder_parent(builder, directory);
}

static void copy_builder_name(const void *builder, uint32_t id, char ret[FORMAT_NAME_MAX + 1])
{
	builder_name(builder, id, ret);
}

struct dirstack_tree dirstack_tree_of(const struct builder *builder, bool follow)
{
	return (struct dirstack_tree){.parent = builder_above,
				      .name = copy_builder_name,
				      .context = builder,
				      .follow = follow};
}

int dirstack_new(const struct dirstack_tree *tree, int root, struct dirstack **ret)
{
	struct dirstack *stack = calloc(1, sizeof(*stack));

	if (!stack || push_level(stack, 0, root) < 0) {
		free(stack);
		return -ENOMEM;
	}
	stack->tree = *tree;
	*ret = stack;
	return 0;
}

static void leave_to(struct dirstack *stack, size_t depth)
{
	for (size_t at = depth_of_stack(stack); at > depth; at--)
		close(level_at(stack, at)->fd);
	stack->levels.len = depth * sizeof(struct level);
}

void dirstack_free(struct dirstack *stack)
{
	if (!stack)
		return;
	leave_to(stack, 1);
	buf_release(&stack->levels);
	buf_release(&stack->above);
	free(stack);
}

/* Opens a child of the current directory. */
static int stack_push(struct dirstack *stack, uint32_t directory)
{
	char name[FORMAT_NAME_MAX + 1];
	int fd, r;

	stack->tree.name(stack->tree.context, directory, name);
	fd = openat(level_at(stack, depth_of_stack(stack))->fd, name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (stack->tree.follow ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	r = push_level(stack, directory, fd);
	if (r < 0)
		close(fd);
	return r;
}

/* Lists a directory and those above it, the innermost first, without the root. */
static int list_above(struct dirstack *stack, uint32_t directory)
{
	int r = 0;

	stack->above.len = 0;
	for (; r == 0 && directory != 0;
	     directory = stack->tree.parent(stack->tree.context, directory))
		r = buf_add(&stack->above, &directory, sizeof(directory));
	return r;
}

/* Keeps the levels that both have, and opens the others. */
static int move_to(struct dirstack *stack, uint32_t directory)
{
	const uint32_t *above;
	size_t depth = 1, left;
	int r = list_above(stack, directory);

	if (r < 0)
		return r;
	above = BUF_ITEMS(&stack->above, const uint32_t);
	left = BUF_COUNT(&stack->above, uint32_t);
	while (left > 0 && depth < depth_of_stack(stack) &&
	       level_at(stack, depth + 1)->directory == above[left - 1]) {
		depth++;
		left--;
	}
	leave_to(stack, depth);
	while (r == 0 && left > 0)
		r = stack_push(stack, above[--left]);
	return r;
}

int dirstack_enter(struct dirstack *stack, uint32_t directory, int *ret_fd)
{
	int r = 0;

	if (level_at(stack, depth_of_stack(stack))->directory != directory)
		r = move_to(stack, directory);
	if (r == 0)
		*ret_fd = level_at(stack, depth_of_stack(stack))->fd;
	return r;
}
