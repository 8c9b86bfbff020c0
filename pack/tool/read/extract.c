#include "pack/tool/read/extract.h"

#include "base/bits.h"
#include "base/scope.h"
#include "pack/tool/read/extract_internal.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static void extractor_release(struct extractor *extractor)
{
	extract_drop_larges(extractor);
	for (unsigned i = 0; extractor->workers && i < extractor->params->jobs; i++)
		dirstack_free(extractor->workers[i]);
	free(extractor->workers);
	for (unsigned i = 0; i < EXTRACT_LOCKS; i++)
		pthread_mutex_destroy(&extractor->creating[i]);
	dirstack_free(extractor->directories);
	dirstack_free(extractor->first_names);
	free(extractor->lost);
	free(extractor->made);
}

static uint32_t pack_parent(const void *dataset, uint32_t directory)
{
	struct dataset_entry entry;

	dataset_entry(dataset, directory, &entry);
	return entry.parent;
}

void extract_name(const void *dataset, uint32_t number, char ret[FORMAT_NAME_MAX + 1])
{
	struct dataset_entry entry;

	dataset_entry(dataset, number, &entry);
	memcpy(ret, entry.name, entry.name_len);
	ret[entry.name_len] = '\0';
}

const struct timespec *extract_times(const struct dataset_attr *attr, struct timespec ret[2])
{
	ret[0] = ret[1] = attr->mtime;
	return ret;
}

int extract_tell(struct extractor *extractor, uint32_t number, int error)
{
	if (error == 0 || error == -EINTR)
		return error;
	return extractor->params->fault(extractor->params->context, number, error);
}

static int open_stacks(struct extractor *extractor)
{
	const struct dirstack_tree tree = {
		.parent = pack_parent, .name = extract_name, .context = extractor->dataset};
	int root = extractor->params->root;
	int r = dirstack_new(&tree, root, &extractor->directories);

	if (r == 0)
		r = dirstack_new(&tree, root, &extractor->first_names);
	for (unsigned i = 0; r == 0 && i < extractor->params->jobs; i++)
		r = dirstack_new(&tree, root, &extractor->workers[i]);
	return r;
}

static int extractor_prepare(struct extractor *extractor)
{
	uint32_t entries = dataset_entries(extractor->dataset);

	for (unsigned i = 0; i < EXTRACT_LOCKS; i++)
		pthread_mutex_init(&extractor->creating[i], NULL);
	extractor->workers = calloc(extractor->params->jobs, sizeof(*extractor->workers));
	extractor->lost = calloc(1, entries / 8 + 1);
	if (!extractor->workers || !extractor->lost)
		return -ENOMEM;
	if (dataset_info(extractor->dataset)->super->hardlinks > 0) {
		extractor->made = malloc(entries * sizeof(*extractor->made));
		if (!extractor->made)
			return -ENOMEM;
		memset(extractor->made, 0xff, entries * sizeof(*extractor->made));
	}
	return open_stacks(extractor);
}

/* --- directories and links ------------------------------------------------------------------ */

static int make_symlink(struct extractor *extractor, uint32_t number, int directory,
			const char *name)
{
	SCOPE_FREE char *target = NULL;
	struct dataset_attr attr;
	struct timespec both[2];
	const char *bytes;
	size_t len;
	int r = dataset_attr(extractor->dataset, number, &attr);

	if (r < 0)
		return r;
	bytes = dataset_target(extractor->dataset, number, &len);
	target = strndup(bytes, len);
	if (!target)
		return -ENOMEM;
	if (symlinkat(target, directory, name) < 0)
		return -errno;
	/* A filesystem without times for links is no reason to fail. */
	(void)utimensat(directory, name, extract_times(&attr, both), AT_SYMLINK_NOFOLLOW);
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
static int make_entry(struct extractor *extractor, uint32_t number)
{
	struct dataset_entry entry;
	char name[FORMAT_NAME_MAX + 1];
	int directory, r;

	dataset_entry(extractor->dataset, number, &entry);
	extract_name(extractor->dataset, number, name);
	r = dirstack_enter(extractor->directories, entry.parent, &directory);
	if (r < 0)
		return r;
	return entry.kind == FORMAT_DIRECTORY ? make_directory(directory, name)
					      : make_symlink(extractor, number, directory, name);
}

/* Gives a file that has been made another name. */
static int make_hardlink(struct extractor *extractor, uint32_t made, uint32_t number)
{
	char first[FORMAT_NAME_MAX + 1], name[FORMAT_NAME_MAX + 1];
	int from, to, r;

	r = dirstack_enter(extractor->first_names, pack_parent(extractor->dataset, made), &from);
	if (r == 0)
		r = dirstack_enter(extractor->directories, pack_parent(extractor->dataset, number),
				   &to);
	if (r < 0)
		return r;
	extract_name(extractor->dataset, made, first);
	extract_name(extractor->dataset, number, name);
	return linkat(from, first, to, name, 0) < 0 ? -errno : 0;
}

static int finish_directory(struct extractor *extractor, uint32_t number)
{
	struct dataset_attr attr;
	struct timespec both[2];
	int fd, r;

	r = dataset_attr(extractor->dataset, number, &attr);
	if (r == 0)
		r = dirstack_enter(extractor->directories, number, &fd);
	if (r < 0)
		return r;
	if (fchmod(fd, attr.mode) < 0 || futimens(fd, extract_times(&attr, both)) < 0)
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
static int plan_name(struct extractor *extractor, uint32_t number, uint32_t inode,
		     struct plan *plan)
{
	if (extractor->made && extractor->made[inode] != NOT_MADE)
		return buf_add(&plan->links, &number, sizeof(number));
	if (extractor->made)
		extractor->made[inode] = number;
	return buf_add(&plan->files, &number, sizeof(number));
}

static int make_or_plan(struct extractor *extractor, uint32_t number, struct plan *plan)
{
	struct dataset_entry entry;
	int r;

	dataset_entry(extractor->dataset, number, &entry);
	if (bit_get(extractor->lost, entry.parent)) {
		bit_set(extractor->lost, number);
		return 0;
	}
	if (entry.kind != FORMAT_DIRECTORY && entry.kind != FORMAT_SYMLINK)
		return plan_name(extractor, number, entry.inode, plan);
	r = make_entry(extractor, number);
	if (r < 0 && entry.kind == FORMAT_DIRECTORY)
		bit_set(extractor->lost, number);
	return extract_tell(extractor, number, r);
}

static int make_folders(struct extractor *extractor, struct plan *plan)
{
	uint32_t entries = dataset_entries(extractor->dataset);
	int r = 0;

	for (uint32_t number = 1; r == 0 && number < entries; number++) {
		if (subtree_mark(extractor->params->subtree, number) == SUBTREE_OUTSIDE)
			continue;
		r = make_or_plan(extractor, number, plan);
		if (r == 0)
			r = extractor->params->done(extractor->params->context, 0, 0);
	}
	return r;
}

/* Where the first name of a file could not be made, this one takes its place. */
static int make_link(struct extractor *extractor, uint32_t number)
{
	struct dataset_entry entry;
	uint32_t *made;

	dataset_entry(extractor->dataset, number, &entry);
	made = &extractor->made[entry.inode];
	if (*made != NOT_MADE)
		return extract_tell(extractor, number, make_hardlink(extractor, *made, number));
	*made = number;
	return extract_files(extractor, &number, 1, 1);
}

static int make_links(struct extractor *extractor, const struct buf *links)
{
	const uint32_t *numbers = (const uint32_t *)(const void *)links->data;
	size_t count = links->len / sizeof(*numbers);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = make_link(extractor, numbers[i]);
		if (r == 0)
			r = extractor->params->done(extractor->params->context, 0, 0);
	}
	return r;
}

/* Backwards: what is in a directory has a larger number, and its mode may shut everybody out. */
static int finish_directories(struct extractor *extractor)
{
	struct dataset_child child;
	uint32_t least = extractor->params->finish_root ? 0 : 1;
	int r = 0;

	for (uint32_t number = dataset_entries(extractor->dataset); r == 0 && number-- > least;) {
		dataset_child(extractor->dataset, number, &child);
		if (child.kind == FORMAT_DIRECTORY && !bit_get(extractor->lost, number) &&
		    subtree_mark(extractor->params->subtree, number) != SUBTREE_OUTSIDE)
			r = extract_tell(extractor, number, finish_directory(extractor, number));
	}
	return r;
}

int extract_tree(const struct extract_params *params)
{
	SCOPE(extractor_release)
	struct extractor extractor = {.params = params, .dataset = params->dataset};
	SCOPE(plan_release) struct plan plan = {0};
	int r = extractor_prepare(&extractor);

	if (r == 0)
		r = make_folders(&extractor, &plan);
	if (r == 0)
		r = extract_files(&extractor, (uint32_t *)(void *)plan.files.data,
				  plan.files.len / sizeof(uint32_t), params->jobs);
	if (r == 0)
		r = make_links(&extractor, &plan.links);
	return r < 0 ? r : finish_directories(&extractor);
}
