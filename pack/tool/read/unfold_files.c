/* The files of a tree that is made of a pack: whole windows of small ones, each by one thread,
 * and pieces of long ones, all by whoever comes. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/read/sweep.h"
#include "pack/tool/read/unfold_internal.h"
#include <fcntl.h>
#include <sys/stat.h>

/* A file of many pieces, from before the first is read until the last is written. */
struct large {
	struct large *next;
	uint32_t entry;
	int fd;
	int error; /* of making it, or of the first piece that failed */
	bool told; /* that it failed */
};

/* What comes of one window. */
struct note {
	struct large *large; /* NULL: whole files, or nothing to do */
	bool read;	     /* only once a file is there to take the bytes */
	int errors[WINDOW_FILES];
};

/* The new owner is whoever extracts: a file of his must not run as him for everybody. */
static int set_attributes(struct dataset *dataset, uint32_t number, int fd)
{
	struct dataset_attr attr;
	struct timespec both[2];
	int r = dataset_attr(dataset, number, &attr);

	if (r < 0)
		return r;
	if (fchmod(fd, attr.mode & 01777) < 0 || futimens(fd, unfold_times(&attr, both)) < 0)
		return -errno;
	return 0;
}

static int create_in(struct unfold *unfold, int directory, uint32_t parent, const char *name)
{
	SCOPE_LOCK(&unfold->creating[parent % UNFOLD_LOCKS]);
	return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int create(struct unfold *unfold, struct dirstack *directories, uint32_t number,
		  int *ret_directory, int *ret_fd)
{
	char name[FORMAT_NAME_MAX + 1];
	struct dataset_entry entry;
	int directory, fd, r;

	dataset_entry(unfold->dataset, number, &entry);
	r = dirstack_enter(directories, entry.parent, &directory);
	if (r < 0)
		return r;
	unfold_name(unfold->dataset, number, name);
	fd = create_in(unfold, directory, entry.parent, name);
	if (fd < 0)
		return -errno;
	*ret_directory = directory;
	*ret_fd = fd;
	return 0;
}

/* The end of a file that was created: it is whole, with mode and time, or it is not there. */
static int conclude(struct unfold *unfold, uint32_t number, int directory, int fd, int error)
{
	char name[FORMAT_NAME_MAX + 1];

	if (error == 0)
		error = set_attributes(unfold->dataset, number, fd);
	/* Some filesystems tell of a full disk at close only. */
	if (close(fd) < 0 && error == 0)
		error = -errno;
	if (error == 0)
		return 0;
	unfold_name(unfold->dataset, number, name);
	unlinkat(directory, name, 0);
	return error;
}

/* --- in any thread ---------------------------------------------------------------------- */

/* Checks the extents, which lie one behind the other in the view. */
static int get_bytes(struct view *view, struct window_extents extents, char **ret_data)
{
	struct dataset_extent extent;
	char *first = NULL, *data;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < extents.count; i++) {
		r = view_extent(view, extents.first + i, &extent, &data);
		if (r == 0) {
			struct iovec iov = {.iov_base = data, .iov_len = extent.size};

			r = dataset_check(view->dataset, extents.first + i, &iov, 1);
		}
		if (r == 0 && i == 0)
			first = data;
	}
	if (r == 0)
		*ret_data = first;
	return r == -ENODATA ? -EBADMSG : r;
}

static int fill(struct view *view, const struct window *window, uint32_t i, int fd)
{
	struct window_extents extents = window_extents(view->dataset, window, i);
	struct dataset_entry entry;
	char *data = NULL;
	int r = get_bytes(view, extents, &data);

	if (r < 0)
		return r;
	dataset_entry(view->dataset, window->files[i], &entry);
	return io_write_full(fd, data, entry.size);
}

static int make_file(struct unfold *unfold, struct dirstack *directories, struct view *view,
		     const struct window *window, uint32_t i, struct note *note)
{
	int directory, fd, r;

	if (interrupt_pending())
		return -EINTR;
	r = create(unfold, directories, window->files[i], &directory, &fd);
	if (r < 0)
		return r;
	if (!note->read)
		view_read(view, window);
	note->read = true;
	r = fill(view, window, i, fd);
	return conclude(unfold, window->files[i], directory, fd, r);
}

static int write_piece(const struct large *large, struct view *view, const struct window *window)
{
	char *data;
	int r;

	if (interrupt_pending())
		return -EINTR;
	view_read(view, window);
	r = get_bytes(view, window_extents(view->dataset, window, 0), &data);
	return r < 0 ? r : io_pwrite_full(large->fd, data, window->bytes, window->from);
}

static void work(void *context, unsigned worker, const struct window *window, struct view *view,
		 void *pointer)
{
	struct unfold *unfold = context;
	struct note *note = pointer;

	if (window->piece && note->large)
		*note->errors = write_piece(note->large, view, window);
	for (uint32_t i = 0; !window->piece && i < window->count; i++)
		note->errors[i] = make_file(unfold, unfold->workers[worker], view, window, i, note);
}

/* --- in the caller's thread --------------------------------------------------------------- */

static struct large *find_large(const struct unfold *unfold, uint32_t entry)
{
	struct large *large = unfold->larges;

	while (large && large->entry != entry)
		large = large->next;
	return large;
}

static int begin_large(struct unfold *unfold, uint32_t entry)
{
	struct large *large = calloc(1, sizeof(*large));
	int directory;

	if (!large)
		return -ENOMEM;
	*large = (struct large){.next = unfold->larges, .entry = entry, .fd = -1};
	large->error = create(unfold, unfold->directories, entry, &directory, &large->fd);
	unfold->larges = large;
	return 0;
}

static int begin(void *context, const struct window *window, void *pointer)
{
	struct unfold *unfold = context;
	struct note *note = pointer;
	struct large *large;
	int r;

	if (!window->piece)
		return 0;
	r = window->from == 0 ? begin_large(unfold, *window->files) : 0;
	if (r < 0)
		return r;
	large = find_large(unfold, *window->files);
	/* A file that has failed needs no more pieces. */
	note->large = large->error ? NULL : large;
	return 0;
}

/* Gives the file its end, and returns what became of it. */
static int end_large(struct unfold *unfold, struct large *large)
{
	const struct large ended = *large;
	SCOPE_CLOSE int fd = ended.fd;
	struct large **link = &unfold->larges;
	struct dataset_entry entry;
	int directory, r;

	while (*link != large)
		link = &(*link)->next;
	*link = ended.next;
	free(large);
	if (fd < 0)
		return ended.error;
	dataset_entry(unfold->dataset, ended.entry, &entry);
	r = dirstack_enter(unfold->directories, entry.parent, &directory);
	if (r < 0)
		return r;
	return conclude(unfold, ended.entry, directory, steal_fd(&fd), ended.error);
}

void unfold_drop_larges(struct unfold *unfold)
{
	while (unfold->larges) {
		unfold->larges->error = -ECANCELED;
		end_large(unfold, unfold->larges);
	}
}

static int file_done(struct unfold *unfold, uint32_t number, int error, uint64_t bytes)
{
	struct dataset_entry entry;

	if (error == 0)
		return unfold->params->done(unfold->params->context, 1, bytes);
	dataset_entry(unfold->dataset, number, &entry);
	if (unfold->made)
		unfold->made[entry.inode] = NOT_MADE;
	return unfold_tell(unfold, number, error);
}

/* A failure is told with the first piece that fails: the next ones may be hours away. */
static int piece_done(struct unfold *unfold, const struct window *window, const struct note *note)
{
	struct large *large = find_large(unfold, *window->files);
	bool told = large->told;
	int r = 0;

	if (large->error == 0)
		large->error = *note->errors;
	if (large->error == 0)
		r = unfold->params->done(unfold->params->context, 0, window->bytes);
	else if (!told)
		r = file_done(unfold, *window->files, large->error, 0);
	large->told = large->error != 0;
	told = large->told;
	if (r < 0 || !window->last)
		return r;
	r = end_large(unfold, large);
	return told ? 0 : file_done(unfold, *window->files, r, 0);
}

static int window_done(void *context, const struct window *window, void *pointer)
{
	struct unfold *unfold = context;
	const struct note *note = pointer;
	struct dataset_entry entry;
	int r = 0;

	if (window->piece)
		return piece_done(unfold, window, note);
	for (uint32_t i = 0; r == 0 && i < window->count; i++) {
		dataset_entry(unfold->dataset, window->files[i], &entry);
		r = file_done(unfold, window->files[i], note->errors[i], entry.size);
	}
	return r;
}

int unfold_files(struct unfold *unfold, uint32_t *files, size_t count, unsigned jobs)
{
	const struct sweep_params params = {.dataset = unfold->dataset,
					    .files = files,
					    .count = count,
					    .jobs = jobs,
					    .note_size = sizeof(struct note),
					    .begin = begin,
					    .work = work,
					    .done = window_done,
					    .context = unfold};

	return count ? sweep(&params) : 0;
}
