#include "pack/tool/read/compare.h"

#include "base/date.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/dirstack.h"
#include "pack/tool/import/scan.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/write/builder.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What a thread has of its own. */
struct compare_worker {
	struct dirstack *directories; /* of the folder */
	char *piece;		      /* FORMAT_EXTENT bytes */
};

struct compare {
	const struct compare_params *params;
	struct dataset *dataset;
	struct builder *scan; /* the entries of the folder */
	uint32_t entries;     /* of them */
	uint32_t *in_pack;    /* of each entry of the scan its counterpart, or COMPARE_NONE */
	uint32_t *in_scan;    /* the same of each entry of the dataset; or COMPARE_UNSEEN: has been
				 reported, or cannot be read */
	int error;	      /* of reporting a special file */
	struct compare_worker *workers;
	/* The long file that is known to differ: no more of it is read. */
	_Atomic uint32_t settled;
};

#define COMPARE_NONE   UINT32_MAX
#define COMPARE_UNSEEN (UINT32_MAX - 1)

static void compare_release(struct compare *compare)
{
	for (unsigned i = 0; compare->workers && i < compare->params->jobs; i++) {
		dirstack_free(compare->workers[i].directories);
		free(compare->workers[i].piece);
	}
	free(compare->workers);
	builder_free(compare->scan);
	free(compare->in_pack);
	free(compare->in_scan);
}

/* An entry of the folder; for a hard link, that of its file. */
static struct builder_entry compare_data(const struct compare *compare, uint32_t number)
{
	return builder_entry(compare->scan, builder_file(compare->scan, number));
}

enum format_kind compare_kind(unsigned kind)
{
	return kind == FORMAT_DIRECTORY || kind == FORMAT_SYMLINK ? (enum format_kind)kind
								  : FORMAT_FILE;
}

const char *compare_kind_text(enum format_kind kind)
{
	switch (kind) {
	case FORMAT_DIRECTORY:
		return "a directory";
	case FORMAT_SYMLINK:
		return "a symbolic link";
	default:
		return "a regular file";
	}
}

/* --- reporting -------------------------------------------------------------------------- */

static int report_finding(const struct compare *compare, const char *path,
			  struct compare_finding finding)
{
	finding.path = path;
	finding.len = strlen(path);
	return compare->params->found(compare->params->context, &finding);
}

static int report_packed(const struct compare *compare, uint32_t entry,
			 struct compare_finding finding)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = dataset_path(compare->dataset, entry, &path);

	return r < 0 ? r : report_finding(compare, path.data, finding);
}

static int report_scanned(const struct compare *compare, uint32_t number,
			  struct compare_finding finding)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(compare->scan, number, &path);

	return r < 0 ? r : report_finding(compare, path.data, finding);
}

#define FINDING(what, ...) ((struct compare_finding){.difference = (what), ##__VA_ARGS__})

/* --- the folder ------------------------------------------------------------------------- */

/* Marks what the pack has at a path, so that it is not reported as missing in the folder. */
static bool mark_unseen(struct compare *compare, const char *path, uint32_t *ret)
{
	if (dataset_find(compare->dataset, path, strlen(path), ret) < 0)
		return false;
	compare->in_scan[*ret] = COMPARE_UNSEEN;
	return true;
}

static int compare_unreadable(void *context, const char *path, const char *reason)
{
	struct compare *compare = context;
	uint32_t entry;

	mark_unseen(compare, path, &entry);
	return report_finding(compare, path, FINDING(COMPARE_UNREADABLE, .reason = reason));
}

/* Reports a named pipe or the like, which no pack can hold. */
static void compare_special(void *context, const char *path, const char *what)
{
	struct compare *compare = context;
	struct compare_finding finding = FINDING(COMPARE_ONLY_IN_FOLDER, .folder = what);
	struct dataset_child child;
	uint32_t entry;

	if (mark_unseen(compare, path, &entry)) {
		child = dataset_child(compare->dataset, entry);
		finding.difference = COMPARE_KIND;
		finding.pack = compare_kind_text(compare_kind(child.kind));
	}
	if (compare->error == 0)
		compare->error = report_finding(compare, path, finding);
}

static int compare_tick(void *context, uint64_t entries)
{
	const struct compare *compare = context;

	progress_add(compare->params->progress, entries - compare->params->progress->files, 0);
	return 0;
}

static int compare_scan(struct compare *compare)
{
	const struct import_watch watch = {.bad = compare_unreadable,
					   .special = compare_special,
					   .tick = compare_tick,
					   .context = compare};
	struct scan_params params = {.root = compare->params->root,
				     .jobs = compare->params->jobs,
				     .patience_ns = SCAN_PATIENCE_NS,
				     .watch = &watch};
	struct scan_counts counts;
	int r = builder_new_entries(&compare->scan);

	params.builder = compare->scan;
	if (r == 0)
		r = scan_add(&params, &counts, NULL);
	if (r)
		return r;
	compare->entries = (uint32_t)counts.entries;
	return compare->error;
}

/* --- counterparts -------------------------------------------------------------------------- */

static uint32_t *new_column(uint32_t rows)
{
	uint32_t *column = malloc(rows * sizeof(*column));

	if (column)
		memset(column, 0xff, rows * sizeof(*column)); /* COMPARE_NONE */
	return column;
}

/* A directory comes before what is in it, on both sides. */
static int pair_entries(struct compare *compare)
{
	uint32_t *in_pack = new_column(compare->entries);
	char name[FORMAT_NAME_MAX + 1];

	compare->in_pack = in_pack;
	if (!in_pack)
		return -ENOMEM;
	in_pack[BUILDER_ROOT] = DATASET_ROOT;
	if (compare->in_scan[DATASET_ROOT] == COMPARE_NONE)
		compare->in_scan[DATASET_ROOT] = BUILDER_ROOT;
	for (uint32_t number = 1; number < compare->entries; number++) {
		uint32_t parent = in_pack[builder_parent(compare->scan, number)], found;

		builder_name(compare->scan, number, name);
		if (parent == COMPARE_NONE ||
		    dataset_lookup(compare->dataset, parent, name, strlen(name), &found) < 0)
			continue;
		in_pack[number] = found;
		if (compare->in_scan[found] == COMPARE_NONE)
			compare->in_scan[found] = number;
	}
	return 0;
}

/* --- the trees -------------------------------------------------------------------------- */

static int compare_attributes(struct compare *compare, uint32_t number, uint32_t entry)
{
	const struct builder_entry data = compare_data(compare, number);
	char folder[16], pack[16];
	struct dataset_attr attr;
	int r = dataset_attr(compare->dataset, entry, &attr);

	if (r == 0 && data.mode != attr.mode) {
		snprintf(folder, sizeof(folder), "%04o", data.mode);
		snprintf(pack, sizeof(pack), "%04o", attr.mode);
		r = report_scanned(compare, number,
				   FINDING(COMPARE_MODE, .folder = folder, .pack = pack));
	}
	if (r == 0 && date_of(attr.mtime) != date_of(data.mtime))
		r = report_scanned(compare, number, FINDING(COMPARE_TIME));
	return r;
}

static bool same_packed_target(const struct compare *compare, uint32_t number, uint32_t entry)
{
	size_t len;
	const char *target = dataset_target(compare->dataset, entry, &len);
	const struct builder_entry data = compare_data(compare, number);

	return len == data.target_len && memcmp(target, data.target, len) == 0;
}

/* Compares two entries with the same path. The bytes of files come later, unless the sizes differ.
 */
static int compare_pair(struct compare *compare, uint32_t number, uint32_t entry)
{
	enum format_kind kind = compare_kind(builder_kind(compare->scan, number));
	const struct dataset_entry packed = dataset_entry(compare->dataset, entry);
	int r = 0;

	if (kind != compare_kind(packed.kind))
		return report_scanned(
			compare, number,
			FINDING(COMPARE_KIND, .folder = compare_kind_text(kind),
				.pack = compare_kind_text(compare_kind(packed.kind))));
	if (kind == FORMAT_SYMLINK)
		return same_packed_target(compare, number, entry)
			       ? 0
			       : report_scanned(compare, number, FINDING(COMPARE_TARGET));
	if (kind == FORMAT_FILE && compare_data(compare, number).size != packed.size)
		r = report_scanned(compare, number, FINDING(COMPARE_BYTES));
	return r == 0 && compare->params->attributes ? compare_attributes(compare, number, entry)
						     : r;
}

/* Reports what only the pack has in a directory that both have. */
static int report_missing(struct compare *compare, uint32_t directory)
{
	const struct dataset_entry entry = dataset_entry(compare->dataset, directory);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < entry.children; i++)
		if (compare->in_scan[entry.first_child + i] == COMPARE_NONE)
			r = report_packed(compare, entry.first_child + i,
					  FINDING(COMPARE_ONLY_IN_PACK));
	return r;
}

static int compare_entry(struct compare *compare, uint32_t number)
{
	uint32_t parent = builder_parent(compare->scan, number);
	uint32_t found = compare->in_pack[number], above = compare->in_pack[parent];
	int r;

	if (found == COMPARE_NONE && above == COMPARE_NONE)
		return 0;
	if (found == COMPARE_NONE) {
		return dataset_child(compare->dataset, above).kind == FORMAT_DIRECTORY
			       ? report_scanned(compare, number, FINDING(COMPARE_ONLY_IN_FOLDER))
			       : 0;
	}
	r = compare_pair(compare, number, found);
	if (r == 0 && builder_kind(compare->scan, number) == FORMAT_DIRECTORY &&
	    compare->in_scan[found] == number)
		r = report_missing(compare, found);
	return r;
}

/* --- the bytes: those of the dataset by batches, in its order, those of the folder by file --- */

/* What became of a file, or of a piece of a long one. */
struct verdict {
	enum compare_difference difference; /* SAME, BYTES, UNREADABLE or DAMAGED */
	int error;
};

static int new_workers(struct compare *compare)
{
	const struct dirstack_tree tree = dirstack_tree_of(compare->scan, false);
	int r = 0;

	compare->workers = calloc(compare->params->jobs, sizeof(*compare->workers));
	if (!compare->workers)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < compare->params->jobs; i++) {
		struct compare_worker *worker = &compare->workers[i];

		worker->piece = malloc(FORMAT_EXTENT);
		r = worker->piece ? dirstack_new(&tree, compare->params->root, &worker->directories)
				  : -ENOMEM;
	}
	return r;
}

/* --- in any thread ---------------------------------------------------------------------- */

/* O_NONBLOCK: must not hang on a named pipe that has replaced the file. */
static int open_compared(const struct compare *compare, struct dirstack *directories,
			 uint32_t number, int *ret_fd)
{
	char name[FORMAT_NAME_MAX + 1];
	SCOPE_CLOSE int fd = -1;
	struct stat st;
	int directory, r;

	r = dirstack_enter(directories, builder_parent(compare->scan, number), &directory);
	if (r < 0)
		return r;
	builder_name(compare->scan, number, name);
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno == ELOOP ? -ESTALE : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != compare_data(compare, number).size)
		return -ESTALE;
	r = io_check_end(fd, (uint64_t)st.st_size);
	if (r == 0)
		*ret_fd = steal_fd(&fd);
	return r;
}

/* The checksum matters only if the bytes differ: then it tells whether the pack is damaged. */
static struct verdict compare_extent(struct batch_reader *reader, uint64_t number, int fd,
				     char *piece)
{
	struct dataset_extent extent;
	struct iovec iov;
	char *data;
	int r = batch_reader_extent(reader, number, &extent, &data);

	if (r < 0)
		return (struct verdict){COMPARE_DAMAGED, r};
	r = io_pread_full(fd, piece, extent.size, extent.from);
	if (r < 0)
		return (struct verdict){COMPARE_UNREADABLE, r == -ENODATA ? -ESTALE : r};
	if (memcmp(piece, data, extent.size) == 0)
		return (struct verdict){COMPARE_SAME, 0};
	iov = (struct iovec){.iov_base = data, .iov_len = extent.size};
	r = dataset_check(reader->dataset, number, &iov, 1);
	return r < 0 ? (struct verdict){COMPARE_DAMAGED, r} : (struct verdict){COMPARE_BYTES, 0};
}

static struct verdict compare_file(const struct compare *compare,
				   const struct compare_worker *worker, const struct batch *batch,
				   uint32_t i, struct batch_reader *reader)
{
	struct batch_extents extents = batch_extents(reader->dataset, batch, i);
	struct verdict verdict = {COMPARE_SAME, 0};
	SCOPE_CLOSE int fd = -1;
	int r = open_compared(compare, worker->directories, compare->in_scan[batch->files[i]], &fd);

	if (r < 0)
		return (struct verdict){COMPARE_UNREADABLE, r};
	for (uint64_t k = 0; verdict.difference == COMPARE_SAME && k < extents.count; k++)
		verdict = compare_extent(reader, extents.first + k, fd, worker->piece);
	return verdict;
}

static void compare_batch(void *context, unsigned worker, const struct batch *batch,
			  struct batch_reader *reader, void *pointer)
{
	struct compare *compare = context;
	struct verdict *verdicts = pointer;

	if (batch->piece && atomic_load(&compare->settled) == *batch->files)
		return;
	batch_reader_read(reader, batch);
	for (uint32_t i = 0; i < batch->count; i++)
		verdicts[i] = compare_file(compare, &compare->workers[worker], batch, i, reader);
}

/* --- in the caller's thread ----------------------------------------------------------------- */

static const char *failure_text(const struct verdict *verdict)
{
	if (verdict->difference == COMPARE_DAMAGED && verdict->error == -EBADMSG)
		return "damaged in the pack: checksum mismatch";
	if (verdict->difference == COMPARE_UNREADABLE && verdict->error == -ESTALE)
		return "changed while it was being compared";
	if (verdict->difference == COMPARE_UNREADABLE && verdict->error == -EOVERFLOW)
		return IO_HAS_MORE;
	return strerror(-verdict->error);
}

/* Pieces of a file come one after the other. Only the first one that differs is reported. */
static int compare_file_done(struct compare *compare, uint32_t entry, const struct verdict *verdict)
{
	if (verdict->difference == COMPARE_SAME || atomic_load(&compare->settled) == entry)
		return 0;
	if (verdict->error == -ENOMEM)
		return -ENOMEM;
	atomic_store(&compare->settled, entry);
	return report_packed(compare, entry,
			     FINDING(verdict->difference, .error = verdict->error,
				     .reason = failure_text(verdict)));
}

static int compare_batch_done(void *context, const struct batch *batch, void *pointer)
{
	struct compare *compare = context;
	const struct verdict *verdicts = pointer;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < batch->count; i++)
		r = compare_file_done(compare, batch->files[i], &verdicts[i]);
	progress_add(compare->params->progress, batch->last ? batch->count : 0, batch->bytes);
	return r;
}

/* Whether the bytes of a file must be compared. */
static bool is_undecided(const struct compare *compare, uint32_t entry, uint64_t *ret_size)
{
	uint32_t number = compare->in_scan[entry];
	struct dataset_entry packed;

	if (number == COMPARE_NONE || number == COMPARE_UNSEEN ||
	    compare_kind(builder_kind(compare->scan, number)) != FORMAT_FILE)
		return false;
	packed = dataset_entry(compare->dataset, entry);
	if (compare_kind(packed.kind) != FORMAT_FILE ||
	    compare_data(compare, number).size != packed.size)
		return false;
	*ret_size = packed.size;
	return true;
}

/* Files whose bytes are to be compared. */
static int list_open(const struct compare *compare, struct buf *files, uint64_t *ret_bytes)
{
	uint64_t size, bytes = 0;
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < dataset_entries(compare->dataset); e++) {
		if (!is_undecided(compare, e, &size))
			continue;
		bytes += size;
		r = buf_add(files, &e, sizeof(e));
	}
	*ret_bytes = bytes;
	return r;
}

static int compare_bytes(struct compare *compare)
{
	SCOPE(buf_release) struct buf files = BUF_INIT;
	struct batch_scan_params params = {.dataset = compare->dataset,
					   .jobs = compare->params->jobs,
					   .note_size = BATCH_FILES * sizeof(struct verdict),
					   .work = compare_batch,
					   .done = compare_batch_done,
					   .context = compare};
	uint64_t bytes;
	int r = list_open(compare, &files, &bytes);

	params.files = BUF_ITEMS(&files, uint32_t);
	params.count = BUF_COUNT(&files, uint32_t);
	progress_again(compare->params->progress, "comparing", params.count, bytes);
	if (r < 0 || params.count == 0)
		return r;
	r = new_workers(compare);
	return r < 0 ? r : batch_scan(&params);
}

int compare(const struct compare_params *params)
{
	SCOPE(compare_release)
	struct compare compare = {
		.params = params, .dataset = params->dataset, .settled = COMPARE_NONE};
	int r;

	compare.in_scan = new_column(dataset_entries(params->dataset));
	r = compare.in_scan ? compare_scan(&compare) : -ENOMEM;
	if (r == 0)
		r = pair_entries(&compare);
	for (uint32_t number = 0; r == 0 && number < compare.entries; number++)
		r = compare_entry(&compare, number);
	return r < 0 ? r : compare_bytes(&compare);
}
