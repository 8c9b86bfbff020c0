/* foldpack diff: what differs between a folder and a pack, in the words of diff -rq. */
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/compare_packs.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
	struct cmd_common common;
	bool attributes, json;
	uint64_t jobs;
};

static const struct opt options[] = {
	OPT_FLAG('a', "attributes", struct settings, attributes,
		 "compare modes and times of files and directories, too"),
	OPT_FLAG(0, "json", struct settings, json, "write one JSON object with all that was found"),
	CMD_PROGRESS_OPTIONS(struct settings),
	OPT_NUMBER('j', "jobs", "N", struct settings, jobs,
		   "read and compare with N threads (default: one a processor, at least 8)"),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack diff",
	.synopsis = "[options] DIR|OLD PACK",
	.summary =
		"Compares the tree and the bytes of the folder DIR with those in PACK; or says\n"
		"what has become of the pack OLD in PACK, from their indexes. Exit status 0 if\n"
		"they are the same, 1 if not, 3 if PACK is damaged.",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

struct diff {
	struct settings settings;
	char *folder; /* or the pack before */
	char *pack;
	struct dataset *dataset;
	struct dataset *before; /* NULL: a folder is compared */
	int root;
	struct progress progress;
	struct buf found; /* JSON, where it was asked for */
	struct json json;
	uint64_t differences, unreadable, damaged;
	double began;
};

static void diff_release(struct diff *diff)
{
	progress_clear(&diff->progress);
	dataset_free(diff->dataset);
	dataset_free(diff->before);
	buf_release(&diff->found);
	scope_close(&diff->root);
}

/* --- differences ------------------------------------------------------------------------- */

static const struct {
	const char *word;    /* in JSON */
	const char *subject; /* of the sentence that says it */
	const char *packs;   /* the word between two packs, if that is another one */
} differences[] = {
	[COMPARE_ONLY_IN_FOLDER] = {"only-in-folder", NULL, "only-in-old"},
	[COMPARE_ONLY_IN_PACK] = {"only-in-pack", NULL, NULL},
	[COMPARE_KIND] = {"kind", NULL, NULL},
	[COMPARE_BYTES] = {"bytes", "Files", NULL},
	[COMPARE_TARGET] = {"target", "Symbolic links", NULL},
	[COMPARE_MODE] = {"mode", "Modes of", NULL},
	[COMPARE_TIME] = {"time", "Times of", NULL},
};

static void diff_json_add(struct diff *diff, const struct compare_finding *finding)
{
	const char *word = differences[finding->difference].word;
	const char *packs = differences[finding->difference].packs;

	json_object(&diff->json, NULL);
	json_bytes(&diff->json, "path", finding->path, finding->len);
	json_string(&diff->json, "difference", diff->before && packs ? packs : word);
	json_end(&diff->json);
}

/* "TOP/path", and TOP for the root. */
static void print_path(const char *top, const char *path, size_t len)
{
	size_t top_len = strlen(top);

	cmd_put(top, top_len);
	if (len > 0 && top_len > 0 && top[top_len - 1] != '/')
		fputc('/', stdout);
	cmd_put(path, len);
}

/* "Only in TOP/folder: name" */
static void print_only(const char *top, const struct compare_finding *finding)
{
	const char *slash = strrchr(finding->path, '/');
	const char *name = slash ? slash + 1 : finding->path;

	fputs("Only in ", stdout);
	print_path(top, finding->path, slash ? (size_t)(slash - finding->path) : 0);
	fputs(": ", stdout);
	cmd_put(name, strlen(name));
}

static void print_kinds(const struct diff *diff, const struct compare_finding *finding)
{
	fputs("File ", stdout);
	print_path(diff->folder, finding->path, finding->len);
	printf(" is %s while file ", finding->folder);
	print_path(diff->pack, finding->path, finding->len);
	printf(" is %s", finding->pack);
}

static void print_differ(const struct diff *diff, const struct compare_finding *finding)
{
	printf("%s ", differences[finding->difference].subject);
	print_path(diff->folder, finding->path, finding->len);
	fputs(" and ", stdout);
	print_path(diff->pack, finding->path, finding->len);
	fputs(" differ", stdout);
	if (finding->difference == COMPARE_MODE)
		printf(": %s and %s", finding->folder, finding->pack);
}

static void print_difference(const struct diff *diff, const struct compare_finding *finding)
{
	if (finding->difference == COMPARE_ONLY_IN_FOLDER)
		print_only(diff->folder, finding);
	else if (finding->difference == COMPARE_ONLY_IN_PACK)
		print_only(diff->pack, finding);
	else if (finding->difference == COMPARE_KIND)
		print_kinds(diff, finding);
	else
		print_differ(diff, finding);
	fputc('\n', stdout);
}

/* Reports what cannot be compared. Bytes of the pack that cannot be read may be intact. */
static int say_uncompared(struct diff *diff, const struct compare_finding *finding)
{
	bool of_pack = finding->difference == COMPARE_DAMAGED;
	bool damaged = of_pack && finding->error == -EBADMSG;

	/* Without checksums the damage may be in any file, or in the folder. */
	if (damaged && cmd_load(diff->pack, diff->dataset, DATASET_CHECKSUMS) != EXIT_DONE)
		return -EBADMSG;
	diff->damaged += damaged;
	diff->unreadable += !damaged;
	log_error("%s%s%s: %s", of_pack ? diff->pack : diff->folder, *finding->path ? "/" : "",
		  finding->path, finding->reason);
	return 0;
}

static int diff_found(void *context, const struct compare_finding *finding)
{
	struct diff *diff = context;
	bool failed =
		finding->difference == COMPARE_UNREADABLE || finding->difference == COMPARE_DAMAGED;

	if (failed || !diff->settings.json)
		progress_clear(&diff->progress);
	if (failed)
		return say_uncompared(diff, finding);
	diff->differences++;
	if (diff->settings.json)
		diff_json_add(diff, finding);
	else
		print_difference(diff, finding);
	return 0;
}

/* --- the command ------------------------------------------------------------------------ */

static void diff_json_begin(struct diff *diff)
{
	diff->json = json_begin(&diff->found);
	json_object(&diff->json, NULL);
	json_string(&diff->json, "id", dataset_info(diff->dataset)->id);
	json_array(&diff->json, "differences");
}

static int diff_json_end(struct diff *diff, double seconds)
{
	json_end(&diff->json);
	json_u64(&diff->json, "files", diff->progress.files);
	json_u64(&diff->json, "bytes", diff->progress.bytes);
	json_u64(&diff->json, "unreadable", diff->unreadable);
	json_u64(&diff->json, "damaged", diff->damaged);
	json_double(&diff->json, "seconds", seconds);
	json_end(&diff->json);
	return cmd_print_json(&diff->found);
}

/* Says once that the options of the pack may explain differences. */
static void say_options(const struct diff *diff)
{
	const struct dataset_info *info = dataset_info(diff->dataset);
	SCOPE(buf_release) struct buf text = BUF_INIT;

	if (info->options_len == 0 || dataset_is_delta(diff->dataset) ||
	    buf_add(&text, info->options, info->options_len) < 0)
		return;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\n')
			text.data[i] = ' ';
	log_notice("%s: made with %.*s: what that changed or left out is not the same", diff->pack,
		   (int)text.len - (text.data[text.len - 1] == ' '), text.data);
}

static int conclude_diff(struct diff *diff)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT], count[SIZE_TEXT];
	double seconds = progress_now() - diff->began;
	int r = diff->settings.json ? diff_json_end(diff, seconds) : 0;

	if (r < 0)
		return r;
	if (diff->damaged > 0)
		return log_fail(-EBADMSG, "%s: %s %s damaged; 'foldpack verify' says more",
				diff->pack, count_noun(diff->damaged, "file", count),
				diff->damaged == 1 ? "is" : "are");
	if (diff->differences > 0 && !diff->before)
		say_options(diff);
	log_info("%s: %s, %s, compared with %s in %.1f s: %s", diff->folder,
		 count_noun(diff->progress.files, "file", files),
		 size_format(diff->progress.bytes, bytes), diff->pack, seconds,
		 diff->differences ? count_noun(diff->differences, "difference", count)
				   : "no difference");
	return diff->differences + diff->unreadable > 0 ? -ECANCELED : 0;
}

static int compare_both(struct diff *diff)
{
	const struct compare_packs_params params = {.before = diff->before,
						    .after = diff->dataset,
						    .attributes = diff->settings.attributes,
						    .found = diff_found,
						    .context = diff};
	const struct format_super *super = dataset_info(diff->dataset)->super;

	progress_add(&diff->progress, super->files, super->bytes);
	return compare_packs(&params);
}

static int run_diff(struct diff *diff)
{
	const struct compare_params params = {.dataset = diff->dataset,
					      .root = diff->root,
					      .attributes = diff->settings.attributes,
					      .jobs = batch_scan_jobs(diff->settings.jobs),
					      .progress = &diff->progress,
					      .found = diff_found,
					      .context = diff};
	int r;

	diff->began = progress_now();
	progress_begin(&diff->progress, "looking", cmd_progress(&diff->settings.common));
	if (diff->settings.json)
		diff_json_begin(diff);
	r = diff->before ? compare_both(diff) : compare(&params);
	progress_end(&diff->progress);
	/* Damaged parts of the index were reported when they were loaded. */
	if (r < 0 && r != -EBADMSG)
		log_error("%s: %s", diff->pack, err_text(NULL, r));
	return r < 0 ? r : conclude_diff(diff);
}

static int open_compared_folder(struct diff *diff)
{
	struct stat st;

	diff->root = open(diff->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (diff->root >= 0 || (errno != ENOTDIR && errno != ENOENT))
		return diff->root >= 0
			       ? EXIT_DONE
			       : log_fail(EXIT_FAILED, "%s: %s", diff->folder, strerror(errno));
	return stat(diff->pack, &st) == 0 && S_ISDIR(st.st_mode)
		       ? log_fail(EXIT_FAILED,
				  "%s: not a folder; the folder comes first, then the pack",
				  diff->folder)
		       : EXIT_DONE;
}

static int load_compared(struct diff *diff, const char *name, struct dataset *dataset)
{
	unsigned attributes = diff->settings.attributes ? DATASET_ATTRS : 0;

	if (dataset_is_unchecked(dataset))
		return log_fail(EXIT_FAILED,
				"%s: of another format, without checksums to compare; 'foldpack "
				"create' makes a pack of it",
				name);
	return cmd_load(name, dataset, DATASET_CHECKSUMS | attributes);
}

/* A delta needs no base: its index has all that is compared. */
static int open_compared_packs(struct diff *diff)
{
	struct cmd_common common = diff->settings.common;
	int r;

	common.delta_ok = true;
	r = cmd_open(diff->folder, &common, &diff->before);
	if (r == EXIT_DONE)
		r = cmd_open(diff->pack, &common, &diff->dataset);
	if (r == EXIT_DONE)
		r = load_compared(diff, diff->folder, diff->before);
	return r == EXIT_DONE ? load_compared(diff, diff->pack, diff->dataset) : r;
}

static int open_compared(struct diff *diff)
{
	int r = open_compared_folder(diff);

	if (r != EXIT_DONE || diff->root < 0)
		return r == EXIT_DONE ? open_compared_packs(diff) : r;
	r = cmd_open(diff->pack, &diff->settings.common, &diff->dataset);
	return r == EXIT_DONE && diff->settings.attributes
		       ? cmd_load(diff->pack, diff->dataset, DATASET_ATTRS)
		       : r;
}

int cmd_diff(int argc, char **argv)
{
	SCOPE(diff_release) struct diff diff = {.root = -1};
	const struct cmd_line line = CMD_LINE(&command, &diff.settings, 2, 2);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	diff.folder = args[0];
	diff.pack = args[1];
	r = open_compared(&diff);
	return r == EXIT_DONE ? exit_finish((int)exit_status_of(run_diff(&diff))) : r;
}
