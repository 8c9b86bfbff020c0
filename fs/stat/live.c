#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"
#include "fs/stat/asker.h"
#include "fs/stat/modes.h"
#include "fs/stat/mounts.h"
#include "fs/stat/screen.h"
#include "fs/stat/view.h"
#include <langinfo.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>

#define LIVE_MOUNTS 64
#define FIRST_MS    1000 /* so long the first answer may take before there is a screen */
#define DRAW_MS	    1000 /* at least so often a page is drawn */

struct watched {
	struct view_mount seen; /* owns its path */
	struct asker *asker;
};

struct live {
	const char *path; /* NULL: all mounts */
	double interval;
	struct screen *screen;
	struct watched *mounts[LIVE_MOUNTS];
	size_t count, shown;
	int signals; /* signalfd(2) */
	double next; /* when mounts are asked again */
	bool paused, help, ended;
	bool chosen; /* the mount that is shown: it does not change by itself any more */
	char notice[128];
};

/* --- mounts -------------------------------------------------------------------------------- */

static void watched_free(struct watched *w)
{
	asker_free(w->asker);
	history_release(&w->seen.history);
	free((char *)w->seen.path);
	free(w);
}

static void scope_watched(struct watched **w)
{
	if (*w)
		watched_free(*w);
}

static int add_mount(struct live *live, const char *path)
{
	SCOPE(scope_watched) struct watched *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->seen.history.interval = live->interval;
	w->seen.path = strdup(path);
	if (!w->seen.path)
		return -ENOMEM;
	w->asker = asker_of_stats(path);
	if (!w->asker)
		return -errno;
	live->mounts[live->count++] = steal_ptr(&w);
	return 0;
}

/* The one that is shown stays, unless it is this. */
static void drop_mount(struct live *live, size_t i)
{
	snprintf(live->notice, sizeof(live->notice), "%s: unmounted", live->mounts[i]->seen.path);
	watched_free(live->mounts[i]);
	live->count--;
	memmove(&live->mounts[i], &live->mounts[i + 1],
		(live->count - i) * sizeof(live->mounts[0]));
	if (live->shown > i || (live->shown && live->shown == live->count))
		live->shown--;
}

/* Mounts that came, and those that went while they did not answer. */
static int find_mounts(struct live *live)
{
	char *paths[LIVE_MOUNTS], *watched[LIVE_MOUNTS];
	int count = mounts_here(paths, LIVE_MOUNTS), r = 0;

	if (count < 0)
		return count;
	for (size_t i = live->count; i-- > 0;)
		if (!mounts_names(paths, count, live->mounts[i]->seen.path))
			drop_mount(live, i);
	for (size_t i = 0; i < live->count; i++)
		watched[i] = (char *)live->mounts[i]->seen.path;
	for (int i = 0, known = (int)live->count; i < count; i++) {
		if (r == 0 && live->count < LIVE_MOUNTS && !mounts_names(watched, known, paths[i]))
			r = add_mount(live, paths[i]);
		free(paths[i]);
	}
	return r;
}

static int say_none_left(const struct live *live, struct err *err)
{
	return err_set(err, -ENOENT, "%s",
		       *live->notice ? "no pack is mounted any more"
				     : "no pack is mounted by this user; 'foldfs PACK MOUNTPOINT' "
				       "mounts one");
}

/* --- questions ----------------------------------------------------------------------------- */

static void ask_mounts(struct live *live)
{
	for (size_t i = 0; i < live->count; i++) {
		struct watched *w = live->mounts[i];

		if (w->seen.asked_at == 0 && asker_ask(w->asker) == 0)
			w->seen.asked_at = clock_seconds();
	}
}

/* Takes the answer of a mount. A mount that is gone ends the view if it was asked for by name; else
 * it is taken out. Other trouble is shown. */
static int take_answer(struct live *live, size_t i, struct err *err)
{
	SCOPE(buf_release) struct buf json = BUF_INIT;
	SCOPE(snapshot_release) struct snapshot now = {0};
	struct watched *w = live->mounts[i];
	struct err reason = {0};
	int r = asker_take(w->asker, &json, &reason);

	w->seen.asked_at = 0;
	if (r == 0)
		r = snapshot_parse(json.data, json.len, clock_seconds(), &now, &reason);
	if (r == 0)
		history_add(&w->seen.history, &now);
	if (r < 0 && live->path && (!w->seen.history.kept || mounts_is_gone(r)))
		return err_set(err, r, "%s",
			       w->seen.history.kept ? "unmounted meanwhile" : err_text(&reason, r));
	if (r < 0 && mounts_is_gone(r)) {
		drop_mount(live, i);
		return live->count ? 0 : say_none_left(live, err);
	}
	snprintf(w->seen.trouble.text, sizeof(w->seen.trouble.text), "%s",
		 r < 0 ? err_text(&reason, r) : "");
	return 0;
}

/* Asks again when it is time. Moments that were missed are not made up for. */
static int tick(struct live *live, struct err *err)
{
	int r = 0;

	if (clock_seconds() < live->next)
		return 0;
	live->next = fmax(live->next + live->interval, clock_seconds());
	if (live->paused)
		return 0;
	if (!live->path)
		r = find_mounts(live);
	ask_mounts(live);
	return r == 0 && !live->count ? say_none_left(live, err) : r;
}

/* --- keys and signals ---------------------------------------------------------------------- */

static void step_to(struct live *live, size_t step)
{
	live->shown += step;
	if (live->shown >= live->count)
		live->shown -= live->count;
}

static void take_key(struct live *live, int key)
{
	bool helped = live->help;

	live->chosen = true;
	live->help = false;
	*live->notice = '\0';
	if (key == 'q' || key == 'Q')
		live->ended = true;
	else if (key == 'L' - '@')
		screen_redraw(live->screen);
	else if (helped)
		return;
	else if (key == 'p' || key == ' ')
		live->paused = !live->paused;
	else if (key == 'n')
		step_to(live, 1);
	else if (key == 'N')
		step_to(live, live->count - 1);
	else
		live->help = key == 'h' || key == '?';
}

/* --- the loop ------------------------------------------------------------------------------ */

static int draw_view(struct live *live)
{
	const struct view_mount *mounts[LIVE_MOUNTS];
	SCOPE(page_release) struct page page = {0};
	struct view view = {
		.mounts = mounts,
		.count = live->count,
		.shown = live->shown,
		.now = clock_seconds(),
		.notice = live->notice,
		.paused = live->paused,
		.help = live->help,
	};
	int rows, columns, r;

	for (size_t i = 0; i < live->count; i++)
		mounts[i] = &live->mounts[i]->seen;
	/* The busiest, until it is known of each what it does now. */
	if (!live->chosen) {
		live->shown = view.shown = view_busiest(&view);
		live->chosen = true;
		for (size_t i = 0; i < view.count; i++)
			live->chosen = live->chosen &&
				       (mounts[i]->history.count || *mounts[i]->trouble.text ||
					view_is_silent(&view, mounts[i]));
	}
	screen_size(live->screen, &rows, &columns);
	r = page_init(&page, rows, columns, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
	if (r == 0)
		r = view_draw(&view, &page);
	if (r == 0)
		screen_show(live->screen, &page);
	return r;
}

/* Waits for something to do, and does it: signals, keys, and what each mount says. */
static int live_step(struct live *live, struct err *err)
{
	double left = fmax(0, (live->next - clock_seconds()) * 1000);
	struct pollfd polled[2 + LIVE_MOUNTS] = {{.fd = live->signals, .events = POLLIN},
						 {.fd = STDIN_FILENO, .events = POLLIN}};
	struct signalfd_siginfo signal;
	int r = 0, key;

	for (size_t i = 0; i < live->count; i++)
		polled[2 + i] =
			(struct pollfd){.fd = asker_fd(live->mounts[i]->asker), .events = POLLIN};
	if (poll(polled, 2 + live->count, (int)ceil(fmin(left, DRAW_MS))) <= 0)
		for (size_t i = 0; i < 2 + live->count; i++)
			polled[i].revents = 0;
	/* From the last to the first: taking one out moves those behind it. */
	for (size_t i = live->count; i-- > 0 && r == 0;)
		if (polled[2 + i].revents)
			r = take_answer(live, i, err);
	if (r < 0)
		return r;
	if (polled[0].revents && read(live->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGTSTP)
			screen_suspend(live->screen);
		else if (signal.ssi_signo != SIGWINCH) /* each page asks for the size */
			live->ended = true;
	}
	/* A terminal that is gone is readable, and has no key. */
	if (polled[1].revents & (POLLHUP | POLLERR))
		live->ended = true;
	while (polled[1].revents && !live->ended && (key = screen_key(live->screen)))
		take_key(live, key);
	r = live->ended ? 0 : tick(live, err);
	return r < 0 || live->ended ? r : draw_view(live);
}

/* What is no mount is refused while there is no screen. */
static int begin_view(struct live *live, struct err *err)
{
	struct pollfd first[2];
	int r = live->path ? add_mount(live, live->path) : find_mounts(live);

	if (r == 0 && !live->count)
		return say_none_left(live, err);
	if (r < 0)
		return r;
	ask_mounts(live);
	first[0] = (struct pollfd){.fd = asker_fd(live->mounts[0]->asker), .events = POLLIN};
	first[1] = (struct pollfd){.fd = live->signals, .events = POLLIN};
	if (poll(first, 2, FIRST_MS) > 0 && first[0].revents)
		r = take_answer(live, 0, err);
	return r;
}

int live_run(const char *path, double interval, struct err *err)
{
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
	struct live live = {.path = path, .interval = interval};
	sigset_t signals = signals_block(taken, sizeof(taken) / sizeof(taken[0]));
	SCOPE_CLOSE int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	int r;

	if (signal_fd < 0)
		return -errno;
	live.signals = signal_fd;
	r = begin_view(&live, err);
	if (r == 0) {
		live.screen = screen_new(err);
		r = live.screen ? 0 : -ENOTTY;
	}
	if (r == 0) {
		live.next = clock_seconds() + fmin(interval, 1);
		r = draw_view(&live);
		while (r == 0 && !live.ended)
			r = live_step(&live, err);
	}
	screen_free(live.screen);
	while (live.count)
		watched_free(live.mounts[--live.count]);
	return r;
}
