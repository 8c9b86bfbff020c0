/* foldstat: what a mount does, and whether the storage holds its readers up. */
#include "base/exit.h"
#include "base/io.h"
#include "base/libc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/order_ioctl.h"
#include "fs/stat/asker.h"
#include "fs/stat/modes.h"
#include "fs/stat/mounts.h"
#include <fcntl.h>
#include <json-c/json_c_version.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#define INTERVAL_MIN 0.01
#define INTERVAL_MAX 86400

struct settings {
	bool watch, json, prometheus;
	const char *order; /* NULL: none */
};

static const struct opt options[] = {
	OPT_FLAG(
		'w', "watch", struct settings, watch,
		"a view of the mount that fills the terminal; without MOUNTPOINT, of all mounts of "
		"this user"),
	OPT_FLAG(0, "json", struct settings, json,
		 "print the JSON object of the mount, one line each time"),
	OPT_FLAG(
		0, "prometheus", struct settings, prometheus,
		"print the stats in Prometheus's text format; without MOUNTPOINT, of all mounts of "
		"this user"),
	OPT_STRING(0, "order", "FILE", struct settings, order,
		   "make the mount read ahead in the order of the paths in FILE, one per line; "
		   "a FILE without paths drops an order given before"),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldstat",
	.synopsis =
		"[options] MOUNTPOINT [INTERVAL [COUNT]]\n-w [MOUNTPOINT [INTERVAL]]\n"
		"--prometheus [MOUNTPOINT]\n--order FILE MOUNTPOINT",
	.summary =
		"Shows what the mount on MOUNTPOINT has done since it was made, and whether its\n"
		"readers wait for storage. With INTERVAL, in seconds: a line each time, COUNT\n"
		"times or until interrupted; the first line is since the mount was made.",
	.examples =
		"foldstat mnt\n"
		"foldstat -w",
	.table = options,
	.help_word = true,
};

static int usage_error(const char *text)
{
	return log_fail(EXIT_USAGE, "%s; see 'foldstat --help'", text);
}

/* At most one of the options may be given, and takes these arguments. */
static int check_mode(const struct opt_result *parsed, const struct settings *settings,
		      struct err *err)
{
	bool order = settings->order, alone = order || settings->prometheus;

	if (order + settings->watch + settings->json + settings->prometheus > 1)
		return err_set(err, -EINVAL,
			       "only one of '--watch', '--json', '--prometheus' and '--order'");
	if (parsed->nargs < 1 && !settings->watch && !settings->prometheus)
		return opt_missing(&command, 0, err);
	if (parsed->nargs > 3)
		return err_set(err, -EINVAL, "unexpected argument '%s'", parsed->args[3]);
	if (alone && parsed->nargs > 1)
		return err_set(err, -EINVAL, "'--%s' takes no INTERVAL",
			       order ? "order" : "prometheus");
	if (settings->watch && parsed->nargs > 2)
		return err_set(err, -EINVAL, "'--watch' takes no COUNT");
	return 0;
}

static int parse_args(const struct opt_result *parsed, const struct settings *settings,
		      struct watch_params *watch, struct err *err)
{
	int r = check_mode(parsed, settings, err);

	if (r < 0)
		return r;
	watch->path = parsed->args[0];
	watch->count = parsed->nargs == 1 && !settings->watch;
	watch->json = settings->json;
	if (settings->watch)
		watch->interval = 1;
	if (parsed->nargs > 1) {
		const char *text = parsed->args[1];
		char *end;

		watch->interval = strtod(text, &end);
		if (text[strspn(text, "0123456789.")] || *end || watch->interval < INTERVAL_MIN ||
		    watch->interval > INTERVAL_MAX)
			return err_set(err, -EINVAL,
				       "INTERVAL '%s' is not a number of seconds, from %g to %d",
				       text, INTERVAL_MIN, INTERVAL_MAX);
	}
	if (parsed->nargs > 2) {
		const char *text = parsed->args[2];
		bool digits = !text[strspn(text, "0123456789")] && strlen(text) < 19;

		watch->count = digits ? strtoull(text, NULL, 10) : 0;
		if (watch->count == 0)
			return err_set(err, -EINVAL,
				       "COUNT '%s' is not a number of lines, from 1 up", text);
	}
	return 0;
}

/* --- an order ------------------------------------------------------------------------------- */

static int explain_batch(const char *mountpoint, int error, struct err *err)
{
	struct err reason = {0};

	switch (error) {
	case -EPERM:
		err_set(&reason, error, "only root and the user who mounted it may give an order");
		break;
	case -EBUSY:
		err_set(&reason, error, "another process sends an order at the same time");
		break;
	case -EOPNOTSUPP:
		err_set(&reason, error,
			"nothing is read ahead there: it was mounted with --readahead=0");
		break;
	default:
		mounts_explain(mountpoint, error, &reason);
	}
	return err_set(err, error, "%s: %s", mountpoint, err_text(&reason, error));
}

struct order {
	const char *file, *mountpoint;
	int fd; /* of the file */
};

/* Gives a batch to the mount, or to a job that sees a pack there without one. */
static int send_batch(const struct order *order, int mount, struct order_batch *batch)
{
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	int error = ioctl(mount, (libc_ioctl_request)ORDER_IOCTL, batch) < 0 ? -errno : 0, r;

	if (error != -ENOTTY)
		return error;
	r = mounts_ask_job(order->mountpoint, batch, sizeof(*batch), &answer);
	if (r == 0 && answer.len == sizeof(*batch))
		memcpy(batch, answer.data, sizeof(*batch));
	return r == -ENOENT ? error : r;
}

/* Adds the number of files to buf. */
static int send_text(void *context, struct buf *buf, struct err *err)
{
	const struct order *order = context;
	SCOPE_CLOSE int mount = open(order->mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct order_batch batch = {.flags = ORDER_FIRST};
	ssize_t len = sizeof(batch.text);
	int r;

	if (mount < 0)
		return explain_batch(order->mountpoint, -errno, err);
	while (len == sizeof(batch.text)) {
		len = io_read(order->fd, batch.text, sizeof(batch.text));
		if (len < 0)
			return err_set(err, (int)len, "%s: %s", order->file, strerror((int)-len));
		batch.len = (uint32_t)len;
		if (len < (ssize_t)sizeof(batch.text))
			batch.flags |= ORDER_LAST;
		r = send_batch(order, mount, &batch);
		if (r < 0)
			return explain_batch(order->mountpoint, r, err);
		if (batch.len)
			return err_set(err, -EINVAL, "%s: %.*s", order->file, (int)batch.len,
				       batch.text);
		batch.flags = 0;
	}
	return buf_add(buf, &batch.files, sizeof(batch.files));
}

/* Either all paths of the file are taken, or nothing changes. */
static int give_order(const char *file, const char *mountpoint)
{
	struct err err = {0}, reason = {0};
	SCOPE_CLOSE int fd = io_open_given(file, &reason);
	struct order order = {.file = file, .mountpoint = mountpoint, .fd = fd};
	SCOPE(buf_release) struct buf answer = BUF_INIT;
	char count[SIZE_TEXT];
	uint32_t files;
	int r;

	if (fd < 0)
		return log_fail(EXIT_FAILED, "%s: %s", file, err_text(&reason, fd));
	r = asker_once(asker_new(send_text, &order), &answer, &err);
	if (r < 0)
		return log_fail(EXIT_FAILED, "%s", err_text(&err, r));
	memcpy(&files, answer.data, sizeof(files));
	if (files)
		printf("order: given for %s\n", count_noun(files, "file", count));
	else
		puts("order: dropped");
	return EXIT_DONE;
}

/* -------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	struct settings settings = {0};
	struct watch_params watch = {0};
	struct opt_result parsed;
	struct err err = {0};
	int r;

	io_fill_standard();
	setlocale(LC_CTYPE, "");
	log_init("foldstat", LOG_LEVEL_NORMAL);
	if (limits_begin(&err) < 0)
		return log_fail(EXIT_FAILED, "%s", err.text);
	if (opt_parse(&command, &settings, argc, argv, &parsed, &err) < 0)
		return usage_error(err.text);
	if (parsed.want == OPT_HELP) {
		opt_help(&command, stdout);
		return exit_finish(EXIT_DONE);
	}
	if (parsed.want == OPT_VERSION) {
		printf("foldstat %s\njson-c %s\n", FOLDFS_VERSION, json_c_version());
		return exit_finish(EXIT_DONE);
	}
	if (parse_args(&parsed, &settings, &watch, &err) < 0)
		return usage_error(err.text);
	if (settings.order)
		return exit_finish(give_order(settings.order, watch.path));
	if (settings.prometheus)
		r = prometheus_print(watch.path, &err);
	else if (settings.watch && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		r = live_run(watch.path, watch.interval, &err);
	else if (!watch.path)
		r = err_set(&err, -ENOTTY, "standard output is not a terminal: name a MOUNTPOINT");
	else
		r = watch.json || watch.interval > 0 ? watch_run(&watch, &err)
						     : show_once(watch.path, &err);
	if (r < 0 && !ferror(stdout))
		log_error("%s%s%s", watch.path ? watch.path : "", watch.path ? ": " : "",
			  err_text(&err, r));
	return exit_finish(r < 0 ? EXIT_FAILED : EXIT_DONE);
}
