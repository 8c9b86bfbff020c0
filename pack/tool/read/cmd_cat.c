/* foldpack cat: the bytes of one file. */
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/cli/cmd.h"
#include <string.h>

struct settings {
	struct cmd_common common;
};

static const struct opt options[] = {
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack cat",
	.synopsis = "[options] PACK PATH",
	.summary = "Writes the bytes of the file PATH in PACK to standard output.",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

/* An extent at a time, so that only checked bytes are written. */
static int copy_file(const char *pack, struct dataset *dataset, const struct dataset_entry *entry,
		     const char *path)
{
	SCOPE_FREE char *buf = malloc(FORMAT_EXTENT);
	ssize_t n;
	int r;

	if (!buf)
		return log_fail(EXIT_FAILED, "%s: %s: %s", pack, path, strerror(ENOMEM));
	for (uint64_t at = 0; at < entry->size; at += (uint64_t)n) {
		n = dataset_read(dataset, entry->inode, buf, FORMAT_EXTENT, at);
		if (n <= 0) {
			r = n == 0 ? -EBADMSG : (int)n;
			log_error("%s: %s: byte %lu and on: %s%s", pack, path, at,
				  r == -EBADMSG ? "checksum mismatch" : strerror(-r),
				  dataset_way_out(r));
			return (int)exit_status_of(r);
		}
		r = io_write_full(STDOUT_FILENO, buf, (size_t)n);
		if (r < 0 && r != -EPIPE)
			log_error("standard output: %s", strerror(-r));
		if (r < 0)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int cmd_cat(int argc, char **argv)
{
	SCOPE(cmd_close) struct dataset *dataset = NULL;
	struct settings settings = {0};
	const struct cmd_line line = CMD_LINE(&command, &settings, 2, 2);
	struct dataset_entry entry;
	const char *target;
	uint32_t number;
	char **args;
	size_t len;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	r = cmd_open(args[0], &settings.common, &dataset);
	if (r == EXIT_DONE)
		r = cmd_find(args[0], dataset, args[1], &number);
	if (r != EXIT_DONE)
		return r;
	entry = dataset_entry(dataset, number);
	if (entry.kind == FORMAT_DIRECTORY)
		return log_fail(EXIT_FAILED, "%s: %s: a folder; name a file in it", args[0],
				args[1]);
	if (entry.kind == FORMAT_SYMLINK) {
		target = dataset_target(dataset, number, &len);
		return log_fail(EXIT_FAILED,
				"%s: %s: a symbolic link to '%.*s'; name the file itself", args[0],
				args[1], (int)len, target);
	}
	r = cmd_load(args[0], dataset, DATASET_CHECKSUMS);
	return r == EXIT_DONE ? copy_file(args[0], dataset, &entry, args[1]) : r;
}
