/* Whether a pack that is finished is the one that --resume was to make. */
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define LOOKED_FOR 1000 /* files of a folder, and folders, evenly spread */
#define READ_FILES 32	/* of anything else whose checksums are not known */

/* Each looks whether something of the pack is as the source has it: 1, 0 (then `path` is that of
 * what differs), or -errno. */
struct finished {
	const struct create *create;
	struct dataset *pack;
	struct buf path;
};

static void finished_release(struct finished *finished)
{
	buf_release(&finished->path);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static int set_path(struct finished *finished, struct dataset *dataset, uint32_t number)
{
	finished->path.len = 0;
	return dataset_path(dataset, number, &finished->path);
}

/* --- a folder --------------------------------------------------------------------------------- */

/* Whether a name in a folder, of which the pack knows nothing, would have been packed. */
static bool would_be_packed(struct finished *finished, const struct dirent *found)
{
	const struct create_options *options = &finished->create->options;
	bool folder = found->d_type == DT_DIR;

	/* Nothing below it may be wanted. */
	if (folder || found->d_type == DT_UNKNOWN || found->d_type == DT_LNK)
		if (options->filter.include.count)
			return false;
	return filter_wants(&options->filter, finished->path.data, folder);
}

static int has_nothing_new(struct finished *finished, uint32_t number)
{
	SCOPE_DIR DIR *folder = NULL;
	struct dirent *found;
	size_t len = finished->path.len;
	uint32_t at;
	int fd = openat(finished->create->root, len ? finished->path.data : ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		scope_close(&fd);
		return 1;
	}
	while ((found = readdir(folder))) {
		const char *name = found->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    dataset_lookup(finished->pack, number, name, strlen(name), &at) == 0)
			continue;
		finished->path.len = len;
		if (buf_addf(&finished->path, "%s%s", len ? "/" : "", name) < 0)
			return -ENOMEM;
		if (would_be_packed(finished, found))
			return 0;
	}
	return 1;
}

/* A folder in which a name came or went has another time. Where inputs were left out, other names
 * say nothing. */
static int is_folder_in_source(struct finished *finished, uint32_t number, const struct stat *st,
			       const struct dataset_attr *attr)
{
	if (!S_ISDIR(st->st_mode))
		return 0;
	if (same_time(st->st_mtim, attr->mtime) || dataset_info(finished->pack)->super->left_out)
		return 1;
	return has_nothing_new(finished, number);
}

/* If images were changed, the size says nothing. */
static int is_in_folder(struct finished *finished, uint32_t number)
{
	const struct dataset_entry entry = dataset_entry(finished->pack, number);
	struct dataset_attr attr;
	struct stat st;
	int r = dataset_attr(finished->pack, number, &attr);

	if (r == 0)
		r = set_path(finished, finished->pack, number);
	if (r < 0)
		return r;
	/* What cannot be read proves nothing. */
	if (fstatat(finished->create->root, finished->path.len ? finished->path.data : ".", &st,
		    0) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	if (entry.kind == FORMAT_DIRECTORY)
		return is_folder_in_source(finished, number, &st, &attr);
	return S_ISREG(st.st_mode) && same_time(st.st_mtim, attr.mtime) &&
	       (finished->create->transforms || (uint64_t)st.st_size == entry.size);
}

/* Whether the pack has a file of a scan as that has it. */
static int is_as_scanned(struct finished *finished, const struct builder *scan, uint32_t id)
{
	const struct builder_entry entry = builder_entry(scan, id);
	struct dataset_attr attr;
	uint32_t at;
	int r = builder_path(scan, id, &finished->path);

	if (r < 0)
		return r;
	if (dataset_find(finished->pack, finished->path.data, finished->path.len, &at) < 0)
		return dataset_info(finished->pack)->super->left_out > 0;
	r = dataset_attr(finished->pack, at, &attr);
	if (r < 0 || !same_time(entry.mtime, attr.mtime))
		return r;
	return finished->create->transforms || entry.size == dataset_entry(finished->pack, at).size;
}

/* The scan that has cut the folder knows all of its files. */
static int compare_slice(struct finished *finished)
{
	const struct slice_run *slice = &finished->create->slice;
	uint64_t count;
	const struct builder *scan = slices_entries(slice->slices, &count);
	int r = 1;

	for (uint32_t id = 1; r == 1 && id < count; id++)
		if (slices_has_file(slice->slices, slice->number, id))
			r = is_as_scanned(finished, scan, id);
	return r;
}

static int compare_folder(struct finished *finished)
{
	const struct format_super *super = dataset_info(finished->pack)->super;
	uint64_t file_step = super->files / LOOKED_FOR + 1, files = 0;
	uint64_t folder_step = super->directories / LOOKED_FOR + 1, folders = 0;
	int r = 1;

	for (uint32_t number = 0; r == 1 && number < dataset_entries(finished->pack); number++) {
		enum format_kind kind = dataset_child(finished->pack, number).kind;

		if ((format_is_file(kind) && files++ % file_step == 0) ||
		    (kind == FORMAT_DIRECTORY && folders++ % folder_step == 0))
			r = is_in_folder(finished, number);
	}
	return r;
}

/* --- anything else ---------------------------------------------------------------------------- */

/* The checksum of an extent of the source: 0, -ENODATA (it has none, and is not to be read), or why
 * it cannot be told. */
static int sum_of_source(struct dataset *source, uint64_t extent, bool read, uint64_t *ret)
{
	const struct dataset_extent at = dataset_extent(source, extent);
	SCOPE_FREE char *bytes = NULL;
	ssize_t n;
	int r = dataset_checksum(source, extent, ret);

	if (r != -ENODATA || !read)
		return r;
	bytes = malloc(at.size);
	if (!bytes)
		return -ENOMEM;
	n = dataset_read(source, at.entry, bytes, at.size, at.from);
	if (n >= 0)
		*ret = XXH3_64bits(bytes, (size_t)n);
	return n < 0 ? (int)n : 0;
}

/* What cannot be read proves nothing. */
static int has_same_bytes(struct finished *finished, uint32_t here, uint32_t there, bool read)
{
	struct dataset *source = finished->create->dataset;
	uint64_t extents = format_extents(dataset_entry(source, there).size), a, b;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < extents; i++) {
		r = dataset_checksum(finished->pack, dataset_first_extent(finished->pack, here) + i,
				     &a);
		if (r == 0)
			r = sum_of_source(source, dataset_first_extent(source, there) + i, read,
					  &b);
		if (r == 0 && a != b)
			return 0;
	}
	return r == -ENOMEM ? r : 1;
}

static bool has_bytes(enum format_kind kind)
{
	return format_is_file(kind) || kind == FORMAT_HARDLINK;
}

static int is_in_dataset(struct finished *finished, uint32_t number, bool read)
{
	struct dataset *source = finished->create->dataset;
	struct dataset_attr here, there;
	uint32_t at;
	int r = set_path(finished, finished->pack, number);

	if (r < 0)
		return r;
	if (dataset_find(source, finished->path.data, finished->path.len, &at) < 0 ||
	    !has_bytes(dataset_entry(source, at).kind))
		return 0;
	r = dataset_attr(finished->pack, number, &here);
	if (r == 0)
		r = dataset_attr(source, at, &there);
	if (r < 0 || !same_time(here.mtime, there.mtime))
		return r;
	if (finished->create->transforms)
		return 1;
	return dataset_entry(source, at).size == dataset_entry(finished->pack, number).size
		       ? has_same_bytes(finished, number, at, read)
		       : 0;
}

/* Whether the pack has what the source has, but for what was left out. */
static int has_all(struct finished *finished)
{
	struct dataset *source = finished->create->dataset;
	uint32_t at;
	int r = dataset_info(finished->pack)->super->left_out ? 1 : 0;

	for (uint32_t number = 1; r == 0 && number < dataset_entries(source); number++) {
		if (dataset_child(source, number).kind == FORMAT_DIRECTORY)
			continue;
		r = set_path(finished, source, number);
		if (r == 0 &&
		    filter_wants_file(&finished->create->options.filter, finished->path.data) &&
		    dataset_find(finished->pack, finished->path.data, finished->path.len, &at) < 0)
			return 0;
	}
	return r < 0 ? r : 1;
}

static int compare_dataset(struct finished *finished)
{
	uint64_t step = dataset_info(finished->pack)->super->files / READ_FILES + 1, files = 0;
	int r = dataset_load(finished->create->dataset, DATASET_ATTRS | DATASET_CHECKSUMS, NULL);

	if (r < 0)
		return r;
	r = 1;
	for (uint32_t number = 1; r == 1 && number < dataset_entries(finished->pack); number++)
		if (has_bytes(dataset_child(finished->pack, number).kind))
			r = is_in_dataset(finished, number, files++ % step == 0);
	return r == 1 ? has_all(finished) : r;
}

/* --- both ------------------------------------------------------------------------------------- */

/* 0, CREATE_REPORTED or -errno. */
static int check_same_source(const struct create *create, struct dataset *pack)
{
	SCOPE(finished_release) struct finished finished = {.create = create, .pack = pack};
	int r = create->dataset	       ? compare_dataset(&finished)
		: create->slice.slices ? compare_slice(&finished)
				       : compare_folder(&finished);

	if (r != 0)
		return r < 0 ? r : 0;
	return log_fail(
		CREATE_REPORTED,
		"%s: finished already, but not of %s as it is now: '%s' differs; --force without "
		"--resume replaces it",
		create->pack, create->source, finished.path.data);
}

/* 0, CREATE_REPORTED or -ENOMEM. */
static int check_same_options(const struct create *create, const struct dataset_info *info)
{
	SCOPE(buf_release) struct buf options = BUF_INIT;

	if (create_options_text(create, &options) < 0)
		return -ENOMEM;
	if (info->options_len == strlen(options.data) &&
	    memcmp(info->options, options.data, info->options_len) == 0)
		return 0;
	return log_fail(
		CREATE_REPORTED,
		"%s: finished already, but made with other options, which 'foldpack info' shows%s; "
		"--force without --resume replaces it",
		create->pack, create_is_cut(create) ? ", or of the folder in another state" : "");
}

static int check_same(const struct create *create, struct dataset *pack)
{
	int r = check_same_options(create, dataset_info(pack));

	if (r < 0)
		return EXIT_FAILED;
	r = cmd_load(create->pack, pack, DATASET_ATTRS | DATASET_CHECKSUMS);
	if (r != EXIT_DONE)
		return r;
	r = check_same_source(create, pack);
	return r < 0 && r != CREATE_REPORTED ? cmd_status(create->source, r, NULL)
					     : (int)exit_status_of(r);
}

int create_say_finished(struct create *create)
{
	SCOPE(cmd_close) struct dataset *pack = NULL;
	struct builder_summary summary = {0};
	const struct dataset_info *info;
	struct err err = {0};
	int r = dataset_open(create->pack, &pack, &err);

	if (r < 0)
		return cmd_status(create->pack, r, &err);
	r = check_same(create, pack);
	if (r != EXIT_DONE)
		return r;
	info = dataset_info(pack);
	summary.files = info->super->files;
	summary.bytes = create->counts.bytes_in = info->super->bytes;
	summary.pack_bytes = info->pack_bytes;
	create->counts.skipped = info->super->left_out;
	memcpy(summary.id, info->id, sizeof(summary.id));
	r = dataset_content_id(pack, summary.content_id);
	if (r < 0)
		return cmd_status(create->pack, r, NULL);
	log_notice("%s: finished already; nothing to resume, id %s", create->pack, summary.id);
	create_say_skipped(create);
	if (create->options.json && create_print_json(create, &summary, 0) < 0)
		return EXIT_FAILED;
	return exit_finish(EXIT_DONE);
}
