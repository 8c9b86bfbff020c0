#include "pack/tool/read/unfold.h"

#include "base/bits.h"
#include "base/scope.h"
#include "pack/tool/read/unfold_internal.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void release(struct unfold *unfold)
{
	unfold_drop_larges(unfold);
	for (unsigned i = 0; unfold->workers && i < unfold->params->jobs; i++)
		dirstack_free(unfold->workers[i]);
	free(unfold->workers);
	for (unsigned i = 0; i < UNFOLD_LOCKS; i++)
		pthread_mutex_destroy(&unfold->creating[i]);
	dirstack_free(unfold->directories);
	dirstack_free(unfold->first_names);
	free(unfold->lost);
	free(unfold->made);
}

static uint32_t parent_of(const void *dataset, uint32_t directory)
{
	struct dataset_entry entry;

	dataset_entry(dataset, directory, &entry);
	return entry.parent;
}

void unfold_name(const void *dataset, uint32_t number, char ret[FORMAT_NAME_MAX + 1])
{
	struct dataset_entry entry;

	dataset_entry(dataset, number, &entry);
	memcpy(ret, entry.name, entry.name_len);
	ret[entry.name_len] = '\0';
}

const struct timespec *unfold_times(const struct dataset_attr *attr, struct timespec ret[2])
{
	ret[0] = ret[1] = attr->mtime;
	return ret;
}

int unfold_tell(struct unfold *unfold, uint32_t number, int error)
{
	if (error == 0 || error == -EINTR)
		return error;
	return unfold->params->fault(unfold->params->context, number, error);
}

static int open_stacks(struct unfold *unfold)
{
	const struct dirstack_tree tree = {
		.parent = parent_of, .name = unfold_name, .context = unfold->dataset};
	int root = unfold->params->root;
	int r = dirstack_new(&tree, root, &unfold->directories);

	if (r == 0)
		r = dirstack_new(&tree, root, &unfold->first_names);
	for (unsigned i = 0; r == 0 && i < unfold->params->jobs; i++)
		r = dirstack_new(&tree, root, &unfold->workers[i]);
	return r;
}

static int prepare(struct unfold *unfold)
{
	uint32_t entries = dataset_entries(unfold->dataset);

	for (unsigned i = 0; i < UNFOLD_LOCKS; i++)
		pthread_mutex_init(&unfold->creating[i], NULL);
	unfold->workers = calloc(unfold->params->jobs, sizeof(*unfold->workers));
	unfold->lost = calloc(1, entries / 8 + 1);
	if (!unfold->workers || !unfold->lost)
		return -ENOMEM;
	if (dataset_info(unfold->dataset)->super->hardlinks > 0) {
		unfold->made = malloc(entries * sizeof(*unfold->made));
		if (!unfold->made)
			return -ENOMEM;
		memset(unfold->made, 0xff, entries * sizeof(*unfold->made));
	}
	return open_stacks(unfold);
}

/* --- directories and links ------------------------------------------------------------------ */

static int make_symlink(struct unfold *unfold, uint32_t number, int directory, const char *name)
{
	SCOPE_FREE char *target = NULL;
	struct dataset_attr attr;
	struct timespec both[2];
	const char *bytes;
	size_t len;
	int r = dataset_attr(unfold->dataset, number, &attr);

	if (r < 0)
		return r;
	bytes = dataset_target(unfold->dataset, number, &len);
	target = strndup(bytes, len);
	if (!target)
		return -ENOMEM;
	if (symlinkat(target, directory, name) < 0)
		return -errno;
	/* A filesystem without times for links is no reason to fail. */
	(void)utimensat(directory, name, unfold_times(&attr, both), AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* Its own mode comes later: it may be one that lets nobody write. */
static int make_directory(int directory, const char *name)
{
	struct stat st;

	if (mkdirat(directory, name, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -EEXIST;
}

/* Makes what has no bytes: a directory or a symbolic link. */
static int make_entry(struct unfold *unfold, uint32_t number)
{
	struct dataset_entry entry;
	char name[FORMAT_NAME_MAX + 1];
	int directory, r;

	dataset_entry(unfold->dataset, number, &entry);
	unfold_name(unfold->dataset, number, name);
	r = dirstack_enter(unfold->directories, entry.parent, &directory);
	if (r < 0)
		return r;
	return entry.kind == FORMAT_DIRECTORY ? make_directory(directory, name)
					      : make_symlink(unfold, number, directory, name);
}

/* Gives a file that has been made another name. */
static int make_hardlink(struct unfold *unfold, uint32_t made, uint32_t number)
{
	char first[FORMAT_NAME_MAX + 1], name[FORMAT_NAME_MAX + 1];
	int from, to, r;

	r = dirstack_enter(unfold->first_names, parent_of(unfold->dataset, made), &from);
	if (r == 0)
		r = dirstack_enter(unfold->directories, parent_of(unfold->dataset, number), &to);
	if (r < 0)
		return r;
	unfold_name(unfold->dataset, made, first);
	unfold_name(unfold->dataset, number, name);
	return linkat(from, first, to, name, 0) < 0 ? -errno : 0;
}

static int finish_directory(struct unfold *unfold, uint32_t number)
{
	struct dataset_attr attr;
	struct timespec both[2];
	int fd, r;

	r = dataset_attr(unfold->dataset, number, &attr);
	if (r == 0)
		r = dirstack_enter(unfold->directories, number, &fd);
	if (r < 0)
		return r;
	if (fchmod(fd, attr.mode) < 0 || futimens(fd, unfold_times(&attr, both)) < 0)
		return -errno;
	return 0;
}

/* --- the tree --------------------------------------------------------------------------- */

/* The files to be made, and the names that become links to them. */
struct plan {
	struct buf files, links; /* entries */
};

static void plan_release(struct plan *plan)
{
	buf_release(&plan->files);
	buf_release(&plan->links);
}

/* The first name that is met becomes the file, the others links to it; so it does not matter
 * which of them are asked for. */
static int plan_name(struct unfold *unfold, uint32_t number, uint32_t inode, struct plan *plan)
{
	if (unfold->made && unfold->made[inode] != NOT_MADE)
		return buf_add(&plan->links, &number, sizeof(number));
	if (unfold->made)
		unfold->made[inode] = number;
	return buf_add(&plan->files, &number, sizeof(number));
}

static int make_or_plan(struct unfold *unfold, uint32_t number, struct plan *plan)
{
	struct dataset_entry entry;
	int r;

	dataset_entry(unfold->dataset, number, &entry);
	if (bit_get(unfold->lost, entry.parent)) {
		bit_set(unfold->lost, number);
		return 0;
	}
	if (entry.kind != FORMAT_DIRECTORY && entry.kind != FORMAT_SYMLINK)
		return plan_name(unfold, number, entry.inode, plan);
	r = make_entry(unfold, number);
	if (r < 0 && entry.kind == FORMAT_DIRECTORY)
		bit_set(unfold->lost, number);
	return unfold_tell(unfold, number, r);
}

static int make_tree(struct unfold *unfold, struct plan *plan)
{
	uint32_t entries = dataset_entries(unfold->dataset);
	int r = 0;

	for (uint32_t number = 1; r == 0 && number < entries; number++) {
		if (subtree_mark(unfold->params->subtree, number) == SUBTREE_OUTSIDE)
			continue;
		r = make_or_plan(unfold, number, plan);
		if (r == 0)
			r = unfold->params->done(unfold->params->context, 0, 0);
	}
	return r;
}

/* Where the first name of a file could not be made, this one takes its place. */
static int make_link(struct unfold *unfold, uint32_t number)
{
	struct dataset_entry entry;
	uint32_t *made;

	dataset_entry(unfold->dataset, number, &entry);
	made = &unfold->made[entry.inode];
	if (*made != NOT_MADE)
		return unfold_tell(unfold, number, make_hardlink(unfold, *made, number));
	*made = number;
	return unfold_files(unfold, &number, 1, 1);
}

static int make_links(struct unfold *unfold, const struct buf *links)
{
	const uint32_t *numbers = (const uint32_t *)(const void *)links->data;
	size_t count = links->len / sizeof(*numbers);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = make_link(unfold, numbers[i]);
		if (r == 0)
			r = unfold->params->done(unfold->params->context, 0, 0);
	}
	return r;
}

/* Backwards: what is in a directory comes behind it, and its mode may shut everybody out. */
static int finish_directories(struct unfold *unfold)
{
	struct dataset_child child;
	uint32_t least = unfold->params->finish_root ? 0 : 1;
	int r = 0;

	for (uint32_t number = dataset_entries(unfold->dataset); r == 0 && number-- > least;) {
		dataset_child(unfold->dataset, number, &child);
		if (child.kind == FORMAT_DIRECTORY && !bit_get(unfold->lost, number) &&
		    subtree_mark(unfold->params->subtree, number) != SUBTREE_OUTSIDE)
			r = unfold_tell(unfold, number, finish_directory(unfold, number));
	}
	return r;
}

int unfold(const struct unfold_params *params)
{
	SCOPE(release) struct unfold unfold = {.params = params, .dataset = params->dataset};
	SCOPE(plan_release) struct plan plan = {0};
	int r = prepare(&unfold);

	if (r == 0)
		r = make_tree(&unfold, &plan);
	if (r == 0)
		r = unfold_files(&unfold, (uint32_t *)(void *)plan.files.data,
				 plan.files.len / sizeof(uint32_t), params->jobs);
	if (r == 0)
		r = make_links(&unfold, &plan.links);
	return r < 0 ? r : finish_directories(&unfold);
}
