#include "pack/tool/work/progress.h"

#include "base/clock.h"
#include "base/scope.h"
#include "base/size.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_PERIOD 0.1
#define LOG_PERIOD	60.0
#define ASKED_PERIOD	5.0
#define JSON_PERIOD	1.0
#define ERASE_LINE	"\r\033[K"

double progress_now(void)
{
	return (double)clock_ns() / CLOCK_SECOND;
}

void progress_begin(struct progress *progress, const char *verb, enum progress_want want)
{
	bool json = want == PROGRESS_JSON, terminal = !json && isatty(STDERR_FILENO);
	double now = progress_now();

	*progress = (struct progress){
		.verb = verb,
		.shown = want != PROGRESS_NEVER,
		.terminal = terminal,
		.json = json,
		.period = terminal		    ? TERMINAL_PERIOD
			  : json		    ? JSON_PERIOD
			  : want == PROGRESS_ALWAYS ? ASKED_PERIOD
						    : LOG_PERIOD,
		.began = now,
		.last = now,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
}

void progress_again(struct progress *progress, const char *verb, uint64_t bytes_total)
{
	progress_clear(progress);
	progress->verb = verb;
	progress->files = progress->bytes = progress->files_total = 0;
	progress->bytes_total = bytes_total;
	progress->began = progress->last = progress_now();
}

static void format_left(const struct progress *progress, double elapsed, char *out, size_t len)
{
	uint64_t done = progress->bytes, total = progress->bytes_total;
	double share;
	uint64_t seconds;

	out[0] = '\0';
	if (done == 0 || total <= done)
		return;
	seconds = (uint64_t)(elapsed * (double)(total - done) / (double)done);
	share = 100 * (double)done / (double)total;
	if (seconds >= 3600)
		snprintf(out, len, ", %.0f %%, %luh%02lum left", share, seconds / 3600,
			 seconds / 60 % 60);
	else
		snprintf(out, len, ", %.0f %%, %lu:%02lu left", share, seconds / 60, seconds % 60);
}

static void write_line(const struct progress *progress, double now)
{
	char done[SIZE_TEXT], total[SIZE_TEXT], bytes[SIZE_TEXT], left[2 * SIZE_TEXT];
	double elapsed = now - progress->began;

	/* "12,345 of 20,000 files", the total only where it is known. */
	if (progress->files_total)
		count_noun(progress->files_total, "file", total);
	format_left(progress, elapsed, left, sizeof(left));
	fprintf(stderr, "%s%s: %s%s%s, %s, %.0f MB/s%s%s", progress->terminal ? ERASE_LINE : "",
		progress->verb,
		progress->files_total ? count_format(progress->files, done)
				      : count_noun(progress->files, "file", done),
		progress->files_total ? " of " : "", progress->files_total ? total : "",
		size_format(progress->bytes, bytes), (double)progress->bytes * 1e-6 / elapsed, left,
		progress->terminal ? "" : "\n");
}

static void draw_line(struct progress *progress, double now)
{
	if (progress->json)
		fprintf(stderr,
			"{\"doing\": \"%s\", \"files\": %" PRIu64 ", \"files_total\": %" PRIu64
			", \"bytes\": %" PRIu64 ", \"bytes_total\": %" PRIu64 "}\n",
			progress->verb, progress->files, progress->files_total, progress->bytes,
			progress->bytes_total);
	else
		write_line(progress, now);
	fflush(stderr);
	progress->drawn = progress->terminal;
	progress->last = now;
}

void progress_add(struct progress *progress, uint64_t files, uint64_t bytes)
{
	double now;

	SCOPE_LOCK(&progress->lock);
	progress->files += files;
	progress->bytes += bytes;
	if (!progress->shown)
		return;
	now = progress_now();
	if (now - progress->last >= progress->period)
		draw_line(progress, now);
}

void progress_clear(struct progress *progress)
{
	if (progress->drawn)
		fputs(ERASE_LINE, stderr);
	progress->drawn = false;
}

double progress_end(struct progress *progress)
{
	progress_clear(progress);
	if (progress->shown && progress->json)
		draw_line(progress, progress_now());
	progress->shown = false;
	return progress_now() - progress->began;
}
