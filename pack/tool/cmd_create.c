/* foldpack create: the command around create_tree.c. */
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cmd.h"
#include "pack/tool/create.h"
#include "pack/tool/interrupt.h"
#include "pack/tool/target.h"
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

enum on_bad { ON_BAD_FAIL, ON_BAD_SKIP };

static const char *const on_bad_names[] = {"fail", "skip", "keep", NULL};
static const char *const on_bad_later[] = {"keep", NULL};

struct settings {
	struct cmd_common common;
	bool force, json, progress;
	int on_bad;
};

static const struct opt options[] = {
	OPT_FLAG(0, "force", struct settings, force, "replace PACK where it exists"),
	OPT_CHOICE(0, "on-bad", on_bad_names, on_bad_later, struct settings, on_bad,
		   "what to do about an input that cannot be read: end with status 1, or leave it "
		   "out and end with status 4"),
	OPT_FLAG(0, "json", struct settings, json, "write the summary to standard output, as JSON"),
	OPT_FLAG(0, "progress", struct settings, progress,
		 "show progress although standard error is no terminal"),
	CMD_COMMON_OPTIONS(struct settings),
	OPT_LATER('j', "jobs", "N", "work on N files at once"),
	OPT_LATER('n', "dry-run", NULL, "say what would be packed, and how long it would take"),
	OPT_LATER(0, "resume", NULL, "go on where an interrupted run ended"),
	OPT_LATER(0, "exclude", "GLOB", "leave out what matches"),
	OPT_LATER(0, "include", "GLOB", "pack only what matches"),
	OPT_LATER(0, "check", "off|header|decode", "which images count as bad"),
	OPT_LATER(0, "bad-list", "FILE", "write the paths of bad inputs to FILE"),
	OPT_LATER(0, "dedup", NULL, "store equal files once"),
	OPT_LATER(0, "resize", "N", "make the shorter side N pixels"),
	OPT_LATER(0, "max-side", "N", "make the longer side at most N pixels"),
	OPT_LATER(0, "quality", "Q", "of the JPEGs that are made"),
	OPT_LATER(0, "store", "jpeg|bmp|ppm", "the format of the images that are made"),
	OPT_LATER(0, "optimize", NULL, "make JPEGs smaller without loss"),
	OPT_LATER(0, "transform", "GLOB", "what the transforms may touch"),
	OPT_LATER(0, "order", "path|shuffle:SEED|list:FILE", "the order of the files in PACK"),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack create",
	.synopsis = "[options] SOURCE PACK",
	.summary = "Packs the folder SOURCE into the file PACK.",
	.table = options,
};

static void release(struct create *create)
{
	progress_clear(&create->progress);
	builder_free(create->builder);
	dirstack_free(create->directories);
	scan_free(create->scan);
	free(create->ids);
	scope_close(&create->root);
}

/* --- the command ---------------------------------------------------------------------- */

static int print_json(const struct create *create, const struct builder_summary *summary,
		      double seconds)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct json json = json_begin(&text);
	int r;

	json_object(&json, NULL);
	json_u64(&json, "files", summary->files);
	json_u64(&json, "bytes_in", summary->bytes);
	json_u64(&json, "bytes_out", summary->pack_bytes);
	json_u64(&json, "skipped", create->skipped);
	json_u64(&json, "deduped", 0);
	json_double(&json, "seconds", seconds);
	json_string(&json, "id", summary->id);
	json_end(&json);
	r = json_finish(&json);
	if (r == 0)
		printf("%.*s\n", (int)text.len, text.data);
	return r;
}

static int finish(struct create *create, const struct settings *settings, double began)
{
	struct builder_summary summary;
	struct err err = {0};
	char files[SIZE_TEXT], bytes[SIZE_TEXT], pack[SIZE_TEXT], skipped[SIZE_TEXT];
	double seconds;
	int r = builder_finish(create->builder, &summary, &err);

	if (r < 0)
		return create_fail(create, r, &err);
	progress_clear(&create->progress);
	seconds = progress_now() - began;
	log_notice("%s: %s files, %s, packed into %s in %.1f s (%.0f MB/s), id %s", create->pack,
		   count_format(summary.files, files), size_format(summary.bytes, bytes),
		   size_format(summary.pack_bytes, pack), seconds,
		   (double)summary.bytes * 1e-6 / seconds, summary.id);
	if (create->skipped)
		log_notice("%s: %s of the inputs left out", create->pack,
			   count_format(create->skipped, skipped));
	return settings->json ? print_json(create, &summary, seconds) : 0;
}

/* What is wrong with a source that is no directory. */
static int refuse_source(const char *source, int fd)
{
	char block[512] = "";
	bool tar = strcmp(source, "-") == 0;

	if (!tar && pread(fd, block, sizeof(block), 0) == sizeof(block))
		tar = memcmp(block + 257, "ustar", 5) == 0;
	if (tar)
		log_error("%s: packing a tar: not yet in this version; unpack it first", source);
	else
		log_error("%s: not a folder", source);
	return tar ? EXIT_USAGE : EXIT_FAILED;
}

static int open_source(struct create *create)
{
	struct stat st;

	create->root = -1;
	if (strcmp(create->source, "-") == 0)
		return refuse_source(create->source, -1);
	create->root = open(create->source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (create->root < 0 || fstat(create->root, &st) < 0) {
		log_error("%s: %s", create->source, strerror(errno));
		return EXIT_FAILED;
	}
	return S_ISDIR(st.st_mode) ? EXIT_DONE : refuse_source(create->source, create->root);
}

static int open_pack(struct create *create, const struct settings *settings)
{
	const struct builder_params params = {.path = create->pack, .replace = settings->force};
	struct err err = {0};
	int r = target_check(create->pack, create->root, &err);

	if (r == 0)
		r = builder_new(&params, &create->builder, &err);
	return r < 0 ? create_fail(create, r, &err) : 0;
}

static int run(struct create *create, const struct settings *settings)
{
	double began = progress_now();
	int r = open_pack(create, settings);

	if (r == 0)
		r = create_scan(create);
	if (r == 0)
		r = create_store(create);
	if (r == 0)
		r = finish(create, settings, began);
	if (r < 0 && r != CREATE_TOLD && r != -EINTR)
		create_fail(create, r, NULL);
	return r;
}

static int interrupted(struct create *create)
{
	const char *pack = create->pack;

	release(create);
	*create = (struct create){.root = -1};
	log_error("%s: interrupted; nothing was left behind", pack);
	return interrupt_die();
}

/* liblmdb allocates the pages of each batch and frees them at its end. Given back to the kernel
 * each time, they would be faulted in anew, page by page: that was two thirds of the time that
 * 20,000 photos took. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, (int)(32 * MIB));
	mallopt(M_TRIM_THRESHOLD, (int)(256 * MIB));
}

int cmd_create(int argc, char **argv)
{
	SCOPE(release) struct create create = {.root = -1};
	struct settings settings = {0};
	const struct cmd_line line = {.command = &command,
				      .settings = &settings,
				      .common = &settings.common,
				      .least = 2,
				      .most = 2};
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	create.source = args[0];
	create.pack = args[1];
	create.skip_bad = settings.on_bad == ON_BAD_SKIP;
	create.want = cmd_progress(&settings.common, settings.progress);
	r = open_source(&create);
	if (r != EXIT_DONE)
		return r;
	interrupt_catch();
	keep_memory();
	r = run(&create, &settings);
	if (r == 0)
		return cmd_finish(create.skipped ? EXIT_SKIPPED : EXIT_DONE);
	if (r == -EINTR)
		return interrupted(&create);
	return (int)exit_status_of(r);
}
