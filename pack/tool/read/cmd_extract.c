/* foldpack extract: makes the tree a folder again. */
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/extract.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
	struct cmd_common common;
	uint64_t jobs;
};

static const struct opt options[] = {
	CMD_PROGRESS_OPTIONS(struct settings),
	OPT_COUNT('j', "jobs", "N", struct settings, jobs,
		  "make files with N threads (default: one per processor, at least 8)"),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack extract",
	.synopsis = "[options] PACK DEST [PATH..]",
	.summary =
		"Makes the tree in PACK, or the given paths of it, a folder again: DEST. Checks\n"
		"all bytes, replaces nothing that exists, and writes nowhere but below DEST.\n"
		"Times, links and modes, but for setuid and setgid files, are as they were.",
	.examples =
		"foldpack extract train.lmdb train/\n"
		"foldpack extract train.lmdb some/ dog/1.jpg cat",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

/* How many failures of one kind are reported one by one: if one file exists or cannot be made, all
 * may. */
#define SAID_MOST 10

struct extract {
	struct settings settings;
	char *pack;
	const char *dest;
	struct dataset *dataset;
	struct subtree subtree;
	int root;
	bool made_root; /* so that it gets mode and time as well */
	bool said_end;	/* why no others follow */
	struct progress progress;
	uint64_t damaged, exist, failed; /* entries; `failed` for any other reason */
	struct extract_refused refused[REFUSALS];
};

static void extract_release(struct extract *extract)
{
	progress_clear(&extract->progress);
	dataset_free(extract->dataset);
	subtree_release(&extract->subtree);
	scope_close(&extract->root);
}

static bool ends_all(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -ENOMEM;
}

/* Reports and counts an entry that failed. The others follow; only a full disk ends everything. */
static int on_fault(void *context, uint32_t number, int error)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct extract *extract = context;
	uint64_t *count = error == -EBADMSG  ? &extract->damaged
			  : error == -EEXIST ? &extract->exist
					     : &extract->failed;
	enum format_kind kind = dataset_child(extract->dataset, number).kind;
	const char *text = error == -EBADMSG ? "damaged in the pack: checksum mismatch; not written"
			   : error == -EEXIST ? "exists; not replaced"
			   : error == -ENOTUNIQ
				   ? "the filesystem takes its name for another that is there, "
				     "as where case does not count; not written; extract to a "
				     "filesystem that tells them apart"
				   : err_text(NULL, error);
	const char *call = !io_is_refused(error)      ? "" /* else which was refused */
			   : kind == FORMAT_SYMLINK   ? "symlinkat: "
			   : kind == FORMAT_DIRECTORY ? "mkdirat: "
						      : "openat: ";

	/* Not counted as reported: whoever ends says it. */
	if (dataset_path(extract->dataset, number, &path) < 0)
		return -ENOMEM;
	if (++*count > SAID_MOST && error != -EBADMSG && !ends_all(error))
		return 0;
	progress_clear(&extract->progress);
	log_error("%s/%s: %s%s", extract->dest, path.data, call, text);
	extract->said_end = ends_all(error);
	return extract->said_end ? error : 0;
}

static int conclude_extract(struct extract *extract)
{
	static const char *const lines[REFUSALS][2] = {
		[REFUSED_MODE] = {"modes that could not be set", "fchmod"},
		[REFUSED_TIME] = {"times that could not be set", "utimensat"},
		[REFUSED_LINK] = {"hard links that became files of their own", "linkat"},
	};
	char files[SIZE_TEXT], bytes[SIZE_TEXT];
	uint64_t done = extract->progress.files, size = extract->progress.bytes;
	double seconds = progress_end(&extract->progress);
	bool any = false;
	int r;

	for (unsigned kind = 0; kind < REFUSALS; kind++) {
		const struct extract_refused *refused = &extract->refused[kind];

		if (refused->count)
			log_notice("%s: %s: %s (%s: %s)", extract->dest, lines[kind][0],
				   count_format(refused->count, files), lines[kind][1],
				   strerror(-refused->error));
		any |= refused->count > 0;
	}
	if (extract->damaged)
		return log_fail(EXIT_DAMAGED,
				"%s: %s %s damaged; copy the pack again from an intact copy",
				extract->pack, count_noun(extract->damaged, "file", files),
				extract->damaged == 1 ? "is" : "are");
	if (extract->exist + extract->failed > 0)
		return EXIT_FAILED;
	log_info("%s: %s, %s in %.1f s", extract->dest, count_noun(done, "file", files),
		 size_format(size, bytes), seconds);
	r = extract->subtree.marks ? EXIT_DONE : cmd_copied(extract->pack, extract->dataset);
	return any ? EXIT_SKIPPED : r;
}

static int run_extract(struct extract *extract)
{
	const struct extract_params params = {.dataset = extract->dataset,
					      .subtree = &extract->subtree,
					      .root = extract->root,
					      .finish_root = extract->made_root,
					      .jobs = batch_scan_jobs(extract->settings.jobs),
					      .progress = &extract->progress,
					      .refused = extract->refused,
					      .fault = on_fault,
					      .context = extract};
	char text[SIZE_TEXT];
	int r;

	progress_begin(&extract->progress, "extracting", cmd_progress(&extract->settings.common));
	if (!extract->subtree.marks) {
		extract->progress.files_total = dataset_info(extract->dataset)->super->files;
		extract->progress.bytes_total = dataset_info(extract->dataset)->super->bytes;
	}
	r = extract_tree(&params);
	progress_clear(&extract->progress);
	if (extract->exist > SAID_MOST)
		log_error("%s: and %s more that exist; choose a folder that is not there yet",
			  extract->dest, count_format(extract->exist - SAID_MOST, text));
	if (extract->failed > SAID_MOST)
		log_error("%s: and %s more that could not be made", extract->dest,
			  count_format(extract->failed - SAID_MOST, text));
	if (r == -EINTR && interrupt_pending()) {
		log_error("%s: interrupted; the files that are there are whole", extract->dest);
		return interrupt_die();
	}
	if (r < 0 && !extract->said_end)
		log_error("%s: %s", extract->pack, err_text(NULL, r));
	return r < 0 ? (int)exit_status_of(r) : conclude_extract(extract);
}

int cmd_extract(int argc, char **argv)
{
	SCOPE(extract_release) struct extract extract = {.root = -1};
	const struct cmd_line line = CMD_LINE(&command, &extract.settings, 2, -1);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	extract.pack = args[0];
	extract.dest = args[1];
	r = cmd_check_local(extract.dest);
	if (r == EXIT_DONE)
		r = cmd_open(extract.pack, &extract.settings.common, &extract.dataset);
	if (r == EXIT_DONE)
		r = subtree_new(extract.pack, extract.dataset, args + 2, &extract.subtree);
	if (r == EXIT_DONE)
		r = cmd_load(extract.pack, extract.dataset, DATASET_ATTRS | DATASET_CHECKSUMS);
	if (r != EXIT_DONE)
		return r;
	extract.made_root = mkdir(extract.dest, 0777) == 0;
	if (extract.made_root || errno == EEXIST)
		extract.root = open(extract.dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (extract.root < 0)
		return log_fail(EXIT_FAILED, "%s: %s", extract.dest, strerror(errno));
	interrupt_catch();
	return run_extract(&extract);
}
