#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"
#include "fs/stat/asker.h"
#include "fs/stat/modes.h"
#include "fs/stat/mounts.h"
#include "fs/stat/verdict.h"
#include <json-c/json.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#define LABEL_WIDTH   12
#define PAGE_WIDTH    80
#define REQUEST_PRICE 0.40 /* dollars a million: about what the large clouds charge for a GET, */
#define LISTING_PRICE 5.00 /* and for a page of a listing */
#define ROWS_A_HEADER 20

/* --- the block -------------------------------------------------------------------------- */

static void label(const char *name)
{
	printf("%-*s", LABEL_WIDTH, name);
}

/* A line; without a name, it goes on with the topic of the one before. */
static void __attribute__((format(printf, 2, 3))) line(const char *name, const char *format, ...)
{
	va_list args;

	label(name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* Prints text, and breaks lines at separators where they would get too long. */
static void put_lines(const char *text, const char *separator)
{
	int between = (int)strlen(separator), column = LABEL_WIDTH;
	const char *end;

	for (; *text; text = *end ? end + between : end) {
		end = strstr(text, separator);
		end = end ? end : text + strlen(text);
		if (column > LABEL_WIDTH && column + between + (end - text) > PAGE_WIDTH) {
			putchar('\n');
			label("");
			column = LABEL_WIDTH;
		}
		column += printf("%s%.*s", column > LABEL_WIDTH ? separator : "", (int)(end - text),
				 text);
	}
	putchar('\n');
}

/* The kinds of requests that were sent, and how often. */
static int block_requests(const struct snapshot *s)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = buf_adds(&text, "of the kernel:");

	for (const char *const *sent = snapshot_requests; *sent && r == 0; sent++)
		if (snapshot_count(s, *sent))
			r = buf_addf(&text, "   %s %s", strrchr(*sent, '/') + 1, COUNT(s, *sent));
	label("requests");
	if (r == 0)
		put_lines(text.data, "   ");
	return r;
}

static int block_pack(const struct snapshot *s)
{
	char age[SIZE_TEXT];

	line("pack", "%s", snapshot_text(s, "/pack/path"));
	line("", "%s, %s, id %s", COUNT_NOUN(s, "/pack/files", "file"), SIZE(s, "/pack/bytes"),
	     snapshot_text(s, "/id"));
	/* Where they are not what ImageFolder gives. */
	if (snapshot_count(s, "/labels/with_another_number") ||
	    snapshot_count(s, "/labels/without_image")) {
		label("labels");
		if (*snapshot_text(s, "/labels/text"))
			put_lines(snapshot_text(s, "/labels/text"), " ");
		else
			printf("ImageFolder gives %s another number; %s of %s without an image\n",
			       COUNT_NOUN(s, "/labels/with_another_number", "label"),
			       COUNT(s, "/labels/without_image"), COUNT(s, "/labels/known"));
	}
	line("mounted", "%s ago, by foldfs %s; all counts are since then",
	     duration_format(snapshot_count(s, "/uptime_s"), age), snapshot_text(s, "/version"));
	return block_requests(s);
}

/* Where there is one. */
static void block_disk(const struct snapshot *s)
{
	double near = (double)snapshot_count(s, "/disk_cache/near_bytes");
	double asked = near + (double)snapshot_count(s, "/disk_cache/far_bytes");

	if (!snapshot_member(s, "/disk_cache", json_type_object))
		return;
	label("disk cache");
	if (snapshot_count(s, "/disk_cache/size"))
		printf("%s of %s, ", SIZE(s, "/disk_cache/cached"), SIZE(s, "/disk_cache/size"));
	puts(verdict_disk_text(s));
	if (asked > 0)
		line("", "%.1f %% of all bytes came from it", 100 * near / asked);
	if (snapshot_count(s, "/disk_cache/damaged"))
		line("", "%s, fetched again",
		     COUNT_NOUN(s, "/disk_cache/damaged", "damaged piece"));
}

static void block_pool(const struct snapshot *s)
{
	double hits = (double)snapshot_count(s, "/pool/hits");
	double asked = hits + (double)snapshot_count(s, "/pool/misses");

	label("pool");
	printf("%s of %s", SIZE(s, "/pool/used"), SIZE(s, "/pool/budget"));
	if (asked > 0)
		printf("; %.1f %% of reads found their data there", 100 * hits / asked);
	putchar('\n');
	if (snapshot_count(s, "/pool/evictions"))
		line("", "%s left it to make room", COUNT_NOUN(s, "/pool/evictions", "piece"));
	if (snapshot_is_shrunk(s))
		line("", "shrunk to %s: memory is short", SIZE(s, "/pool/limit"));
	if (snapshot_count(s, "/preloaded"))
		line("preload", "%u %% of %s%s", snapshot_preloaded(s), SIZE(s, "/pack/bytes"),
		     snapshot_preload_waits(s) ? "; the rest waits for room in the pool" : "");
	if (snapshot_count(s, "/prefetch/issued"))
		line("read ahead", "%s: %s used, %s wasted", SIZE(s, "/prefetch/issued"),
		     SIZE(s, "/prefetch/used"), SIZE(s, "/prefetch/wasted"));
	else
		line("read ahead", "nothing");
	if (snapshot_count(s, "/wait/reads"))
		line("waits", "%s waited: half of them %s at most, 99 %% %s at most",
		     COUNT_NOUN(s, "/wait/reads", "read"), LATENCY(s, "/wait/p50_us"),
		     LATENCY(s, "/wait/p99_us"));
	else
		line("waits", "none");
}

/* Requests, and what they cost at so many dollars a million. */
static void put_price(const struct snapshot *s, const char *requests, double million)
{
	double price = (double)snapshot_count(s, requests) * million / 1e6;

	printf("%s (", COUNT_NOUN(s, requests, "request"));
	printf(price < 0.01 ? "under $0.01" : "$%.2f", price);
	printf(" at $%.2f a million)", million);
}

/* If the pack is remote. */
static void block_server(const struct snapshot *s)
{
	if (snapshot_count(s, "/far/listed")) {
		label("listing");
		put_price(s, "/far/listed", LISTING_PRICE);
		putchar('\n');
	}
	if (!snapshot_count(s, "/far/requests"))
		return;
	label("server");
	printf("%s in ", SIZE(s, "/far/bytes"));
	put_price(s, "/far/requests", REQUEST_PRICE);
	printf(", %s under way\n", COUNT(s, "/far/under_way"));
	label("");
	printf("half of them were answered within %s, 99 %% within %s",
	       LATENCY(s, "/far/first_byte_p50_us"), LATENCY(s, "/far/first_byte_p99_us"));
	if (snapshot_count(s, "/far/retries"))
		printf("; %s repeated, %s of them as it was overloaded", COUNT(s, "/far/retries"),
		       COUNT(s, "/far/refused"));
	putchar('\n');
	if (snapshot_count(s, "/far/ahead_us"))
		line("", "reading ahead: %s of %s under way, each brings %s in %s",
		     COUNT(s, "/far/ahead"), COUNT(s, "/far/ahead_most"),
		     SIZE(s, "/far/ahead_bytes"), LATENCY(s, "/far/ahead_us"));
}

/* If there is something to say. */
static int block_order(const struct snapshot *s)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = verdict_order_text(s, &text);

	if (r < 0 || text.len == 0)
		return r;
	label("order");
	put_lines(text.data, " ");
	return 0;
}

/* The verdict in words. */
static int show_verdict(const struct snapshot *before, const struct snapshot *after)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct verdict verdict = verdict_of(before, after);
	int r = verdict_text(&verdict, snapshot_text(after, "/pack/path"), &text);

	if (r == 0)
		fputs(text.data, stdout);
	return r;
}

int show_once(const char *path, struct err *err)
{
	SCOPE(buf_release) struct buf json = BUF_INIT;
	SCOPE(snapshot_release) struct snapshot now = {0};
	struct snapshot before;
	struct json_object *log;
	double amplification;
	const char *policy;
	int r = asker_once(asker_of_stats(path), &json, err);

	if (r == 0)
		r = snapshot_parse(json.data, json.len, 0, &now, err);
	if (r == 0)
		r = block_pack(&now);
	if (r < 0)
		return r;
	amplification = snapshot_real(&now, "/amplification");
	policy = snapshot_text(&now, "/pool/policy");
	line("served", "%s, %s", COUNT_NOUN(&now, "/served_files", "file"),
	     SIZE(&now, "/served_bytes"));
	label("storage");
	printf("%s in %s %s read%s", SIZE(&now, "/device/bytes"), COUNT(&now, "/device/reads"),
	       snapshot_text(&now, "/io"), snapshot_count(&now, "/device/reads") == 1 ? "" : "s");
	if (snapshot_count(&now, "/device/errors"))
		printf(", %s failed", COUNT(&now, "/device/errors"));
	putchar('\n');
	if (amplification > 0)
		line("", "%.2f times what was served, counting each file once", amplification);
	if (snapshot_says(&now, "/cache_mode", "shared")) {
		line("cache", "the pool and the kernel keep what was read, policy %s", policy);
		line("", "the kernel has %s, at most %s", SIZE(&now, "/pool/page_cache"),
		     SIZE(&now, "/pool/page_cache_limit"));
	} else if (snapshot_says(&now, "/cache_mode", "pool")) {
		line("cache", "the pool keeps what was read, policy %s", policy);
	} else {
		line("cache", "the %s keeps what was read", snapshot_text(&now, "/cache_mode"));
	}
	block_disk(&now);
	block_pool(&now);
	block_server(&now);
	r = block_order(&now);
	if (r < 0)
		return r;
	line("bad files", "%s",
	     snapshot_count(&now, "/bad_files") ? COUNT(&now, "/bad_files") : "none");
	log = snapshot_member(&now, "/log", json_type_array);
	for (size_t i = 0; log && i < json_object_array_length(log); i++) {
		label(i ? "" : "messages");
		put_lines(snapshot_element(log, i), " ");
	}
	putchar('\n');
	before = snapshot_origin(&now);
	return show_verdict(&before, &now);
}

/* --- rows ------------------------------------------------------------------------------- */

/* Small numbers get a decimal: one read in two seconds is not 0. */
static void put_number(int width, double value)
{
	printf("%*.*f", width, value > 0 && value < 99.95, value);
}

/* What is known of the order in which files are read, if that has changed. */
static int show_order(const struct snapshot *before, const struct snapshot *after)
{
	static const char *const texts[] = {"/oracle/state", "/oracle/sampler", "/oracle/list"};
	bool same = snapshot_grown(before, after, "/oracle/seed") == 0 &&
		    snapshot_grown(before, after, "/oracle/epoch") == 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		same = same && snapshot_says(before, texts[i], snapshot_text(after, texts[i]));
	return same || snapshot_says(after, "/oracle/state", "watching") ? 0 : block_order(after);
}

/* An interval in one line: rates, and the verdict in up to three words. */
static void show_row(const struct snapshot *before, const struct snapshot *after)
{
	struct verdict verdict = verdict_of(before, after);
	double seconds = after->at - before->at;
	double served = (double)snapshot_grown(before, after, "/served_bytes") / 1e6;
	double hits = (double)snapshot_grown(before, after, "/pool/hits");
	double asked = hits + (double)snapshot_grown(before, after, "/pool/misses");
	/* All requests but those with a column, and those of foldstat itself. */
	uint64_t others = 0 - snapshot_grown(before, after, "/requests/read") -
			  snapshot_grown(before, after, "/requests/lookup") -
			  snapshot_grown(before, after, "/requests/getxattr");

	for (const char *const *sent = snapshot_requests; *sent; sent++)
		others += snapshot_grown(before, after, *sent);
	put_number(7, (double)snapshot_files(before, after) / seconds);
	put_number(7, (double)snapshot_grown(before, after, "/requests/read") / seconds);
	put_number(8, (double)snapshot_grown(before, after, "/requests/lookup") / seconds);
	put_number(7, (double)others / seconds);
	put_number(9, served / seconds);
	put_number(9, verdict.device_rate / 1e6);
	if (asked > 0)
		put_number(6, 100 * hits / asked);
	else
		printf("%6s", "-");
	put_number(7, 100 * verdict.waiting);
	printf("  %s\n", verdict_word(&verdict));
}

/* --- line by line ------------------------------------------------------------------------ */

struct watch {
	const struct watch_params *params;
	struct asker *asker;
	int signals; /* a descriptor: readable once the watching is to end */
	bool terminal;
	uint64_t lines;
	double next;		       /* when the next line is due */
	struct snapshot first, latest; /* the time that was watched */
};

/* Waits for the answer, or where fd is -1 for as long as this. Returns false if a signal asks to
 * stop. */
static bool wait_for(const struct watch *watch, int fd, double seconds)
{
	struct pollfd polled[] = {{.fd = watch->signals, .events = POLLIN},
				  {.fd = fd, .events = POLLIN}};
	double until = clock_seconds() + seconds;

	do {
		double left = fmax(0, until - clock_seconds());
		struct timespec t = {.tv_sec = (time_t)left,
				     .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};

		if (ppoll(polled, 2, fd < 0 ? &t : NULL, NULL) >= 0)
			return !polled[0].revents;
	} while (errno == EINTR);
	return false;
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
		puts("         ---- requests/s ----   ---- MB/s -----  pool  reads\n"
		     "files/s   read  lookup  other   served  storage  hit%  wait%  verdict");
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
		r = snapshot_parse(json.data, json.len, clock_seconds(), &after, err);
		if (r == 0)
			r = show_line(watch, &after);
	}
	watch->lines += r == 0;
	return r == 0 && fflush(stdout) != 0 ? -errno : r;
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
			      .next = clock_seconds()};
	int r = watch.asker && signal_fd >= 0 ? 0 : -errno;

	while (r == 0) {
		r = watch_step(&watch, err);
		if (r != 0 || watch.lines == params->count)
			break;
		/* Missed lines are not made up for. */
		watch.next = fmax(watch.next + params->interval, clock_seconds());
		if (!wait_for(&watch, -1, watch.next - clock_seconds()))
			break;
	}
	if (r < 0 && watch.lines && mounts_is_gone(r))
		err_set(err, r, "unmounted meanwhile");
	if (r >= 0 && !params->json) {
		/* Start below the ^C. */
		if (watch.terminal && watch.lines != params->count)
			putchar('\n');
		r = watch.lines ? show_verdict(&watch.first, &watch.latest) : 0;
	}
	asker_free(watch.asker);
	snapshot_release(&watch.first);
	snapshot_release(&watch.latest);
	return r < 0 ? r : 0;
}
