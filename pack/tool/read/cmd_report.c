/* foldpack report: makes one page to look at a dataset: tools/report.py. */
#include "pack/tool/read/batch_scan.h"
#include "pack/tool/read/serve.h"
#include <string.h>

#define SAMPLES 6

struct settings {
	struct cmd_common common;
	const char *output;
	uint64_t samples;
};

static const struct opt options[] = {
	OPT_STRING('o', "output", "FILE", struct settings, output,
		   "where to write the page; - is standard output"),
	OPT_NUMBER(0, "samples", "N", struct settings, samples,
		   "pictures of each class (default: 6; 0: none)"),
	CMD_PROGRESS_OPTIONS(struct settings),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack report",
	.synopsis = "[options] PACK -o FILE",
	.summary =
		"Writes one HTML page about the dataset in PACK: what is in it, what is worth a\n"
		"look, charts, and pictures of each class.",
	.examples = "foldpack report train.lmdb -o report.html",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

/* One word too many is the page's place, where '-o' is not there. */
static int refuse_words(const struct settings *settings, const char *word)
{
	struct err err = {0};

	if (!word)
		return cmd_usage_error(&command, "where to? '-o FILE' is missing");
	err_set(&err, 0,
		settings->output ? "unexpected argument '%s'"
				 : "unexpected argument '%s'; the page's place is '-o FILE'",
		word);
	return cmd_usage_error(&command, err.text);
}

int cmd_report(int argc, char **argv)
{
	struct settings settings = {.samples = SAMPLES}, defaults = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, 2);
	struct serve serve = {.script = "report",
			      .doing = "reading",
			      .line = &line,
			      .defaults = &defaults,
			      .packs = 1,
			      .jobs = batch_scan_jobs(0)};
	int r = cmd_parse(&line, argc, argv, &serve.words);

	if (r != CMD_RUN)
		return r;
	if (!settings.output || serve.words[1])
		return refuse_words(&settings, serve.words[1]);
	defaults.common = settings.common;
	r = strcmp(settings.output, "-") ? cmd_check_local(settings.output) : EXIT_DONE;
	return r == EXIT_DONE ? serve_run(&serve) : r;
}
