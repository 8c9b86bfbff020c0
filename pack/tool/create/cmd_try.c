/* foldpack try: what packing would bring. */
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/create/create.h"
#include "pack/tool/create/trial.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
	struct cmd_common common;
	const char *place;
	uint64_t sample, readers, jobs;
	bool json;
};

static const struct opt options[] = {
	OPT_STRING(0, "place", "DIR", struct settings, place,
		   "pack the sample into DIR, where the pack would be; the folder that SOURCE is "
		   "in, where it is not given"),
	OPT_SIZE(0, "sample", "SIZE", struct settings, sample, "bytes to take (512M)"),
	OPT_NUMBER(0, "readers", "N", struct settings, readers,
		   "threads that read, as many as the loader's workers (4)"),
	OPT_NUMBER('j', "jobs", "N", struct settings, jobs, "of packing, as in create (16)"),
	OPT_FLAG(0, "json", struct settings, json, "write one JSON object"),
	CMD_COMMON_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack try",
	.synopsis = "[options] SOURCE",
	.summary =
		"Packs a sample of the folder SOURCE, reads it loose and through a mount, and\n"
		"says whether packing is worth it on this storage. Leaves nothing behind.",
	.table = options,
};

static double per_second(uint64_t what, double seconds)
{
	return seconds > 0 ? (double)what / seconds : 0;
}

static double files_rate(const struct trial_rate *rate)
{
	return per_second(rate->files, rate->seconds);
}

static void print_rate(const char *label, const struct trial_rate *rate)
{
	char files[SIZE_TEXT];

	printf("%-12s %8s files/s %8.0f MB/s\n", label,
	       count_format((uint64_t)files_rate(rate), files),
	       per_second(rate->bytes, rate->seconds) * 1e-6);
}

/* How often the sample goes into the whole, by its bytes, if it has any. */
static double times(const struct trial_result *result)
{
	const struct trial_rate *sample = &result->packing;

	return sample->bytes ? (double)result->bytes / (double)sample->bytes
			     : (double)result->files / (double)sample->files;
}

static double whole_seconds(const struct trial_result *result)
{
	return times(result) * result->packing.seconds;
}

static uint64_t whole_bytes(const struct trial_result *result)
{
	return (uint64_t)(times(result) * (double)result->pack_bytes);
}

static void print_whole(const struct trial_result *result)
{
	double seconds = whole_seconds(result);
	char size[SIZE_TEXT];

	size_format(whole_bytes(result), size);
	if (seconds < 120)
		printf("the whole    packed in about %.0f s, %s\n", seconds, size);
	else
		printf("the whole    packed in about %.0f min, %s\n", seconds / 60, size);
}

#define WORTH 1.2 /* below that nobody would notice */

static void print_verdict(const struct trial_result *result)
{
	double gain = files_rate(&result->mounted) / files_rate(&result->loose);

	if (result->no_mount.text[0])
		printf("it could not be mounted here: %s\n", result->no_mount.text);
	else if (gain >= WORTH)
		printf("worth it: a first epoch reads %.1f times as fast\n", gain);
	else
		printf("not worth it for speed: loose files are as fast here (%.1f times)\n", gain);
}

static void print(const char *source, const struct trial_result *result)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT], sample[SIZE_TEXT], taken[SIZE_TEXT];

	printf("%s: %s, %s; sample: %s, %s\n", source, count_noun(result->files, "file", files),
	       size_format(result->bytes, bytes), count_noun(result->loose.files, "file", sample),
	       size_format(result->loose.bytes, taken));
	print_rate("loose files", &result->loose);
	if (!result->no_mount.text[0])
		print_rate("mounted", &result->mounted);
	print_rate("packing", &result->packing);
	print_whole(result);
	print_verdict(result);
}

static void json_rate(struct json *json, const char *key, const struct trial_rate *rate)
{
	json_object(json, key);
	json_u64(json, "files", rate->files);
	json_u64(json, "bytes", rate->bytes);
	json_double(json, "seconds", rate->seconds);
	json_end(json);
}

static int print_json(const struct trial_result *result)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct json json = json_begin(&text);
	int r;

	json_object(&json, NULL);
	json_u64(&json, "files", result->files);
	json_u64(&json, "bytes", result->bytes);
	json_rate(&json, "loose", &result->loose);
	json_rate(&json, "packing", &result->packing);
	json_rate(&json, "mounted", &result->mounted);
	json_double(&json, "whole_seconds", whole_seconds(result));
	json_u64(&json, "whole_bytes", whole_bytes(result));
	json_string(&json, "no_mount", result->no_mount.text);
	json_end(&json);
	r = json_finish(&json);
	if (r == 0)
		printf("%.*s\n", (int)text.len, text.data);
	return r;
}

/* --- the command -------------------------------------------------------------------------- */

static int on_step(void *context, const char *what)
{
	const char *source = context;

	log_detail("%s: %s", source, what);
	return interrupt_pending() ? -EINTR : 0;
}

/* The folder that the source is in; to be freed. */
static char *default_place(const char *source)
{
	char *path = realpath(source, NULL), *slash = path ? strrchr(path, '/') : NULL;

	if (slash)
		slash[slash == path] = '\0';
	return path;
}

static int usage_error(const char *text)
{
	log_error("%s; see 'foldpack try --help'", text);
	return EXIT_USAGE;
}

static int check_source(const char *source)
{
	bool standard = strcmp(source, "-") == 0;
	struct stat st = {0};

	if (!standard && stat(source, &st) < 0) {
		log_error("%s: %s", source, strerror(errno));
		return EXIT_FAILED;
	}
	if (S_ISDIR(st.st_mode))
		return EXIT_DONE;
	log_error(
		"%s: not a folder, whose files could be read loose, to compare with; of a tar, "
		"unpack a part and try that",
		source);
	return EXIT_USAGE;
}

static int try(const struct settings *settings, const char *source)
{
	SCOPE_FREE char *beside = default_place(source);
	const struct trial_params params = {.source = source,
					    .place = settings->place ? settings->place : beside,
					    .sample = settings->sample,
					    .readers = (unsigned)settings->readers,
					    .jobs = (unsigned)settings->jobs,
					    .step = on_step,
					    .context = (void *)(uintptr_t)source};
	struct trial_result result;
	struct err err = {0};
	int r = params.place ? trial_run(&params, &result, &err) : -errno;

	if (r == -EINTR && interrupt_pending())
		return interrupt_die();
	if (r == -ENODATA && !err.text[0])
		err_set(&err, r, "%s: no file in it", source);
	if (r < 0 && !create_is_told(r))
		log_error("%s", err.text[0] ? err.text : err_text(NULL, r));
	if (r < 0)
		return EXIT_FAILED;
	if (!settings->json)
		print(source, &result);
	else if (print_json(&result) < 0)
		return EXIT_FAILED;
	return EXIT_DONE;
}

int cmd_try(int argc, char **argv)
{
	struct settings settings = {.sample = 512 * MIB, .readers = 4, .jobs = 16};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, 1);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	if (settings.readers < 1 || settings.readers > 256)
		return usage_error("'--readers': not between 1 and 256");
	if (settings.jobs < 1 || settings.jobs > 256)
		return usage_error("'--jobs': not between 1 and 256");
	if (settings.sample == 0)
		return usage_error("'--sample': nothing is too little");
	r = check_source(args[0]);
	if (r != EXIT_DONE)
		return r;
	interrupt_catch();
	return exit_finish(try(&settings, args[0]));
}
