/* foldpack fetch: fills the disk cache of foldfs ahead of a job. */
#include "base/clock.h"
#include "base/log.h"
#include "base/math.h"
#include "base/name.h"
#include "base/parallel_for.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/progress.h"
#include "remote/open.h"
#include "remote/reader_blocks.h"
#include <stdlib.h>
#include <string.h>

#define LOOK_NS	    (CLOCK_SECOND / 10) /* between two looks at the progress */
#define PATIENCE_NS 2000000
#define ROUNDS	    3 /* times that something that does not match its checksum is fetched */

struct settings {
	struct cmd_common common;
	const char *cache_dir;
	uint64_t jobs;
};

static const struct opt options[] = {
	OPT_STRING(0, "cache-dir", "DIR[,SIZE]", struct settings, cache_dir,
		   "the disk cache, as for foldfs"),
	OPT_COUNT('j', "jobs", "N", struct settings, jobs,
		  "check with N threads (default: one per processor, at least 8)"),
	CMD_PROGRESS_OPTIONS(struct settings),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack fetch",
	.synopsis = "[options] --cache-dir=DIR[,SIZE] PACK..",
	.summary =
		"Fetches all of each PACK into the disk cache that foldfs will read it from, and\n"
		"checks it. Continues where it was interrupted. A file of another format gets\n"
		"checksums in its index.",
	.examples = "foldpack fetch --cache-dir=/scratch/cache,200G s3://bucket/train.lmdb",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

struct fetch {
	struct settings *settings;
	struct disk *disk;
	char *pack;	       /* its name: without secrets once it is open */
	unsigned how;	       /* it is opened */
	struct reader *reader; /* the copy's, which is the dataset's */
	struct dataset *dataset;
	struct progress progress;
	atomic_int error; /* why an extent is not what it should be: damage only if all are */
	bool refused;	  /* an error was printed why it cannot be opened */
};

/* --- checksums of a file that has none -------------------------------------------------------- */

static int refuse_room(const struct fetch *fetch, const struct reader_blocks_stats *stats)
{
	char size[SIZE_TEXT], there[SIZE_TEXT];

	return log_fail(
		-ENOSPC,
		"%s: the disk cache has no room for all of its %s (%s are there); allow a larger "
		"SIZE, or use another disk",
		fetch->pack, size_format(stats->size, size), size_format(stats->cached, there));
}

static int begin_sums(void *context, uint64_t bytes)
{
	struct fetch *fetch = context;
	struct reader_blocks_stats stats;

	interrupt_catch();
	reader_blocks_stats(fetch->reader, &stats);
	if (stats.open &&
	    !block_store_has_room(fetch->disk->store, sub_sat(stats.size, stats.cached))) {
		fetch->refused = true;
		return refuse_room(fetch, &stats);
	}
	progress_again(&fetch->progress, "fetching", bytes);
	return 0;
}

static void add_sums(void *context, uint64_t bytes)
{
	struct fetch *fetch = context;

	progress_add(&fetch->progress, 0, bytes);
}

static void say_interrupted(const struct fetch *fetch)
{
	log_error("%s: interrupted; what was fetched stays, and the same command continues",
		  fetch->pack);
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The first file that is opened is the pack, or what is read in its place. The others are small:
 * names of classes. */
static int open_copied(void *context, const char *name, unsigned how, struct reader **ret,
		       struct err *err)
{
	struct fetch *fetch = context;
	struct cmd_common *common = &fetch->settings->common;
	struct reader *far;
	int r = reader_open(name, how, &common->remote, &common->engine, &far, err);

	if (r < 0)
		return r;
	if (fetch->reader) {
		*ret = far;
		return 0;
	}
	r = reader_blocks_new(far, fetch->disk, false, &fetch->reader);
	if (r == 0)
		*ret = fetch->reader;
	return r;
}

static int open_fetched(struct fetch *fetch, struct err *err)
{
	const struct foreign_checking checking = {
		.begin = begin_sums, .add = add_sums, .stops = interrupt_came, .context = fetch};
	struct foreign_settings foreign = fetch->settings->common.foreign;
	int r;

	foreign.open = open_copied;
	foreign.context = fetch;
	foreign.how = fetch->how;
	foreign.index_folder = block_store_indexes(fetch->disk->store);
	foreign.checking = &checking;
	interrupt_let(); /* until there is something to say */
	r = foreign_open(fetch->pack, &foreign, &fetch->dataset, err);
	interrupt_catch();
	name_hide_secrets(fetch->pack);
	return r;
}

static int open_to_fetch(struct fetch *fetch)
{
	struct err err = {0};
	int r = open_fetched(fetch, &err);

	if (r == 0)
		r = dataset_load(fetch->dataset, DATASET_CHECKSUMS, &err);
	/* What checksums were made from is not fetched once more. */
	if (r == 0)
		reader_blocks_drain(fetch->reader);
	if (r == 0)
		r = reader_prepare(dataset_reader(fetch->dataset), READER_AUTO);
	if (r < 0)
		progress_clear(&fetch->progress);
	if (r == -EINTR)
		say_interrupted(fetch);
	else if (r < 0 && !fetch->refused)
		log_error("%s: %s%s", fetch->pack, err_text(&err, r), dataset_way_out(r));
	return r;
}

/* --- fetching --------------------------------------------------------------------------------- */

/* Fetches until everything is there. Returns 0; -EINTR, which was not printed; or another -errno
 * that was. */
static int fetch_all(struct fetch *fetch)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct reader_blocks_stats stats;
	uint64_t shown;

	if (!reader_blocks_fill(fetch->reader))
		return -EIO; /* the reader has said why */
	reader_blocks_stats(fetch->reader, &stats);
	progress_again(&fetch->progress, "fetching", stats.size - stats.cached);
	for (shown = stats.cached; !interrupt_pending(); shown = stats.cached) {
		reader_blocks_stats(fetch->reader, &stats);
		progress_add(&fetch->progress, 0, stats.cached - shown);
		if (stats.complete)
			return 0;
		/* A pass that ends without any of these has found damage. Then another follows. */
		if (stats.filler == FILL_NO_ROOM || (stats.filler == FILL_FAILED && stats.full))
			return refuse_room(fetch, &stats);
		if (stats.filler == FILL_FAILED && (stats.error || stats.failed))
			return log_fail(stats.error ? stats.error : -EIO,
					"%s: could not be fetched: %s; what was fetched stays, and "
					"the same command continues",
					fetch->pack,
					stats.error ? strerror(-stats.error)
						    : "the disk cache cannot be written to");
		nanosleep(&look, NULL);
	}
	return -EINTR;
}

/* --- checking --------------------------------------------------------------------------------- */

/* Reading an extent that does not match its checksum fetches it again. */
static void check_extent(void *context, size_t number)
{
	struct fetch *fetch = context;
	struct dataset_extent extent;
	SCOPE_FREE void *buf = NULL;
	ssize_t n = -ENOMEM;

	if (interrupt_pending())
		return;
	extent = dataset_extent(fetch->dataset, number);
	if (dataset_child(fetch->dataset, extent.entry).kind == FORMAT_BASE) /* in another pack */
		return;
	buf = malloc(extent.size);
	if (buf)
		n = dataset_read(fetch->dataset, extent.entry, buf, extent.size, extent.from);
	if (n != extent.size) {
		/* What cannot be read may be as it should be. */
		int error = n < 0 ? (int)n : -EBADMSG, none = 0;

		if (error == -EBADMSG)
			atomic_compare_exchange_strong(&fetch->error, &none, error);
		else
			atomic_store(&fetch->error, error);
	}
	progress_add(&fetch->progress, 0, extent.size);
}

/* Returns 0; 1 (something was damaged on the disk, and is fetched again); -EINTR, which was not
 * printed; or another -errno that was. */
static int check_all(struct fetch *fetch)
{
	const struct parallel_for check = {.threads = batch_scan_jobs(fetch->settings->jobs),
					   .patience_ns = PATIENCE_NS,
					   .work = check_extent,
					   .context = fetch};
	struct reader_blocks_stats before, after;
	int error;

	reader_blocks_stats(fetch->reader, &before);
	progress_again(&fetch->progress, "checking", dataset_info(fetch->dataset)->super->bytes);
	parallel_for_run(&check, dataset_extents(fetch->dataset));
	if (interrupt_pending())
		return -EINTR;
	error = fetch->error;
	if (error == -EBADMSG)
		return log_fail(error,
				"%s: parts of it do not match their checksums; 'foldpack verify' "
				"lists all that is damaged",
				fetch->pack);
	if (error)
		return log_fail(error, "%s: could not be checked: %s; the same command continues",
				fetch->pack, strerror(-error));
	reader_blocks_stats(fetch->reader, &after);
	return after.damaged > before.damaged;
}

/* Fetches one pack. What it holds is released at the end of all. */
static int fetch_pack(struct fetch *fetch)
{
	char size[SIZE_TEXT];
	double seconds;
	int r;

	progress_begin(&fetch->progress, "fetching", cmd_progress(&fetch->settings->common));
	r = open_to_fetch(fetch);
	if (r < 0)
		return r;
	r = 1;
	for (unsigned round = 0; r == 1 && round < ROUNDS; round++) {
		r = fetch_all(fetch);
		if (r == 0)
			r = check_all(fetch);
		reader_blocks_drain(fetch->reader);
	}
	seconds = progress_end(&fetch->progress);
	if (r == 1)
		return log_fail(-EIO, "%s: the disk cache loses what is written to it",
				fetch->pack);
	if (r == 0)
		log_info("%s: %s in the disk cache, all good, after %.1f s", fetch->pack,
			 size_format(dataset_info(fetch->dataset)->pack_bytes, size), seconds);
	if (r == -EINTR) {
		reader_cancel(fetch->reader);
		say_interrupted(fetch);
	}
	return r;
}

/* --- the command ------------------------------------------------------------------------------ */

/* One pack after the other. All stay open until the end, so that none makes room for the next. */
static int fetch_named(struct settings *settings, const struct names *names)
{
	SCOPE_FREE struct fetch *all = calloc(names->count, sizeof(*all));
	size_t opened = 0;
	struct disk disk;
	struct err err = {0};
	int r = all ? disk_open(settings->cache_dir, log_notice_line, &disk, &err) : -ENOMEM;

	if (r < 0)
		return cmd_status(NULL, r, &err);
	while (r == 0 && opened < names->count) {
		struct fetch *fetch = &all[opened];

		fetch->settings = settings;
		fetch->disk = &disk;
		fetch->pack = names->all[opened].name;
		fetch->how = names->all[opened++].apart ? READER_APART : 0;
		r = fetch_pack(fetch);
	}
	while (opened > 0) {
		progress_clear(&all[--opened].progress);
		dataset_free(all[opened].dataset);
	}
	disk_release(&disk);
	return r == -EINTR ? interrupt_die() : (int)exit_status_of(r);
}

int cmd_fetch(int argc, char **argv)
{
	SCOPE(names_release) struct names names = {0};
	struct settings settings = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, -1);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	if (!settings.cache_dir)
		return cmd_usage_error(&command, "'--cache-dir' is needed");
	r = cmd_names(args, cmd_count(args), &settings.common, &names);
	return r == EXIT_DONE ? fetch_named(&settings, &names) : r;
}
