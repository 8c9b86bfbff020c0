#include "fs/stat/watch.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"
#include "fs/stat/asker.h"
#include "fs/stat/mounts.h"
#include "fs/stat/show.h"
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <time.h>

#define ROWS_A_HEADER 20

struct watch {
	const struct watch_params *params;
	struct asker *asker;
	int signals; /* a descriptor: readable once the watching is to end */
	bool terminal;
	uint64_t lines;
	double next;		       /* when the next line is due */
	struct snapshot first, latest; /* the time that was watched */
};

static double now(void)
{
	return (double)clock_ns() / CLOCK_SECOND;
}

/* Waits for the answer, or where fd is -1 for as long as this. Returns false if a signal asks to
 * stop. */
static bool wait_for(const struct watch *watch, int fd, double seconds)
{
	struct pollfd polled[] = {{.fd = watch->signals, .events = POLLIN},
				  {.fd = fd, .events = POLLIN}};
	double until = now() + seconds;

	do {
		double left = fmax(0, until - now());
		struct timespec t = {.tv_sec = (time_t)left,
				     .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};

		if (ppoll(polled, 2, fd < 0 ? &t : NULL, NULL) >= 0)
			return !polled[0].revents;
	} while (errno == EINTR);
	return false;
}

/* Sleeps until the next line is due. Missed lines are not made up for. */
static bool sleep_on(struct watch *watch)
{
	watch->next = fmax(watch->next + watch->params->interval, now());
	return wait_for(watch, -1, watch->next - now());
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

/* Returns 1 if a signal asks to stop. */
static int watch_step(struct watch *watch, struct err *err)
{
	SCOPE(buf_release) struct buf json = BUF_INIT;
	SCOPE(snapshot_release) struct snapshot after = {0};
	int r = asker_ask(watch->asker);

	if (r == 0 && !wait_for(watch, asker_fd(watch->asker), 0))
		return 1;
	if (r == 0)
		r = asker_take(watch->asker, &json, err);
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
	uint64_t count = watch->params->count;
	int r;

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
	return watch->lines ? show_verdict(&watch->first, &watch->latest) : 0;
}

int watch_run(const struct watch_params *params, struct err *err)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t signals = signals_block(ends, sizeof(ends) / sizeof(ends[0]));
	SCOPE_CLOSE int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	struct watch watch = {.params = params,
			      .asker = asker_of_stats(params->path),
			      .signals = signal_fd,
			      .terminal = isatty(STDOUT_FILENO),
			      .next = now()};
	int r = watch.asker && signal_fd >= 0 ? watch_loop(&watch, err) : -errno;

	asker_free(watch.asker);
	snapshot_release(&watch.first);
	snapshot_release(&watch.latest);
	return r;
}
