/* Whether a pack that is finished is the one that --resume was to make: its options are those that
 * were given, and it has what a look at the source finds. */
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include "pack/tool/work/interrupt.h"
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define READ_FILES 32 /* whose checksums are not known, evenly spread */

struct finished {
	struct create *create;
	struct dataset *pack;
	bool *seen;  /* entries of the pack that the source has */
	bool unread; /* some of the source could not be read */
	uint64_t step, files;
	struct buf path; /* of what differs */
};

static void finished_release(struct finished *finished)
{
	free(finished->seen);
	buf_release(&finished->path);
}

/* What was left out was told by the run that made the pack. */
static int pass_bad(void *context, const char *path, const char *reason)
{
	struct finished *finished = context;

	(void)path;
	(void)reason;
	finished->unread = true;
	return 0;
}

static void pass_special(void *context, const char *path, const char *what)
{
	(void)context;
	(void)path;
	(void)what;
}

static int pass_tick(void *context, uint64_t entries)
{
	(void)context;
	(void)entries;
	return interrupt_pending() ? -EINTR : 0;
}

/* --- a file ----------------------------------------------------------------------------------- */

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

/* Of a folder, size and time say it. What cannot be read proves nothing. */
static int has_same_bytes(struct finished *finished, uint32_t number, bool read)
{
	struct dataset *source = finished->create->source.dataset;
	uint64_t extents = format_extents(dataset_entry(finished->pack, number).size), a, b;
	uint32_t there;
	int r = 0;

	if (!source || dataset_find(source, finished->path.data, finished->path.len, &there) < 0)
		return 1;
	for (uint64_t i = 0; r == 0 && i < extents; i++) {
		r = dataset_checksum(finished->pack,
				     dataset_first_extent(finished->pack, number) + i, &a);
		if (r == 0)
			r = sum_of_source(source, dataset_first_extent(source, there) + i, read,
					  &b);
		if (r == 0 && a != b)
			return 0;
	}
	return r == -ENOMEM ? r : 1;
}

/* Whether the pack has an entry of the source: 1, 0 or -errno. If images were changed, their sizes
 * and bytes say nothing. */
static int is_in_pack(struct finished *finished, const struct builder *found, uint32_t id)
{
	struct dataset *pack = finished->pack;
	const struct pack_entry entry = builder_entry(found, builder_file(found, id));
	struct dataset_entry packed;
	struct dataset_attr attr;
	uint32_t number;
	int r = builder_path(found, id, &finished->path);

	if (r < 0)
		return r;
	if (dataset_find(pack, finished->path.data, finished->path.len, &number) < 0)
		return dataset_info(pack)->super->left_out > 0;
	finished->seen[number] = true;
	packed = dataset_entry(pack, number);
	if (entry.kind != FORMAT_FILE)
		return packed.kind == entry.kind;
	if (!format_is_file(packed.kind) && packed.kind != FORMAT_HARDLINK)
		return 0;
	r = dataset_attr(pack, number, &attr);
	if (r < 0 || entry.mtime.tv_sec != attr.mtime.tv_sec ||
	    entry.mtime.tv_nsec != attr.mtime.tv_nsec)
		return r;
	if (finished->create->options.transforms)
		return 1;
	return entry.size == packed.size
		       ? has_same_bytes(finished, number, finished->files++ % finished->step == 0)
		       : 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Whether the source has all that the pack has, where that can be told. Folders may be those of
 * labels without an image. */
static int has_no_more(struct finished *finished)
{
	for (uint32_t number = 1; !finished->unread && number < dataset_entries(finished->pack);
	     number++) {
		bool folder = dataset_child(finished->pack, number).kind == FORMAT_DIRECTORY;

		if (finished->seen[number] || (folder && finished->create->source.dataset))
			continue;
		finished->path.len = 0;
		return dataset_path(finished->pack, number, &finished->path);
	}
	return 1;
}

/* An exit status. */
static int check_same_source(struct create *create, struct dataset *pack)
{
	SCOPE(finished_release)
	struct finished finished = {.create = create,
				    .pack = pack,
				    .seen = calloc(dataset_entries(pack), sizeof(bool)),
				    .step = dataset_info(pack)->super->files / READ_FILES + 1};
	int r = finished.seen ? builder_new_entries(&create->builder) : -ENOMEM;

	create->watch = (struct scan_watch){
		.bad = pass_bad, .special = pass_special, .tick = pass_tick, .context = &finished};
	if (r == 0)
		r = create_import(create);
	r = r < 0 ? r : 1;
	for (uint32_t id = 1; r == 1 && id < builder_entries(create->builder); id++)
		r = is_in_pack(&finished, create->builder, id);
	if (r == 1)
		r = has_no_more(&finished);
	if (r == 1)
		return EXIT_DONE;
	if (r == -EINTR && interrupt_pending())
		return interrupt_die();
	if (r < 0)
		return r == CREATE_REPORTED ? EXIT_FAILED
					    : cmd_status(create->report.source, r, NULL);
	return log_fail(
		EXIT_FAILED,
		"%s: finished already, but not of %s as it is now: '%s' differs; --force without "
		"--resume replaces it",
		create->report.pack, create->report.source, finished.path.data);
}

/* An exit status. */
static int check_same_options(const struct create *create, const struct dataset_info *info)
{
	SCOPE(buf_release) struct buf options = BUF_INIT;

	if (create_options_text(&create->options, create->source.dataset, &options) < 0)
		return EXIT_FAILED;
	if (info->options_len == strlen(options.data) &&
	    memcmp(info->options, options.data, info->options_len) == 0)
		return EXIT_DONE;
	return log_fail(
		EXIT_FAILED,
		"%s: finished already, but made with other options, which 'foldpack info' shows%s; "
		"--force without --resume replaces it",
		create->report.pack,
		create_is_cut(&create->options) ? ", or of the folder in another state" : "");
}

int create_log_finished(struct create *create)
{
	SCOPE(cmd_close) struct dataset *pack = NULL;
	struct builder_summary summary = {0};
	const struct dataset_info *info;
	struct err err = {0};
	int r = dataset_open(create->report.pack, &pack, &err);

	if (r < 0)
		return cmd_status(create->report.pack, r, &err);
	info = dataset_info(pack);
	r = check_same_options(create, info);
	if (r == EXIT_DONE)
		r = cmd_load(create->report.pack, pack, DATASET_ATTRS | DATASET_CHECKSUMS);
	if (r == EXIT_DONE)
		r = check_same_source(create, pack);
	if (r != EXIT_DONE)
		return r;
	summary.files = info->super->files;
	summary.bytes = create->report.counts.bytes_in = info->super->bytes;
	summary.pack_bytes = info->pack_bytes;
	create->report.counts.skipped = info->super->left_out;
	memcpy(summary.id, info->id, sizeof(summary.id));
	r = dataset_content_id(pack, summary.content_id);
	if (r < 0)
		return cmd_status(create->report.pack, r, NULL);
	log_notice("%s: finished already; nothing to resume, id %s", create->report.pack,
		   summary.id);
	create_log_skipped(create);
	if (create->options.bad_list && access(create->options.bad_list, F_OK) < 0)
		log_notice(
			"%s: not written: only the run that made the pack knew the bad inputs; "
			"--force without --resume is another",
			create->options.bad_list);
	if (create->options.json && create_print_json(create, &summary, 0) < 0)
		return EXIT_FAILED;
	return exit_finish(EXIT_DONE);
}
