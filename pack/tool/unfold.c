#include "pack/tool/unfold.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/dirstack.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE ((size_t)1 << 20) /* an extent: read, checked, written */

#define NOT_MADE UINT32_MAX

struct unfold {
	const struct unfold_params *params;
	struct dataset *dataset;
	struct dirstack *directories;
	struct dirstack *first_names; /* for the other end of a hard link */
	uint32_t *made;		      /* the entry under which each inode has been made, or
					 NOT_MADE; NULL where there are no hard links */
	char *piece;
};

static void release(struct unfold *unfold)
{
	dirstack_free(unfold->directories);
	dirstack_free(unfold->first_names);
	free(unfold->made);
	free(unfold->piece);
}

static uint32_t parent_of(const void *dataset, uint32_t directory)
{
	struct dataset_entry entry;

	dataset_entry(dataset, directory, &entry);
	return entry.parent;
}

static void name_of(const void *dataset, uint32_t number, char ret[FORMAT_NAME_MAX + 1])
{
	struct dataset_entry entry;

	dataset_entry(dataset, number, &entry);
	memcpy(ret, entry.name, entry.name_len);
	ret[entry.name_len] = '\0';
}

static int prepare(struct unfold *unfold)
{
	const struct dirstack_tree tree = {
		.parent = parent_of, .name = name_of, .context = unfold->dataset};
	uint32_t entries = dataset_entries(unfold->dataset);
	int r = dirstack_new(&tree, unfold->params->root, &unfold->directories);

	if (r == 0)
		r = dirstack_new(&tree, unfold->params->root, &unfold->first_names);
	if (r < 0)
		return r;
	unfold->piece = malloc(PIECE);
	if (!unfold->piece)
		return -ENOMEM;
	if (dataset_info(unfold->dataset)->super->hardlinks == 0)
		return 0;
	unfold->made = malloc(entries * sizeof(*unfold->made));
	if (!unfold->made)
		return -ENOMEM;
	memset(unfold->made, 0xff, entries * sizeof(*unfold->made));
	return 0;
}

static const struct timespec *times(const struct dataset_attr *attr, struct timespec ret[2])
{
	ret[0] = ret[1] = attr->mtime;
	return ret;
}

/* --- files ------------------------------------------------------------------------------ */

static int copy(struct unfold *unfold, uint32_t inode, uint64_t size, int fd)
{
	ssize_t n;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size; at += (uint64_t)n) {
		n = dataset_read(unfold->dataset, inode, unfold->piece, PIECE, at, true);
		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		r = io_write_full(fd, unfold->piece, (size_t)n);
		if (r == 0)
			r = unfold->params->done(unfold->params->context, 0, (uint64_t)n);
	}
	return r;
}

/* The new owner is whoever extracts: a file of his must not run as him for everybody. */
static int set_attributes(int fd, const struct dataset_attr *attr)
{
	struct timespec both[2];

	if (fchmod(fd, attr->mode & 01777) < 0 || futimens(fd, times(attr, both)) < 0)
		return -errno;
	return 0;
}

static int make_file(struct unfold *unfold, int directory, const char *name,
		     const struct dataset_entry *entry, const struct dataset_attr *attr)
{
	SCOPE_CLOSE int fd =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = copy(unfold, entry->inode, entry->size, fd);
	if (r == 0)
		r = set_attributes(fd, attr);
	/* Some filesystems tell of a full disk at close only. */
	if (close(steal_fd(&fd)) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlinkat(directory, name, 0);
	return r;
}

/* Gives a file that has been made another name. */
static int make_hardlink(struct unfold *unfold, uint32_t made, int directory, const char *name)
{
	char first[FORMAT_NAME_MAX + 1];
	int from, r;

	r = dirstack_enter(unfold->first_names, parent_of(unfold->dataset, made), &from);
	if (r < 0)
		return r;
	name_of(unfold->dataset, made, first);
	return linkat(from, first, directory, name, 0) < 0 ? -errno : 0;
}

/* The first name that is met becomes the file, the others links to it; so it does not matter
 * which of them are asked for, nor in which order they come. */
static int make_name(struct unfold *unfold, uint32_t number, int directory, const char *name,
		     const struct dataset_attr *attr)
{
	struct dataset_entry entry;
	int r;

	dataset_entry(unfold->dataset, number, &entry);
	if (unfold->made && unfold->made[entry.inode] != NOT_MADE)
		return make_hardlink(unfold, unfold->made[entry.inode], directory, name);
	r = make_file(unfold, directory, name, &entry, attr);
	if (r < 0)
		return r;
	if (unfold->made)
		unfold->made[entry.inode] = number;
	return unfold->params->done(unfold->params->context, 1, 0);
}

/* --- the others ------------------------------------------------------------------------- */

static int make_symlink(struct unfold *unfold, uint32_t number, int directory, const char *name,
			const struct dataset_attr *attr)
{
	SCOPE_FREE char *target = NULL;
	struct timespec both[2];
	const char *bytes;
	size_t len;

	bytes = dataset_target(unfold->dataset, number, &len);
	target = strndup(bytes, len);
	if (!target)
		return -ENOMEM;
	if (symlinkat(target, directory, name) < 0)
		return -errno;
	/* A filesystem without times for links is no reason to fail. */
	(void)utimensat(directory, name, times(attr, both), AT_SYMLINK_NOFOLLOW);
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

static int make_entry(struct unfold *unfold, uint32_t number)
{
	struct dataset_attr attr;
	struct dataset_entry entry;
	char name[FORMAT_NAME_MAX + 1];
	int directory, r;

	dataset_entry(unfold->dataset, number, &entry);
	name_of(unfold->dataset, number, name);
	r = dataset_attr(unfold->dataset, number, &attr);
	if (r == 0)
		r = dirstack_enter(unfold->directories, entry.parent, &directory);
	if (r < 0)
		return r;
	switch (entry.kind) {
	case FORMAT_DIRECTORY:
		return make_directory(directory, name);
	case FORMAT_SYMLINK:
		return make_symlink(unfold, number, directory, name, &attr);
	default:
		return make_name(unfold, number, directory, name, &attr);
	}
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
	if (fchmod(fd, attr.mode) < 0 || futimens(fd, times(&attr, both)) < 0)
		return -errno;
	return 0;
}

/* --- the tree --------------------------------------------------------------------------- */

static int tell(struct unfold *unfold, uint32_t number, int error)
{
	if (error == 0 || error == -EINTR)
		return error;
	return unfold->params->fault(unfold->params->context, number, error);
}

static int make_all(struct unfold *unfold)
{
	uint32_t entries = dataset_entries(unfold->dataset);
	int r = 0;

	for (uint32_t number = 1; r == 0 && number < entries; number++)
		if (subtree_mark(unfold->params->subtree, number) != SUBTREE_OUTSIDE)
			r = tell(unfold, number, make_entry(unfold, number));
	return r;
}

/* Backwards: what is in a directory comes behind it, and its mode may shut everybody out. */
static int finish_directories(struct unfold *unfold)
{
	struct dataset_entry entry;
	uint32_t least = unfold->params->finish_root ? 0 : 1;
	int r = 0;

	for (uint32_t number = dataset_entries(unfold->dataset); r == 0 && number-- > least;) {
		dataset_entry(unfold->dataset, number, &entry);
		if (entry.kind == FORMAT_DIRECTORY &&
		    subtree_mark(unfold->params->subtree, number) != SUBTREE_OUTSIDE)
			r = tell(unfold, number, finish_directory(unfold, number));
	}
	return r;
}

int unfold(const struct unfold_params *params)
{
	SCOPE(release) struct unfold unfold = {.params = params, .dataset = params->dataset};
	int r = prepare(&unfold);

	if (r == 0)
		r = make_all(&unfold);
	return r < 0 ? r : finish_directories(&unfold);
}
