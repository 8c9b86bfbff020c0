#include "fs/stat/show.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/stat/duration.h"
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define LABEL_WIDTH 12
#define PAGE_WIDTH  80

/* These texts live until the end of the block that they are made in. */
#define SIZE(s, member)	 size_format(snapshot_count(s, member), (char[SIZE_TEXT]){0})
#define COUNT(s, member) count_format(snapshot_count(s, member), (char[SIZE_TEXT]){0})
#define COUNT_NOUN(s, member, noun) \
	count_noun(snapshot_count(s, member), noun, (char[SIZE_TEXT]){0})

#define REQUEST_PRICE 0.4e-6 /* dollars */

/* --- the block -------------------------------------------------------------------------- */

static void label(const char *name)
{
	printf("%-*s", LABEL_WIDTH, name);
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

static void block_pack(const struct snapshot *s)
{
	label("pack");
	puts(snapshot_text(s, "/pack/path"));
	label("");
	printf("%s, %s, id %s\n", COUNT_NOUN(s, "/pack/files", "file"), SIZE(s, "/pack/bytes"),
	       snapshot_text(s, "/id"));
}

/* Where they are not what ImageFolder gives. */
static void block_labels(const struct snapshot *s)
{
	if (!snapshot_count(s, "/labels/with_another_number") &&
	    !snapshot_count(s, "/labels/without_image"))
		return;
	label("labels");
	if (*snapshot_text(s, "/labels/text"))
		put_lines(snapshot_text(s, "/labels/text"), " ");
	else
		printf("ImageFolder gives %s another number; %s of %s without an image\n",
		       COUNT_NOUN(s, "/labels/with_another_number", "label"),
		       COUNT(s, "/labels/without_image"), COUNT(s, "/labels/known"));
}

static void block_uptime(const struct snapshot *s)
{
	char age[SIZE_TEXT];

	label("mounted");
	printf("%s ago, by foldfs %s; all counts are since then\n",
	       duration_format(snapshot_count(s, "/uptime_s"), age), snapshot_text(s, "/version"));
}

/* The kinds of requests that were sent, and how often. */
static int block_requests(const struct snapshot *s)
{
	struct json_object *requests = snapshot_member(s, "/requests", json_type_object);
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = buf_adds(&text, "of the kernel:");

	if (!requests)
		return r;
	json_object_object_foreach(requests, name, count)
	{
		uint64_t sent = snapshot_number(count);

		if (sent && r == 0 && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz")])
			r = buf_addf(&text, "   %s %s", name,
				     count_format(sent, (char[SIZE_TEXT]){0}));
	}
	label("requests");
	if (r == 0)
		put_lines(text.data, "   ");
	return r;
}

static void block_bytes(const struct snapshot *s)
{
	double amplification = snapshot_real(s, "/amplification");

	label("served");
	printf("%s, %s\n", COUNT_NOUN(s, "/served_files", "file"), SIZE(s, "/served_bytes"));
	label("storage");
	printf("%s in %s %s read%s", SIZE(s, "/device/bytes"), COUNT(s, "/device/reads"),
	       snapshot_text(s, "/io"), snapshot_count(s, "/device/reads") == 1 ? "" : "s");
	if (snapshot_count(s, "/device/errors"))
		printf(", %s failed", COUNT(s, "/device/errors"));
	putchar('\n');
	if (amplification > 0) {
		label("");
		printf("%.2f times what was served, counting each file once\n", amplification);
	}
}

static void block_cache(const struct snapshot *s)
{
	const char *policy = snapshot_text(s, "/pool/policy");

	label("cache");
	if (snapshot_says(s, "/cache_mode", "shared")) {
		printf("the pool and the kernel keep what was read, policy %s\n", policy);
		label("");
		printf("the kernel has %s, at most %s\n", SIZE(s, "/pool/page_cache"),
		       SIZE(s, "/pool/page_cache_limit"));
	} else if (snapshot_says(s, "/cache_mode", "pool")) {
		printf("the pool keeps what was read, policy %s\n", policy);
	} else {
		printf("the %s keeps what was read\n", snapshot_text(s, "/cache_mode"));
	}
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
	if (asked > 0) {
		label("");
		printf("%.1f %% of all bytes came from it\n", 100 * near / asked);
	}
	if (snapshot_count(s, "/disk_cache/damaged")) {
		label("");
		printf("%s, fetched again\n",
		       COUNT_NOUN(s, "/disk_cache/damaged", "damaged piece"));
	}
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
	if (snapshot_count(s, "/pool/evictions")) {
		label("");
		printf("%s left it to make room\n", COUNT_NOUN(s, "/pool/evictions", "piece"));
	}
	if (snapshot_is_shrunk(s)) {
		label("");
		printf("shrunk to %s: memory is short\n", SIZE(s, "/pool/limit"));
	}
}

/* Where there is one. */
static void block_preload(const struct snapshot *s)
{
	if (!snapshot_count(s, "/preloaded"))
		return;
	label("preload");
	printf("%u %% of %s%s\n", snapshot_preloaded(s), SIZE(s, "/pack/bytes"),
	       snapshot_preload_waits(s) ? "; the rest waits for room in the pool" : "");
}

static void block_ahead(const struct snapshot *s)
{
	label("read ahead");
	if (snapshot_count(s, "/prefetch/issued"))
		printf("%s: %s used, %s wasted\n", SIZE(s, "/prefetch/issued"),
		       SIZE(s, "/prefetch/used"), SIZE(s, "/prefetch/wasted"));
	else
		puts("nothing");
}

static void block_waits(const struct snapshot *s)
{
	char p50[SIZE_TEXT], p99[SIZE_TEXT];

	label("waits");
	if (snapshot_count(s, "/wait/reads"))
		printf("%s waited: half of them %s at most, 99 %% %s at most\n",
		       COUNT_NOUN(s, "/wait/reads", "read"),
		       latency_format(snapshot_count(s, "/wait/p50_us"), p50),
		       latency_format(snapshot_count(s, "/wait/p99_us"), p99));
	else
		puts("none");
}

/* If the pack is far. The price is about what the large clouds charge for a GET. */
static void block_server(const struct snapshot *s)
{
	double price = (double)snapshot_count(s, "/far/requests") * REQUEST_PRICE;
	char p50[SIZE_TEXT], p99[SIZE_TEXT];

	if (!snapshot_count(s, "/far/requests"))
		return;
	label("server");
	printf("%s in %s (", SIZE(s, "/far/bytes"), COUNT_NOUN(s, "/far/requests", "request"));
	printf(price < 0.01 ? "under $0.01" : "$%.2f", price);
	printf(" at $0.40 a million), %s under way\n", COUNT(s, "/far/under_way"));
	label("");
	printf("half of them were answered within %s, 99 %% within %s",
	       latency_format(snapshot_count(s, "/far/first_byte_p50_us"), p50),
	       latency_format(snapshot_count(s, "/far/first_byte_p99_us"), p99));
	if (snapshot_count(s, "/far/retries"))
		printf("; %s repeated, %s of them as it was overloaded", COUNT(s, "/far/retries"),
		       COUNT(s, "/far/refused"));
	putchar('\n');
	if (!snapshot_count(s, "/far/ahead_us"))
		return;
	label("");
	printf("reading ahead: %s of %s under way, each brings %s in %s\n", COUNT(s, "/far/ahead"),
	       COUNT(s, "/far/ahead_most"), SIZE(s, "/far/ahead_bytes"),
	       latency_format(snapshot_count(s, "/far/ahead_us"), p50));
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

static void block_bad(const struct snapshot *s)
{
	label("bad files");
	puts(snapshot_count(s, "/bad_files") ? COUNT(s, "/bad_files") : "none");
}

/* The messages of the mount since it went to the background. */
static void block_log(const struct snapshot *s)
{
	struct json_object *log = snapshot_member(s, "/log", json_type_array);

	for (size_t i = 0; log && i < json_object_array_length(log); i++) {
		label(i ? "" : "messages");
		put_lines(snapshot_element(log, i), " ");
	}
}

int show_block(const struct snapshot *now)
{
	int r;

	block_pack(now);
	block_labels(now);
	block_uptime(now);
	r = block_requests(now);
	block_bytes(now);
	block_cache(now);
	block_disk(now);
	block_pool(now);
	block_preload(now);
	block_ahead(now);
	block_waits(now);
	block_server(now);
	if (r == 0)
		r = block_order(now);
	block_bad(now);
	block_log(now);
	putchar('\n');
	return r;
}

/* --- rows ------------------------------------------------------------------------------- */

void show_header(void)
{
	puts("         ---- requests/s ----   ---- MB/s -----  pool  reads\n"
	     "files/s   read  lookup  other   served  storage  hit%  wait%  verdict");
}

/* Small numbers get a decimal: one read in two seconds is not 0. */
static void put_number(int width, double value)
{
	printf("%*.*f", width, value > 0 && value < 99.95, value);
}

/* All requests but those with a column, and those of foldstat itself. */
static uint64_t other_requests(const struct snapshot *s)
{
	static const char *const shown[] = {"read", "lookup", "getxattr"};
	struct json_object *requests = snapshot_member(s, "/requests", json_type_object);
	uint64_t sum = 0;

	if (!requests)
		return 0;
	json_object_object_foreach(requests, name, count)
	{
		bool other = true;

		for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
			other = other && strcmp(name, shown[i]) != 0;
		sum += other ? snapshot_number(count) : 0;
	}
	return sum;
}

static void put_hits(const struct snapshot *before, const struct snapshot *after)
{
	double hits = (double)snapshot_grown(before, after, "/pool/hits");
	double asked = hits + (double)snapshot_grown(before, after, "/pool/misses");

	if (asked > 0)
		put_number(6, 100 * hits / asked);
	else
		printf("%6s", "-");
}

int show_order(const struct snapshot *before, const struct snapshot *after)
{
	static const char *const texts[] = {"/oracle/state", "/oracle/sampler", "/oracle/list"};
	bool same = snapshot_grown(before, after, "/oracle/seed") == 0 &&
		    snapshot_grown(before, after, "/oracle/epoch") == 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		same = same && snapshot_says(before, texts[i], snapshot_text(after, texts[i]));
	return same || snapshot_says(after, "/oracle/state", "watching") ? 0 : block_order(after);
}

void show_row(const struct snapshot *before, const struct snapshot *after)
{
	struct verdict verdict = verdict_of(before, after);
	double seconds = after->at - before->at;
	double served = (double)snapshot_grown(before, after, "/served_bytes") / 1e6;

	put_number(7, (double)snapshot_files(before, after) / seconds);
	put_number(7, (double)snapshot_grown(before, after, "/requests/read") / seconds);
	put_number(8, (double)snapshot_grown(before, after, "/requests/lookup") / seconds);
	put_number(7, (double)(other_requests(after) - other_requests(before)) / seconds);
	put_number(9, served / seconds);
	put_number(9, verdict.device_rate / 1e6);
	put_hits(before, after);
	put_number(7, 100 * verdict.waiting);
	printf("  %s\n", verdict_word(&verdict));
}

int show_verdict(const struct snapshot *before, const struct snapshot *after)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct verdict verdict = verdict_of(before, after);
	int r = verdict_text(&verdict, snapshot_text(after, "/pack/path"), &text);

	if (r == 0)
		fputs(text.data, stdout);
	return r;
}
