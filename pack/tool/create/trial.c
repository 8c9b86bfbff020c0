#include "pack/tool/create/trial.h"

#include "base/scope.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/cli/pipeline.h"
#include "pack/tool/create/create.h"
#include "pack/tool/create/mounting.h"
#include "pack/tool/import/import_dir.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SEED   1 /* of the order of reading: any */
#define INSIDE 256
#define PIECE  ((size_t)1 << 20)

struct trial {
	const struct trial_params *params;
	struct trial_result *result;
	int root; /* the source, open */
	struct filter filter;
	char **paths; /* of the sample's files, shuffled, NULL-ended */
	char *folder, *pack, *point;
};

/* Of one that was interrupted there are two files that it could be gone on with by. */
static void remove_pack(const char *pack)
{
	static const char *const suffixes[] = {"", ".partial", ".partial.journal"};
	SCOPE(buf_release) struct buf path = BUF_INIT;

	for (size_t i = 0; i < 3; i++) {
		path.len = 0;
		if (buf_addf(&path, "%s%s", pack, suffixes[i]) == 0)
			unlink(path.data);
	}
}

static void release(struct trial *trial)
{
	if (trial->pack)
		remove_pack(trial->pack);
	if (trial->point)
		rmdir(trial->point);
	if (trial->folder)
		rmdir(trial->folder);
	for (char **path = trial->paths; path && *path; path++)
		free(*path);
	free(trial->paths);
	free(trial->pack);
	free(trial->point);
	free(trial->folder);
	scope_close(&trial->root);
}

static int step(const struct trial *trial, const char *what)
{
	return trial->params->step(trial->params->context, what);
}

/* --- the sample --------------------------------------------------------------------------- */

static int pass_over(void *context, const char *path, int error)
{
	(void)context, (void)path, (void)error;
	return 0;
}

static void pass_over_special(void *context, const char *path, const char *what)
{
	(void)context, (void)path, (void)what;
}

static int on_tick(void *context, uint64_t entries)
{
	(void)context, (void)entries;
	return interrupt_pending() ? -EINTR : 0;
}

static bool is_wanted(void *context, const char *path, bool directory)
{
	return filter_wants(context, path, directory);
}

static int scan_sample(struct trial *trial, struct scan **ret)
{
	const struct scan_watch watch = {
		.unreadable = pass_over,
		.special = pass_over_special,
		.tick = on_tick,
		.wanted = filter_wants_all(&trial->filter) ? NULL : is_wanted,
		.context = &trial->filter,
	};
	const struct scan_params params = {
		.root = trial->root, .jobs = trial->params->jobs, .patience_ns = SCAN_PATIENCE_NS};

	return scan_new(&params, &watch, ret);
}

static int take_path(const struct scan *scan, uint32_t entry, char **ret)
{
	struct buf path = BUF_INIT;
	int r = scan_path(scan, entry, &path);

	if (r == 0)
		*ret = path.data;
	return r;
}

static int list_paths(struct trial *trial, const struct scan *scan)
{
	const struct order order = {.kind = ORDER_SHUFFLE, .seed = SEED};
	SCOPE_FREE uint32_t *entries = NULL;
	int r = order_files(&order, NULL, scan, &entries, NULL);

	if (r < 0)
		return r;
	trial->paths = calloc(scan_files(scan) + 1, sizeof(*trial->paths));
	if (!trial->paths)
		return -ENOMEM;
	for (uint64_t i = 0; r == 0 && i < scan_files(scan); i++)
		r = take_path(scan, entries[i], &trial->paths[i]);
	return r;
}

/* How many files there are for each of the sample. */
static uint32_t one_in(const struct trial *trial)
{
	uint64_t times = trial->result->bytes / trial->params->sample + 1;

	return (uint32_t)(times < trial->result->files ? times : trial->result->files);
}

/* One file in so many, chosen by their paths: of a few large ones that may be none. */
static int choose(struct trial *trial)
{
	struct trial_result *result = trial->result;
	struct scan *scan = NULL;
	uint32_t times;
	bool again;
	int r = scan_sample(trial, &scan);

	if (r < 0)
		return r;
	result->files = scan_files(scan);
	result->bytes = scan_bytes(scan);
	times = result->bytes > trial->params->sample ? one_in(trial) : 1;
	again = times > 1;
	while (r == 0 && again) {
		trial->filter.one_in = times;
		scan_free(steal_ptr(&scan));
		r = scan_sample(trial, &scan);
		again = r == 0 && scan_files(scan) == 0 && times > 1;
		times /= 2;
	}
	if (r == 0)
		r = scan_files(scan) ? list_paths(trial, scan) : -ENODATA;
	scan_free(scan);
	return r;
}

/* --- reading ------------------------------------------------------------------------------ */

struct reading {
	int root;
	char **pieces; /* one for each thread */
};

/* A file and what came of it. */
struct read_item {
	const char *path;
	uint64_t bytes;
	bool read;
};

/* A file that cannot be read counts as none: packing tells of it. */
static void read_file(void *context, unsigned worker, void *pointer)
{
	const struct reading *reading = context;
	struct read_item *item = pointer;
	SCOPE_CLOSE int fd =
		openat(reading->root, item->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, reading->pieces[worker], PIECE)) > 0)
		item->bytes += (uint64_t)n;
	item->read = n == 0;
}

static void release_pieces(struct reading *reading, unsigned count)
{
	for (unsigned i = 0; reading->pieces && i < count; i++)
		free(reading->pieces[i]);
	free(reading->pieces);
}

static int take_all(struct pipeline *pipeline, char **paths, struct trial_rate *rate)
{
	struct read_item items[INSIDE], *item;
	uint64_t put = 0;

	do {
		for (; *paths && pipeline_has_room(pipeline, 1); paths++) {
			item = &items[put++ % INSIDE];
			*item = (struct read_item){.path = *paths};
			pipeline_put(pipeline, item, 1);
		}
		item = interrupt_pending() ? NULL : pipeline_take(pipeline);
		if (item) {
			rate->files += item->read;
			rate->bytes += item->bytes;
		}
	} while (item);
	/* What is still inside points to items. */
	pipeline_free(pipeline);
	return interrupt_pending() ? -EINTR : 0;
}

/* Reads the sample below `root`, in its shuffled order. */
static int read_all(struct trial *trial, int root, struct trial_rate *ret)
{
	unsigned readers = trial->params->readers;
	struct reading reading = {.root = root, .pieces = calloc(readers, sizeof(char *))};
	const struct pipeline_params params = {.workers = readers,
					       .slots = INSIDE,
					       .bytes = INSIDE,
					       .work = read_file,
					       .context = &reading};
	double began = progress_now();
	struct pipeline *pipeline;
	int r = reading.pieces ? 0 : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < readers; i++) {
		reading.pieces[i] = malloc(PIECE);
		r = reading.pieces[i] ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = pipeline_new(&params, &pipeline);
	if (r == 0)
		r = take_all(pipeline, trial->paths, ret);
	ret->seconds = progress_now() - began;
	release_pieces(&reading, readers);
	return r;
}

/* Has the kernel forget the bytes of a file. */
static void forget(int directory, const char *path)
{
	SCOPE_CLOSE int fd =
		openat(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void forget_all(const struct trial *trial)
{
	for (char **path = trial->paths; *path; path++)
		forget(trial->root, *path);
}

static int read_loose(struct trial *trial)
{
	int r = step(trial, "reading loose files");

	if (r < 0)
		return r;
	forget_all(trial);
	return read_all(trial, trial->root, &trial->result->loose);
}

/* --- packing ------------------------------------------------------------------------------ */

static int on_bad(void *context, const char *path, const char *reason)
{
	(void)context, (void)path, (void)reason;
	return 0;
}

static int pack_with(struct trial *trial, struct create *create, struct err *err)
{
	const struct import_watch watch = {
		.bad = on_bad, .special = pass_over_special, .tick = on_tick};
	const struct order order = {.kind = ORDER_PATH};
	const struct import_dir_params params = {.root = trial->root,
						 .workers = create->jobs,
						 .filter = &trial->filter,
						 .order = &order,
						 .watch = &watch,
						 .builder = create->builder};
	struct builder_summary summary;
	int r = import_dir_new(&params, &create->import, err);

	if (r == 0)
		r = create_store(create);
	if (r == 0)
		r = builder_finish(create->builder, &summary, err);
	if (r == 0) {
		trial->result->packing.files = summary.files;
		trial->result->packing.bytes = summary.bytes;
		trial->result->pack_bytes = summary.pack_bytes;
	}
	return r;
}

static int pack(struct trial *trial, struct err *err)
{
	struct create create = {.source = trial->params->source,
				.pack = trial->pack,
				.on_bad = ON_BAD_SKIP,
				.jobs = trial->params->jobs};
	const struct builder_params params = {.path = trial->pack};
	double began;
	int r = step(trial, "packing");

	if (r < 0)
		return r;
	forget_all(trial);
	began = progress_now();
	r = builder_new(&params, &create.builder, err);
	if (r == 0)
		r = pack_with(trial, &create, err);
	import_free(create.import);
	builder_free(create.builder);
	trial->result->packing.seconds = progress_now() - began;
	if (r < 0 && r != -EINTR && !create_is_told(r))
		err_set(err, r, "%s: %s", trial->pack, err_text(err, r));
	return r;
}

/* --- the mount ---------------------------------------------------------------------------- */

static int read_mounted(struct trial *trial)
{
	int r = step(trial, "reading through a mount");
	SCOPE_CLOSE int root = -1;

	if (r < 0)
		return r;
	forget(AT_FDCWD, trial->pack);
	/* No mount is no failure: there may be no FUSE where one packs. */
	if (mounting_begin(trial->pack, trial->point, &trial->result->no_mount) < 0)
		return 0;
	root = open(trial->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = root < 0 ? -errno : read_all(trial, root, &trial->result->mounted);
	scope_close(&root);
	root = -1;
	mounting_end(trial->point);
	return r;
}

/* --- all of it ---------------------------------------------------------------------------- */

static int make_place(struct trial *trial, struct err *err)
{
	if (asprintf(&trial->folder, "%s/.foldpack-try.XXXXXX", trial->params->place) < 0)
		return -ENOMEM;
	if (!mkdtemp(trial->folder)) {
		free(steal_ptr(&trial->folder));
		return err_set(err, -errno, "%s: %s; --place=DIR packs the sample elsewhere",
			       trial->params->place, strerror(errno));
	}
	if (asprintf(&trial->pack, "%s/sample.lmdb", trial->folder) < 0 ||
	    asprintf(&trial->point, "%s/mount", trial->folder) < 0)
		return -ENOMEM;
	return mkdir(trial->point, 0700) < 0 ? -errno : 0;
}

int trial_run(const struct trial_params *params, struct trial_result *ret, struct err *err)
{
	SCOPE(release) struct trial trial = {.params = params, .result = ret, .root = -1};
	int r;

	*ret = (struct trial_result){0};
	trial.root = open(params->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trial.root < 0)
		return err_set(err, -errno, "%s: %s", params->source, strerror(errno));
	r = step(&trial, "looking");
	if (r == 0)
		r = choose(&trial);
	if (r == 0)
		r = make_place(&trial, err);
	if (r == 0)
		r = read_loose(&trial);
	if (r == 0)
		r = pack(&trial, err);
	if (r == 0 && ret->packing.files == 0)
		r = err_set(err, -ENODATA, "%s: no file in it can be read", params->source);
	return r < 0 ? r : read_mounted(&trial);
}
