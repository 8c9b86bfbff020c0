#include "fs/stat/watch.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"
#include "fs/stat/mounts.h"
#include "fs/stat/show.h"
#include <stdio.h>
#include <time.h>

#define ROWS_A_HEADER 20

struct watch {
	const struct watch_params *params;
	sigset_t signals;
	bool terminal;
	uint64_t lines;
	double next;		       /* when the next line is due */
	struct snapshot first, latest; /* the time that was watched */
};

static double now(void)
{
	return (double)clock_ns() / CLOCK_SECOND;
}

/* Sleeps until the next line is due. Missed lines are not made up for. Returns false if a signal
 * asks to stop. */
static bool sleep_on(struct watch *watch)
{
	int signal;

	watch->next += watch->params->interval;
	do {
		double left = watch->next - now();
		struct timespec t = {0};

		if (left > 0)
			t = (struct timespec){.tv_sec = (time_t)left,
					      .tv_nsec =
						      (long)((left - (double)(time_t)left) * 1e9)};
		else
			watch->next = now();
		signal = sigtimedwait(&watch->signals, NULL, &t);
	} while (signal < 0 && errno == EINTR);
	return signal < 0;
}

static int show_line(struct watch *watch, const struct snapshot *after)
{
	bool header = watch->lines == 0 || (watch->terminal && watch->lines % ROWS_A_HEADER == 0);
	struct snapshot origin = snapshot_origin(after);
	int r;

	if (watch->lines == 0 || !snapshot_follows(&watch->latest, after)) {
		snapshot_assign(&watch->first, &origin);
		snapshot_assign(&watch->latest, &origin);
	}
	if (header)
		show_header();
	r = show_order(&watch->latest, after);
	show_row(&watch->latest, after);
	/* What came before watching counts only if nothing else was seen. */
	if (watch->lines == 1)
		snapshot_assign(&watch->first, &watch->latest);
	snapshot_assign(&watch->latest, after);
	return r;
}

static int watch_step(struct watch *watch, struct err *err)
{
	SCOPE(buf_release) struct buf json = BUF_INIT;
	SCOPE(snapshot_release) struct snapshot after = {0};
	int r = mounts_ask(watch->params->path, &json, err);

	if (r < 0)
		return r;
	if (watch->params->json) {
		printf("%.*s\n", (int)json.len, json.data);
	} else {
		r = snapshot_parse(json.data, json.len, now(), &after, err);
		if (r == 0)
			r = show_line(watch, &after);
	}
	watch->lines += r == 0;
	return r == 0 && fflush(stdout) != 0 ? -errno : r;
}

static int watch_loop(struct watch *watch, struct err *err)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	uint64_t count = watch->params->count;
	int r;

	watch->signals = signals_block(ends, sizeof(ends) / sizeof(ends[0]));
	do
		r = watch_step(watch, err);
	while (r == 0 && watch->lines != count && sleep_on(watch));
	if (r < 0)
		return watch->lines && mounts_is_gone(r) ? err_set(err, r, "unmounted meanwhile")
							 : r;
	if (watch->params->json)
		return 0;
	/* Start below the ^C. */
	if (watch->terminal && watch->lines != count)
		putchar('\n');
	return show_verdict(&watch->first, &watch->latest);
}

int watch_run(const struct watch_params *params, struct err *err)
{
	struct watch watch = {.params = params, .terminal = isatty(STDOUT_FILENO), .next = now()};
	int r = watch_loop(&watch, err);

	snapshot_release(&watch.first);
	snapshot_release(&watch.latest);
	return r;
}
