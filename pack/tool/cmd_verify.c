/* foldpack verify: every extent against its checksum, every key against the index. */
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cmd.h"
#include "pack/tool/progress.h"
#include <string.h>

struct settings {
	struct cmd_common common;
	bool json, progress;
};

static const struct opt options[] = {
	OPT_FLAG(0, "json", struct settings, json, "write one JSON object with all that was found"),
	OPT_FLAG(0, "progress", struct settings, progress,
		 "show progress although standard error is no terminal"),
	CMD_COMMON_OPTIONS(struct settings),
	OPT_LATER('j', "jobs", "N", "work on N files at once"),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack verify",
	.synopsis = "[options] PACK",
	.summary =
		"Reads all of PACK, holds it against its checksums and its index, and names each\n"
		"path that is damaged. Exit status 3 if there is one.",
	.table = options,
};

/* Neighbouring extents are read with one request of up to this size: large enough for any
 * device's sequential rate. Pages between them are read along. */
#define WINDOW ((size_t)4 << 20)

struct verify {
	struct settings settings;
	struct dataset *dataset;
	char *window;
	struct progress progress;
	struct buf found; /* JSON, where it was asked for */
	struct json json;
	uint32_t last_bad;  /* entry, for counting each file once */
	uint64_t files_bad; /* and keys */
};

static void release(struct verify *verify)
{
	progress_clear(&verify->progress);
	dataset_free(verify->dataset);
	buf_release(&verify->found);
	free(verify->window);
}

/* --- what was found --------------------------------------------------------------------- */

static void say_fault(struct verify *verify, const char *path, size_t len, const char *fault)
{
	if (verify->settings.json) {
		json_object(&verify->json, NULL);
		json_bytes(&verify->json, "path", path, len);
		json_string(&verify->json, "fault", fault);
		json_end(&verify->json);
		return;
	}
	progress_clear(&verify->progress);
	fwrite(path, 1, len, stdout);
	printf(": %s\n", fault);
}

static int bad_extent(struct verify *verify, const struct dataset_extent *extent, int error)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char fault[256];
	int r = dataset_path(verify->dataset, extent->entry, &path);

	if (r < 0)
		return r;
	snprintf(fault, sizeof(fault), "%s in bytes %lu-%lu",
		 error == -EBADMSG ? "checksum mismatch" : strerror(-error), extent->from,
		 extent->from + extent->size - 1);
	say_fault(verify, path.data, path.len, fault);
	verify->files_bad += verify->last_bad != extent->entry;
	verify->last_bad = extent->entry;
	return 0;
}

static int bad_key(void *context, const char *path, size_t len, const char *fault)
{
	struct verify *verify = context;

	say_fault(verify, path, len, fault);
	verify->files_bad++;
	return 0;
}

/* --- reading ---------------------------------------------------------------------------- */

/* Holds one extent against its sum; its bytes are at `data`, or `error` says why not. */
static int check_extent(struct verify *verify, uint64_t number, char *data, int error)
{
	struct dataset_extent extent;
	struct iovec iov = {.iov_base = data};
	int r = error;

	dataset_extent(verify->dataset, number, &extent);
	iov.iov_len = extent.size;
	if (r == 0)
		r = dataset_check(verify->dataset, number, &iov, 1);
	progress_add(&verify->progress, extent.from == 0, extent.size);
	if (r == 0)
		return 0;
	/* A sum that cannot be read is a fault of the index, not of this file. */
	return r == -ENOMEM ? r : bad_extent(verify, &extent, r);
}

/* How many extents, from `first` on, follow each other within one window; *ret_len is what
 * they span. */
static uint64_t plan_window(const struct dataset *dataset, uint64_t first, uint64_t *ret_start,
			    size_t *ret_len)
{
	struct dataset_extent extent;
	uint64_t start, end, number = first;

	dataset_extent(dataset, first, &extent);
	start = extent.offset;
	do {
		end = extent.offset + extent.size;
		if (++number == dataset_extents(dataset))
			break;
		dataset_extent(dataset, number, &extent);
	} while (extent.offset >= end && extent.offset + extent.size - start <= WINDOW);
	*ret_start = start;
	*ret_len = (size_t)(end - start);
	return number - first;
}

/* A window that cannot be read is read again extent by extent, to name those that are lost. */
static int check_window(struct verify *verify, uint64_t first, uint64_t count, uint64_t start,
			size_t len)
{
	int fd = dataset_fd(verify->dataset);
	bool whole = io_pread_full(fd, verify->window, len, start) == 0;
	struct dataset_extent extent;
	int r = 0, error = 0;

	for (uint64_t number = first; r == 0 && number < first + count; number++) {
		dataset_extent(verify->dataset, number, &extent);
		if (!whole)
			error = io_pread_full(fd, verify->window + (extent.offset - start),
					      extent.size, extent.offset);
		r = check_extent(verify, number, verify->window + (extent.offset - start), error);
	}
	return r;
}

static int check_all(struct verify *verify)
{
	uint64_t extents = dataset_extents(verify->dataset), count, start;
	size_t len;
	int r = 0;

	for (uint64_t first = 0; r == 0 && first < extents; first += count) {
		count = plan_window(verify->dataset, first, &start, &len);
		r = check_window(verify, first, count, start, len);
	}
	return r;
}

/* The sections that dataset_open() left on the disk. */
static int check_index(struct verify *verify)
{
	struct dataset_image image;
	struct dataset_attr attr;
	int r = dataset_attr(verify->dataset, DATASET_ROOT, &attr);

	return r < 0 ? r : dataset_image(verify->dataset, DATASET_ROOT, &image);
}

/* --- the command ------------------------------------------------------------------------ */

static void begin_json(struct verify *verify)
{
	const struct format_super *super = dataset_info(verify->dataset)->super;

	verify->json = json_begin(&verify->found);
	json_object(&verify->json, NULL);
	json_string(&verify->json, "id", dataset_info(verify->dataset)->id);
	json_u64(&verify->json, "files", super->files);
	json_u64(&verify->json, "bytes", super->bytes);
	json_array(&verify->json, "bad");
}

static int end_json(struct verify *verify, double seconds)
{
	int r;

	json_end(&verify->json);
	json_u64(&verify->json, "bad_files", verify->files_bad);
	json_double(&verify->json, "seconds", seconds);
	json_end(&verify->json);
	r = json_finish(&verify->json);
	if (r == 0)
		printf("%.*s\n", (int)verify->found.len, verify->found.data);
	return r;
}

static int conclude(struct verify *verify, const char *pack)
{
	const struct format_super *super = dataset_info(verify->dataset)->super;
	double seconds = progress_end(&verify->progress);
	char files[SIZE_TEXT], bytes[SIZE_TEXT];
	int r = verify->settings.json ? end_json(verify, seconds) : 0;

	if (r < 0)
		return r;
	if (verify->files_bad) {
		log_error(
			"%s: %s path%s damaged; copy the pack again from where it is whole, or "
			"pack the folder again",
			pack, count_format(verify->files_bad, files),
			verify->files_bad == 1 ? " is" : "s are");
		return -EBADMSG;
	}
	log_notice("%s: %s files, %s, checked in %.1f s: all good", pack,
		   count_format(super->files, files), size_format(super->bytes, bytes), seconds);
	return 0;
}

static int run(struct verify *verify, const char *pack)
{
	struct err err = {0};
	int r;

	verify->window = malloc(WINDOW);
	verify->last_bad = UINT32_MAX;
	r = verify->window ? check_index(verify) : -ENOMEM;
	if (r == 0)
		r = check_all(verify);
	if (r == 0)
		r = dataset_check_keys(verify->dataset, bad_key, verify, &err);
	progress_clear(&verify->progress);
	if (r < 0) {
		log_error("%s: %s", pack, err_text(&err, r));
		return r;
	}
	return conclude(verify, pack);
}

int cmd_verify(int argc, char **argv)
{
	SCOPE(release) struct verify verify = {0};
	const struct cmd_line line = {.command = &command,
				      .settings = &verify.settings,
				      .common = &verify.settings.common,
				      .least = 1,
				      .most = 1};
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	r = cmd_open(args[0], &verify.dataset);
	if (r != EXIT_DONE)
		return r;
	progress_begin(&verify.progress, "checking",
		       cmd_progress(&verify.settings.common, verify.settings.progress));
	verify.progress.files_total = dataset_info(verify.dataset)->super->files;
	verify.progress.bytes_total = dataset_info(verify.dataset)->super->bytes;
	if (verify.settings.json)
		begin_json(&verify);
	return cmd_finish((int)exit_status_of(run(&verify, args[0])));
}
