#include "pack/tool/read/extract.h"

#include "base/bits.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/dirstack.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/work/interrupt.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/* A file that is being made. */
struct new_file {
	int fd;
	int directory; /* that it is in: its path may lead elsewhere at the end */
	bool named;    /* otherwise it gets its name when it is whole */
};

/* A file of many pieces, from before the first is read until the last is written. */
struct large {
	struct large *next;
	uint32_t entry;
	struct new_file file; /* its directory is a descriptor of its own */
	int error;	      /* of making it, or of the first piece that failed */
	bool reported;	      /* that it failed */
};

#define EXTRACT_LOCKS 64u

struct extractor {
	const struct extract_params *params;
	struct dataset *dataset;
	mode_t umask;
	bool unnamed; /* files are made without a name */
	struct dirstack *directories;
	struct dirstack *first_names; /* for the first name of a hard link */
	struct dirstack **workers;    /* of each thread that makes files */
	uint8_t *lost;		      /* a bit for each entry: a directory that is not there, */
	uint8_t *found;		      /* or was there before; */
	uint8_t *listed;	      /* a directory whose names were read, */
	uint8_t *spelled;	      /* and an entry that is there under its own name */
	uint32_t *made;		      /* the entry under which each inode has been made, or
					 NOT_MADE; NULL where there are no hard links */
	struct large *larges;	      /* the long files that are being written */
	/* Held while a file gets its name in a directory whose number has this remainder. In the
	 * kernel, threads that make names in one directory spin until it is their turn: for
	 * 200,000 tiny files that took as much time as everything else. */
	pthread_mutex_t creating[EXTRACT_LOCKS];
	struct buf files, links; /* entries: to be made, and names that become links to these */
};

#define NOT_MADE UINT32_MAX

static uint32_t pack_parent(const void *dataset, uint32_t directory)
{
	return dataset_entry(dataset, directory).parent;
}

static void extract_name(const void *dataset, uint32_t number, char ret[FORMAT_NAME_MAX + 1])
{
	const struct dataset_entry entry = dataset_entry(dataset, number);

	memcpy(ret, entry.name, entry.name_len);
	ret[entry.name_len] = '\0';
}

/* --- modes and times --------------------------------------------------------------------- */

/* By any thread. */
static void count_refused(const struct extractor *extractor, enum extract_refusal kind, int error)
{
	atomic_fetch_add(&extractor->params->refused[kind].count, 1);
	atomic_store(&extractor->params->refused[kind].error, error);
}

static int set_attributes(const struct extractor *extractor, int fd, mode_t have, mode_t want,
			  struct timespec mtime)
{
	int r = have != want && fchmod(fd, want) < 0 ? -errno : 0;

	if (io_is_refused(r))
		count_refused(extractor, REFUSED_MODE, r);
	else if (r < 0)
		return r;
	r = futimens(fd, (struct timespec[2]){mtime, mtime}) < 0 ? -errno : 0;
	if (!io_is_refused(r))
		return r;
	count_refused(extractor, REFUSED_TIME, r);
	return 0;
}

/* The mode that a file is created with: without setuid and setgid, since its owner is the user who
 * extracts. */
static mode_t mode_of_file(const struct dataset_attr *attr)
{
	return attr->mode & 01777;
}

/* Of one that is complete. The default ACL of a folder that was made is that of the one above. So
 * is the group, if that one hands it down. `found`: it was there before. */
static int set_attributes_of_folder(const struct extractor *extractor, int fd, bool found,
				    const struct dataset_attr *attr)
{
	bool acl = io_has_default_acl(fd);
	mode_t have, want;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	have = st.st_mode & 07777;
	if (found)
		want = acl ? have : attr->mode & ~extractor->umask;
	else
		want = (attr->mode & (acl ? have | 07000 : ~extractor->umask)) | (have & S_ISGID);
	return set_attributes(extractor, fd, have, want, attr->mtime);
}

/* Its name is taken: by what is called so, or by what the filesystem takes for it, as upper and
 * lower case are the same there. That may be another entry: of two folders that became one, nobody
 * could tell the classes apart. Another run may make folders meanwhile. Returns -EEXIST or
 * -ENOTUNIQ, or why the directory cannot be read. In the caller's thread. */
static int who_is_there(struct extractor *extractor, uint32_t number)
{
	bool is_folder = dataset_child(extractor->dataset, number).kind == FORMAT_DIRECTORY;
	uint32_t parent = pack_parent(extractor->dataset, number), entry;
	SCOPE_DIR DIR *stream = NULL;
	struct dirent *found;
	int directory, fd, r;

	if (!bit_get(extractor->spelled, number) &&
	    (!bit_set(extractor->listed, parent) || is_folder)) {
		r = dirstack_enter(extractor->directories, parent, &directory);
		if (r < 0)
			return r;
		fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		stream = fd < 0 ? NULL : fdopendir(fd);
		if (!stream)
			return -errno;
		while ((found = readdir(stream)))
			if (dataset_lookup(extractor->dataset, parent, found->d_name,
					   strlen(found->d_name), &entry) == 0)
				bit_set(extractor->spelled, entry);
	}
	return bit_get(extractor->spelled, number) ? -EEXIST : -ENOTUNIQ;
}

static int report_failure(struct extractor *extractor, uint32_t number, int error)
{
	if (error == 0 || error == -EINTR)
		return error;
	if (error == -EEXIST)
		error = who_is_there(extractor, number);
	return extractor->params->fault(extractor->params->context, number, error);
}

static int extract_count(const struct extractor *extractor, uint64_t files, uint64_t bytes)
{
	progress_add(extractor->params->progress, files, bytes);
	return interrupt_pending() ? -EINTR : 0;
}

/* --- files: whole batches of small ones by one thread, pieces of long ones in any ----------- */

/* What comes of one batch. */
struct extract_note {
	struct large *large; /* NULL: the batch has whole files */
	bool skip;	     /* the file has failed: no more pieces are read */
	bool read;	     /* the batch was read, which waits until a file is created */
	int errors[BATCH_FILES];
};

/* What is there already is found before the bytes are written in vain. A folder that was there may
 * be on another filesystem, which has no files without a name. */
static int extract_create(struct extractor *extractor, struct dirstack *directories,
			  uint32_t number, struct new_file *ret)
{
	char name[FORMAT_NAME_MAX + 1];
	uint32_t parent = pack_parent(extractor->dataset, number);
	struct dataset_attr attr;
	struct stat st;
	int r = dataset_attr(extractor->dataset, number, &attr);

	if (r == 0)
		r = dirstack_enter(directories, parent, &ret->directory);
	if (r < 0)
		return r;
	extract_name(extractor->dataset, number, name);
	if (extractor->unnamed && bit_get(extractor->found, parent) &&
	    fstatat(ret->directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	ret->named = false;
	ret->fd = -EISDIR;
	if (extractor->unnamed) {
		ret->fd = openat(ret->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
				 mode_of_file(&attr));
		if (ret->fd < 0)
			ret->fd = -errno;
	}
	if (ret->fd == -EISDIR || io_is_refused(ret->fd)) {
		SCOPE_LOCK(&extractor->creating[parent % EXTRACT_LOCKS]);
		ret->named = true;
		ret->fd = io_create(ret->directory, name, 0, mode_of_file(&attr));
	}
	return ret->fd < 0 ? ret->fd : 0;
}

/* Ends a file that was created: completes it with mode, time and name, or removes it. */
static int conclude_file(struct extractor *extractor, uint32_t number, struct new_file *file,
			 int error)
{
	char name[FORMAT_NAME_MAX + 1];
	struct dataset_attr attr;
	mode_t want, have;
	struct stat st;

	extract_name(extractor->dataset, number, name);
	if (error == 0)
		error = dataset_attr(extractor->dataset, number, &attr);
	if (error == 0 && fstat(file->fd, &st) < 0)
		error = -errno;
	if (error == 0) {
		/* The kernel took the umask, or the default ACL, from the mode already, but not on
		 * every filesystem. */
		want = mode_of_file(&attr) & ~extractor->umask;
		have = st.st_mode & 07777;
		if (have != want && !(have & ~mode_of_file(&attr)) &&
		    io_has_default_acl(file->directory))
			want = have;
		error = set_attributes(extractor, file->fd, have, want, attr.mtime);
	}
	if (error == 0 && !file->named) {
		SCOPE_LOCK(&extractor->creating[pack_parent(extractor->dataset, number) %
						EXTRACT_LOCKS]);
		error = io_link(file->fd, file->directory, name);
		file->named = error == 0;
	}
	/* Some filesystems report a full disk only at close. */
	if (close(file->fd) < 0 && error == 0)
		error = -errno;
	if (error && file->named)
		unlinkat(file->directory, name, 0);
	return error;
}

/* --- in any thread ---------------------------------------------------------------------- */

/* Checks the extents, which lie next to each other in the reader. */
static int get_bytes(struct batch_reader *reader, struct batch_extents extents, char **ret_data)
{
	struct dataset_extent extent;
	char *first = NULL, *data;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < extents.count; i++) {
		r = batch_reader_check(reader, extents.first + i, &extent, &data);
		if (r == 0 && i == 0)
			first = data;
	}
	if (r == 0)
		*ret_data = first;
	return r == -ENODATA ? -EBADMSG : r;
}

static int make_file(struct extractor *extractor, struct dirstack *directories,
		     struct batch_reader *reader, const struct batch *batch, uint32_t i,
		     struct extract_note *note)
{
	struct new_file file;
	char *data = NULL;
	int r;

	if (interrupt_pending())
		return -EINTR;
	r = extract_create(extractor, directories, batch->files[i], &file);
	if (r < 0)
		return r;
	if (!note->read)
		batch_reader_read(reader, batch);
	note->read = true;
	r = get_bytes(reader, batch_extents(reader->dataset, batch, i), &data);
	if (r == 0)
		r = io_write_full(file.fd, data,
				  dataset_entry(reader->dataset, batch->files[i]).size);
	return conclude_file(extractor, batch->files[i], &file, r);
}

static void extract_batch(void *context, unsigned worker, const struct batch *batch,
			  struct batch_reader *reader, void *pointer)
{
	struct extractor *extractor = context;
	struct extract_note *note = pointer;
	int r = interrupt_pending() ? -EINTR : 0;
	char *data;

	if (batch->piece && !note->skip) {
		if (r == 0) {
			batch_reader_read(reader, batch);
			r = get_bytes(reader, batch_extents(reader->dataset, batch, 0), &data);
		}
		if (r == 0)
			r = io_pwrite_full(note->large->file.fd, data, batch->bytes, batch->from);
		*note->errors = r;
	}
	for (uint32_t i = 0; !batch->piece && i < batch->count; i++)
		note->errors[i] =
			make_file(extractor, extractor->workers[worker], reader, batch, i, note);
}

/* --- in the caller's thread --------------------------------------------------------------- */

static int begin_batch(void *context, const struct batch *batch, void *pointer)
{
	struct extractor *extractor = context;
	struct extract_note *note = pointer;
	struct large *large = extractor->larges;
	int directory;

	if (!batch->piece)
		return 0;
	if (batch->from == 0) {
		large = calloc(1, sizeof(*large));
		if (!large)
			return -ENOMEM;
		*large = (struct large){.next = extractor->larges,
					.entry = *batch->files,
					.file = {.fd = -1, .directory = -1}};
		large->error = extract_create(extractor, extractor->directories, large->entry,
					      &large->file);
		directory = large->error ? -1 : fcntl(large->file.directory, F_DUPFD_CLOEXEC, 0);
		if (large->error == 0 && directory < 0) {
			large->error = conclude_file(extractor, large->entry, &large->file, -errno);
			large->file.fd = -1;
		}
		large->file.directory = directory;
		extractor->larges = large;
	}
	/* The pieces of a file come one after the other. */
	note->large = large;
	note->skip = large->error != 0;
	return 0;
}

/* Ends a long file. Returns its error. */
static int end_large(struct extractor *extractor, struct large *large)
{
	struct large ended = *large;
	struct large **link = &extractor->larges;

	while (*link != large)
		link = &(*link)->next;
	*link = ended.next;
	free(large);
	if (ended.file.fd >= 0)
		ended.error = conclude_file(extractor, ended.entry, &ended.file, ended.error);
	scope_close(&ended.file.directory);
	return ended.error;
}

static int extract_file_done(struct extractor *extractor, uint32_t number, int error,
			     uint64_t bytes)
{
	if (error == 0)
		return extract_count(extractor, 1, bytes);
	if (extractor->made)
		extractor->made[dataset_entry(extractor->dataset, number).inode] = NOT_MADE;
	return report_failure(extractor, number, error);
}

static int extract_batch_done(void *context, const struct batch *batch, void *pointer)
{
	struct extractor *extractor = context;
	const struct extract_note *note = pointer;
	int r = 0;

	if (batch->piece) {
		/* A failure is reported with the first piece that fails: the last one may be hours
		 * away. */
		struct large *large = note->large;
		bool reported = large->reported;

		if (large->error == 0)
			large->error = *note->errors;
		if (large->error == 0)
			r = extract_count(extractor, 0, batch->bytes);
		else if (!reported)
			r = extract_file_done(extractor, *batch->files, large->error, 0);
		large->reported = large->error != 0;
		reported = large->reported;
		if (r < 0 || !batch->last)
			return r;
		r = end_large(extractor, large);
		return reported ? 0 : extract_file_done(extractor, *batch->files, r, 0);
	}
	for (uint32_t i = 0; r == 0 && i < batch->count; i++) {
		r = extract_file_done(extractor, batch->files[i], note->errors[i],
				      dataset_entry(extractor->dataset, batch->files[i]).size);
	}
	return r;
}

static int extract_files(struct extractor *extractor, uint32_t *files, size_t count, unsigned jobs)
{
	const struct batch_scan_params params = {.dataset = extractor->dataset,
						 .files = files,
						 .count = count,
						 .jobs = jobs,
						 .note_size = sizeof(struct extract_note),
						 .begin = begin_batch,
						 .work = extract_batch,
						 .done = extract_batch_done,
						 .context = extractor};

	return count ? batch_scan(&params) : 0;
}

/* --- beginning and end ---------------------------------------------------------------------- */

static void extractor_release(struct extractor *extractor)
{
	while (extractor->larges) {
		extractor->larges->error = -ECANCELED;
		end_large(extractor, extractor->larges);
	}
	for (unsigned i = 0; extractor->workers && i < extractor->params->jobs; i++)
		dirstack_free(extractor->workers[i]);
	free(extractor->workers);
	for (unsigned i = 0; i < EXTRACT_LOCKS; i++)
		pthread_mutex_destroy(&extractor->creating[i]);
	dirstack_free(extractor->directories);
	dirstack_free(extractor->first_names);
	free(extractor->lost);
	free(extractor->found);
	free(extractor->listed);
	free(extractor->spelled);
	free(extractor->made);
	buf_release(&extractor->files);
	buf_release(&extractor->links);
}

/* Tried out, since a filesystem may have such files and give them no name. */
static bool has_unnamed_files(int folder)
{
	SCOPE_CLOSE int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char name[64];
	uint64_t random;

	if (fd < 0 || getrandom(&random, sizeof(random), 0) < 0)
		return false;
	snprintf(name, sizeof(name), ".foldpack-%016" PRIx64, random);
	return io_link(fd, folder, name) == 0 && unlinkat(folder, name, 0) == 0;
}

static int extractor_prepare(struct extractor *extractor)
{
	const struct dirstack_tree tree = {
		.parent = pack_parent, .name = extract_name, .context = extractor->dataset};
	uint32_t entries = dataset_entries(extractor->dataset);
	int root = extractor->params->root, r;

	for (unsigned i = 0; i < EXTRACT_LOCKS; i++)
		pthread_mutex_init(&extractor->creating[i], NULL);
	extractor->workers = calloc(extractor->params->jobs, sizeof(*extractor->workers));
	extractor->lost = calloc(1, entries / 8 + 1);
	extractor->found = calloc(1, entries / 8 + 1);
	extractor->listed = calloc(1, entries / 8 + 1);
	extractor->spelled = calloc(1, entries / 8 + 1);
	if (!extractor->workers || !extractor->lost || !extractor->found || !extractor->listed ||
	    !extractor->spelled)
		return -ENOMEM;
	if (!extractor->params->finish_root)
		bit_set(extractor->found, DATASET_ROOT);
	extractor->unnamed = has_unnamed_files(root);
	if (dataset_info(extractor->dataset)->super->hardlinks > 0) {
		extractor->made = malloc(entries * sizeof(*extractor->made));
		if (!extractor->made)
			return -ENOMEM;
		memset(extractor->made, 0xff, entries * sizeof(*extractor->made));
	}
	r = dirstack_new(&tree, root, &extractor->directories);
	if (r == 0)
		r = dirstack_new(&tree, root, &extractor->first_names);
	for (unsigned i = 0; r == 0 && i < extractor->params->jobs; i++)
		r = dirstack_new(&tree, root, &extractor->workers[i]);
	return r;
}

/* --- directories and links ------------------------------------------------------------------ */

/* Makes what has no bytes. The own mode of a directory comes last, since it may be read-only. */
static int make_entry(struct extractor *extractor, uint32_t number)
{
	const struct dataset_entry entry = dataset_entry(extractor->dataset, number);
	char name[FORMAT_NAME_MAX + 1];
	SCOPE_FREE char *target = NULL;
	struct dataset_attr attr;
	const char *bytes;
	struct stat st;
	size_t len;
	int directory, r;

	extract_name(extractor->dataset, number, name);
	r = dirstack_enter(extractor->directories, entry.parent, &directory);
	if (r == 0)
		r = dataset_attr(extractor->dataset, number, &attr);
	if (r < 0)
		return r;
	if (entry.kind == FORMAT_DIRECTORY) {
		if (mkdirat(directory, name, (attr.mode & 0777) | 0700) == 0)
			return 0;
		if (errno != EEXIST || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		bit_set(extractor->found, number);
		if (!S_ISDIR(st.st_mode))
			return -EEXIST;
		r = who_is_there(extractor, number);
		return r == -EEXIST ? 0 : r;
	}
	bytes = dataset_target(extractor->dataset, number, &len);
	target = strndup(bytes, len);
	if (!target)
		return -ENOMEM;
	if (symlinkat(target, directory, name) < 0)
		return -errno;
	if (utimensat(directory, name, (struct timespec[2]){attr.mtime, attr.mtime},
		      AT_SYMLINK_NOFOLLOW) < 0)
		count_refused(extractor, REFUSED_TIME, -errno);
	return 0;
}

/* --- the tree --------------------------------------------------------------------------- */

/* Makes folders and symbolic links. The first name of a file that is found becomes the file, the
 * others become links to it, whichever names were asked for. */
static int make_or_plan(struct extractor *extractor, uint32_t number)
{
	const struct dataset_entry entry = dataset_entry(extractor->dataset, number);
	int r;

	if (bit_get(extractor->lost, entry.parent)) {
		bit_set(extractor->lost, number);
		return 0;
	}
	if (entry.kind != FORMAT_DIRECTORY && entry.kind != FORMAT_SYMLINK) {
		if (extractor->made && extractor->made[entry.inode] != NOT_MADE)
			return buf_add(&extractor->links, &number, sizeof(number));
		if (extractor->made)
			extractor->made[entry.inode] = number;
		return buf_add(&extractor->files, &number, sizeof(number));
	}
	r = make_entry(extractor, number);
	if (r < 0 && entry.kind == FORMAT_DIRECTORY)
		bit_set(extractor->lost, number);
	return report_failure(extractor, number, r);
}

/* If the first name of a file could not be made, or cannot have another, this one takes its place.
 */
static int make_link(struct extractor *extractor, uint32_t number)
{
	const struct dataset_entry entry = dataset_entry(extractor->dataset, number);
	uint32_t *made = &extractor->made[entry.inode];
	char first[FORMAT_NAME_MAX + 1], name[FORMAT_NAME_MAX + 1];
	int from, to, r = 0;

	if (*made != NOT_MADE) {
		extract_name(extractor->dataset, *made, first);
		extract_name(extractor->dataset, number, name);
		r = dirstack_enter(extractor->first_names, pack_parent(extractor->dataset, *made),
				   &from);
		if (r == 0)
			r = dirstack_enter(extractor->directories, entry.parent, &to);
		if (r == 0 && linkat(from, first, to, name, 0) < 0)
			r = -errno;
	}
	if (*made != NOT_MADE && !io_is_refused(r) && r != -EMLINK && r != -EXDEV)
		return report_failure(extractor, number, r);
	if (r < 0)
		count_refused(extractor, REFUSED_LINK, r);
	*made = number;
	return extract_files(extractor, &number, 1, 1);
}

/* Goes backwards: directories below have larger numbers. They come first, since a mode may forbid
 * entering. */
static int finish_directories(struct extractor *extractor)
{
	struct dataset *dataset = extractor->dataset;
	uint32_t least = extractor->params->finish_root ? 0 : 1;
	int r = 0;

	for (uint32_t number = dataset_entries(dataset); r == 0 && number-- > least;) {
		struct dataset_attr attr;
		int fd;

		if (dataset_child(dataset, number).kind != FORMAT_DIRECTORY ||
		    bit_get(extractor->lost, number) ||
		    subtree_mark(extractor->params->subtree, number) == SUBTREE_OUTSIDE)
			continue;
		r = dataset_attr(dataset, number, &attr);
		if (r == 0)
			r = dirstack_enter(extractor->directories, number, &fd);
		if (r == 0)
			r = set_attributes_of_folder(extractor, fd,
						     bit_get(extractor->found, number), &attr);
		r = report_failure(extractor, number, r);
	}
	return r;
}

int extract_tree(const struct extract_params *params)
{
	SCOPE(extractor_release)
	struct extractor extractor = {
		.params = params, .dataset = params->dataset, .umask = io_umask()};
	int r = extractor_prepare(&extractor);

	for (uint32_t number = 1; r == 0 && number < dataset_entries(params->dataset); number++) {
		if (subtree_mark(params->subtree, number) == SUBTREE_OUTSIDE)
			continue;
		r = make_or_plan(&extractor, number);
		if (r == 0)
			r = extract_count(&extractor, 0, 0);
	}
	if (r == 0)
		r = extract_files(&extractor, BUF_ITEMS(&extractor.files, uint32_t),
				  BUF_COUNT(&extractor.files, uint32_t), params->jobs);
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&extractor.links, uint32_t); i++) {
		r = make_link(&extractor, BUF_ITEMS(&extractor.links, uint32_t)[i]);
		if (r == 0)
			r = extract_count(&extractor, 0, 0);
	}
	return r < 0 ? r : finish_directories(&extractor);
}
