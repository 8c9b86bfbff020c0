#include "fs/stat/show.h"
#include "base/scope.h"
#include "base/size.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LABEL_WIDTH 12
#define PAGE_WIDTH  80

static const struct request {
	enum count count;
	const char *name;
} requests[] = {
	{COUNT_READ, "read"},	    {COUNT_LOOKUP, "lookup"},		{COUNT_GETATTR, "getattr"},
	{COUNT_READDIR, "readdir"}, {COUNT_READDIRPLUS, "readdirplus"}, {COUNT_OPEN, "open"},
	{COUNT_IOCTL, "ioctl"},	    {COUNT_GETXATTR, "getxattr"},	{COUNT_FORGET, "forget"},
	{COUNT_NOTIFY, "notify"},
};

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

/* --- the block -------------------------------------------------------------------------- */

static void label(const char *name)
{
	printf("%-*s", LABEL_WIDTH, name);
}

static const char *size_text(const struct snapshot *s, enum count count, char buf[static SIZE_TEXT])
{
	return size_format(s->counts[count], buf);
}

static const char *count_text(const struct snapshot *s, enum count count,
			      char buf[static SIZE_TEXT])
{
	return count_format(s->counts[count], buf);
}

static void block_pack(const struct snapshot *s)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT];

	label("pack");
	puts(s->pack);
	label("");
	printf("%s, %s, id %s\n", count_noun(s->counts[COUNT_FILES], "file", files),
	       size_text(s, COUNT_BYTES, bytes), s->id);
}

/* "3 d 4 h", "2 h 5 min", "12 s": the two largest units. */
static void block_uptime(const struct snapshot *s)
{
	uint64_t seconds = s->counts[COUNT_UPTIME], minutes = seconds / 60, hours = minutes / 60;

	label("mounted");
	if (hours >= 24)
		printf("%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
	else if (hours)
		printf("%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	else if (minutes)
		printf("%" PRIu64 " min %" PRIu64 " s", minutes, seconds % 60);
	else
		printf("%" PRIu64 " s", seconds);
	printf(" ago, by foldfs %s; all counts are since then\n", s->version);
}

/* Those that were sent, as many to a line as fit. */
static void block_requests(const struct snapshot *s)
{
	int column = LABEL_WIDTH;

	label("requests");
	for (size_t i = 0; i < REQUESTS; i++) {
		char count[SIZE_TEXT], entry[2 * SIZE_TEXT];
		int len;

		if (s->counts[requests[i].count] == 0)
			continue;
		len = snprintf(entry, sizeof(entry), "%s %s", requests[i].name,
			       count_text(s, requests[i].count, count));
		if (column > LABEL_WIDTH && column + 3 + len > PAGE_WIDTH) {
			putchar('\n');
			label("");
			column = LABEL_WIDTH;
		}
		column += printf("%s%s", column > LABEL_WIDTH ? "   " : "", entry);
	}
	putchar('\n');
}

static void block_bytes(const struct snapshot *s)
{
	char bytes[SIZE_TEXT], reads[SIZE_TEXT], errors[SIZE_TEXT];

	label("served");
	printf("%s\n", size_text(s, COUNT_SERVED, bytes));
	label("device");
	printf("%s in %s %s read%s", size_text(s, COUNT_DEVICE_BYTES, bytes),
	       count_text(s, COUNT_DEVICE_READS, reads), s->io,
	       s->counts[COUNT_DEVICE_READS] == 1 ? "" : "s");
	if (s->counts[COUNT_DEVICE_ERRORS])
		printf(", %s failed", count_text(s, COUNT_DEVICE_ERRORS, errors));
	putchar('\n');
	if (s->amplification > 0) {
		label("");
		printf("%.2f times the distinct bytes served\n", s->amplification);
	}
}

static void block_cache(const struct snapshot *s)
{
	char kept[SIZE_TEXT], limit[SIZE_TEXT];

	label("cache");
	if (strcmp(s->cache, "shared") == 0) {
		printf("the pool and the kernel keep what was read, policy %s\n", s->policy);
		label("");
		printf("the kernel: %s of %s\n", size_text(s, COUNT_PAGE_CACHE, kept),
		       size_text(s, COUNT_PAGE_CACHE_LIMIT, limit));
	} else if (strcmp(s->cache, "pool") == 0) {
		printf("the pool keeps what was read, policy %s\n", s->policy);
	} else {
		printf("the %s keeps what was read\n", s->cache);
	}
}

static void block_pool(const struct snapshot *s)
{
	char used[SIZE_TEXT], budget[SIZE_TEXT], limit[SIZE_TEXT], evictions[SIZE_TEXT];
	double hits = (double)s->counts[COUNT_POOL_HITS];
	double asked = hits + (double)s->counts[COUNT_POOL_MISSES];

	label("pool");
	printf("%s of %s", size_text(s, COUNT_POOL_USED, used),
	       size_text(s, COUNT_POOL_BUDGET, budget));
	if (asked > 0)
		printf("; %.1f %% hits", 100 * hits / asked);
	if (s->counts[COUNT_POOL_EVICTIONS])
		printf(", %s evictions", count_text(s, COUNT_POOL_EVICTIONS, evictions));
	putchar('\n');
	if (snapshot_is_shrunk(s)) {
		label("");
		printf("shrunk to %s: memory is short\n", size_text(s, COUNT_POOL_LIMIT, limit));
	}
}

/* Where there is one. */
static void block_preload(const struct snapshot *s)
{
	char bytes[SIZE_TEXT];

	if (!s->counts[COUNT_PRELOADED])
		return;
	label("preload");
	printf("%u %% of %s%s\n", snapshot_preloaded(s), size_text(s, COUNT_BYTES, bytes),
	       snapshot_preload_waits(s) ? "; the rest waits for room in the pool" : "");
}

static void block_ahead(const struct snapshot *s)
{
	char issued[SIZE_TEXT], used[SIZE_TEXT], wasted[SIZE_TEXT];

	label("read ahead");
	if (s->counts[COUNT_AHEAD_ISSUED])
		printf("%s: %s used, %s wasted\n", size_text(s, COUNT_AHEAD_ISSUED, issued),
		       size_text(s, COUNT_AHEAD_USED, used),
		       size_text(s, COUNT_AHEAD_WASTED, wasted));
	else
		puts("nothing");
}

static const char *time_format(uint64_t us, char buf[static SIZE_TEXT])
{
	double value = (double)us;

	if (us < 1000)
		snprintf(buf, SIZE_TEXT, "%.0f us", value);
	else if (us < 999500)
		snprintf(buf, SIZE_TEXT, "%.3g ms", value / 1e3);
	else
		snprintf(buf, SIZE_TEXT, us < 100000000 ? "%.3g s" : "%.0f s", value / 1e6);
	return buf;
}

static void block_waits(const struct snapshot *s)
{
	char reads[SIZE_TEXT], p50[SIZE_TEXT], p99[SIZE_TEXT];

	label("waits");
	if (s->counts[COUNT_WAIT_READS])
		printf("%s; half of them up to %s, 99 %% up to %s\n",
		       count_noun(s->counts[COUNT_WAIT_READS], "read", reads),
		       time_format(s->counts[COUNT_WAIT_P50], p50),
		       time_format(s->counts[COUNT_WAIT_P99], p99));
	else
		puts("none");
}

/* Broken between words, where a line would get too long. */
static void put_words(const char *text)
{
	int column = LABEL_WIDTH;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > LABEL_WIDTH && column + 1 + len > PAGE_WIDTH) {
			putchar('\n');
			label("");
			column = LABEL_WIDTH;
		}
		column += printf("%s%.*s", column > LABEL_WIDTH ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* Where there is something to say. */
static int block_order(const struct snapshot *s)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = verdict_order_text(s, &text);

	if (r < 0 || text.len == 0)
		return r;
	label("order");
	put_words(text.data);
	return 0;
}

static void block_bad(const struct snapshot *s)
{
	char bad[SIZE_TEXT];

	label("bad files");
	puts(s->counts[COUNT_BAD_FILES] ? count_text(s, COUNT_BAD_FILES, bad) : "none");
}

/* What the mount has said since it went to the background. */
static void block_log(const struct snapshot *s)
{
	for (unsigned i = 0; i < s->log_lines; i++) {
		label(i ? "" : "messages");
		put_words(s->log[i]);
	}
}

int show_block(const struct snapshot *now)
{
	int r;

	block_pack(now);
	block_uptime(now);
	block_requests(now);
	block_bytes(now);
	block_cache(now);
	block_pool(now);
	block_preload(now);
	block_ahead(now);
	block_waits(now);
	r = block_order(now);
	block_bad(now);
	block_log(now);
	putchar('\n');
	return r;
}

/* --- rows ------------------------------------------------------------------------------- */

void show_header(void)
{
	puts("--------- requests/s ---------  ---- MB/s -----  pool  reads\n"
	     "   read  lookup getattr  other   served  device  hit%  wait%  verdict");
}

/* Small numbers with one decimal: a read in two seconds is not none. */
static void put_number(int width, double value)
{
	printf("%*.*f", width, value > 0 && value < 99.95, value);
}

/* All but what foldstat itself asks. */
static uint64_t other_requests(const struct snapshot *before, const struct snapshot *after)
{
	return snapshot_grown(before, after, COUNT_READDIR) +
	       snapshot_grown(before, after, COUNT_READDIRPLUS) +
	       snapshot_grown(before, after, COUNT_OPEN) +
	       snapshot_grown(before, after, COUNT_IOCTL) +
	       snapshot_grown(before, after, COUNT_FORGET) +
	       snapshot_grown(before, after, COUNT_NOTIFY);
}

static void put_hits(const struct snapshot *before, const struct snapshot *after)
{
	double hits = (double)snapshot_grown(before, after, COUNT_POOL_HITS);
	double asked = hits + (double)snapshot_grown(before, after, COUNT_POOL_MISSES);

	if (asked > 0)
		put_number(6, 100 * hits / asked);
	else
		printf("%6s", "-");
}

int show_order(const struct snapshot *before, const struct snapshot *after)
{
	bool same = strcmp(before->oracle, after->oracle) == 0 &&
		    strcmp(before->sampler, after->sampler) == 0 &&
		    strcmp(before->list, after->list) == 0 &&
		    snapshot_grown(before, after, COUNT_ORDER_SEED) == 0 &&
		    snapshot_grown(before, after, COUNT_ORDER_EPOCH) == 0;

	return same || strcmp(after->oracle, "watching") == 0 ? 0 : block_order(after);
}

void show_row(const struct snapshot *before, const struct snapshot *after)
{
	struct verdict verdict = verdict_of(before, after);
	double seconds = after->at - before->at;
	double served = (double)snapshot_grown(before, after, COUNT_SERVED) / 1e6;

	put_number(7, (double)snapshot_grown(before, after, COUNT_READ) / seconds);
	put_number(8, (double)snapshot_grown(before, after, COUNT_LOOKUP) / seconds);
	put_number(8, (double)snapshot_grown(before, after, COUNT_GETATTR) / seconds);
	put_number(7, (double)other_requests(before, after) / seconds);
	put_number(9, served / seconds);
	put_number(8, verdict.device_rate / 1e6);
	put_hits(before, after);
	put_number(7, 100 * verdict.waiting);
	printf("  %s\n", verdict_word(&verdict));
}

int show_verdict(const struct snapshot *before, const struct snapshot *after)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct verdict verdict = verdict_of(before, after);
	int r = verdict_text(&verdict, after->pack, &text);

	if (r == 0)
		fputs(text.data, stdout);
	return r;
}
