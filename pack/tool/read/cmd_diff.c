/* foldpack diff: what differs between a folder and a pack, in the words of diff -rq: tools/diff.py.
 */
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/serve.h"
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

/* Whether DIR is a folder; otherwise it is to be a pack, unless PACK is a folder. */
static int find_folder(char *const *words, bool *ret)
{
	SCOPE_CLOSE int fd = open(words[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	*ret = fd >= 0;
	if (fd < 0 && errno != ENOTDIR && errno != ENOENT)
		return log_fail(EXIT_FAILED, "%s: %s", words[0], strerror(errno));
	if (fd < 0 && stat(words[1], &st) == 0 && S_ISDIR(st.st_mode))
		return log_fail(EXIT_FAILED,
				"%s: not a folder; the folder comes first, then the pack",
				words[0]);
	return EXIT_DONE;
}

int cmd_diff(int argc, char **argv)
{
	struct settings settings = {0}, defaults = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 2, 2);
	struct serve serve = {
		.script = "diff", .doing = "comparing", .line = &line, .defaults = &defaults};
	bool folder = false;
	int r = cmd_parse(&line, argc, argv, &serve.words);

	if (r != CMD_RUN)
		return r;
	r = find_folder(serve.words, &folder);
	/* A delta needs no base: its index has all that is compared. */
	settings.common.delta_ok = !folder;
	defaults.common = settings.common;
	serve.first = folder;
	serve.packs = folder ? 1 : 2;
	serve.jobs = batch_scan_jobs(settings.jobs);
	return r == EXIT_DONE ? serve_run(&serve) : r;
}
