#include "fs/stat/verdict.h"
#include "base/size.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FREE_BELOW  0.05
#define LIMIT_ABOVE 0.80
#define HANGS_MS    2000 /* longer than a read takes on storage that is merely slow */

static enum verdict_kind verdict_kind_of(const struct snapshot *before,
					 const struct snapshot *after, double waiting)
{
	const char *served = "/served_bytes";

	if (snapshot_count(after, "/wait/oldest_ms") >= HANGS_MS)
		return VERDICT_HANGS;
	if (snapshot_count(after, "/requests/read") == 0 && snapshot_count(after, served) == 0)
		return VERDICT_NOTHING;
	/* A wait that ended now may belong to a read that came before. What comes by a push is
	 * not asked for. */
	if (waiting == 0 && snapshot_grown(before, after, "/requests/read") == 0 &&
	    snapshot_grown(before, after, served) == 0)
		return snapshot_files(before, after) ? VERDICT_KERNEL : VERDICT_SILENT;
	if (waiting < FREE_BELOW)
		return VERDICT_FREE;
	return waiting < LIMIT_ABOVE ? VERDICT_SLOWED : VERDICT_LIMIT;
}

/* A link is full if nearly as many reads are under way as it takes. */
static enum limit limit_of(const struct snapshot *before, const struct snapshot *after)
{
	if (!snapshot_grown(before, after, "/far/requests") ||
	    snapshot_grown(before, after, "/disk_cache/near_bytes") >
		    snapshot_grown(before, after, "/disk_cache/far_bytes"))
		return LIMIT_DISK;
	if (snapshot_grown(before, after, "/far/refused"))
		return LIMIT_SERVER;
	if (snapshot_count(after, "/far/ahead") * 4 >= snapshot_count(after, "/far/ahead_most") * 3)
		return LIMIT_LINK;
	if (snapshot_says(after, "/oracle/state", "locked") && snapshot_flag(after, "/far/full"))
		return LIMIT_MEMORY;
	return LIMIT_LATENCY;
}

/* What may still help readers that wait, or that nothing does. */
static const char *advice_of(const struct snapshot *s, enum limit limit)
{
	if (snapshot_says(s, "/oracle/state", "searching"))
		return "their order is still being searched for\n";
	if (snapshot_says(s, "/oracle/state", "locked"))
		return limit == LIMIT_DISK
			       ? "their order is known, and read ahead as fast as the device can\n"
		       : limit == LIMIT_MEMORY
			       ? "their order is known: more memory ('--pool') helps\n"
			       : "their order is known, and read ahead as fast as it comes\n";
	if (snapshot_says(s, "/oracle/state", "none"))
		return "their order was not recognised: 'foldstat --order' can give it\n";
	return "";
}

struct verdict verdict_of(const struct snapshot *before, const struct snapshot *after)
{
	double seconds = after->at - before->at;
	double waited = (double)snapshot_grown(before, after, "/wait/total_us") / 1e6;
	double device = (double)snapshot_grown(before, after, "/device/bytes");
	double waiting = snapshot_share(waited, seconds);
	enum limit limit = limit_of(before, after);

	return (struct verdict){
		.kind = verdict_kind_of(before, after, waiting),
		.limit = limit,
		.advice = advice_of(after, limit),
		.waiting = waiting,
		.device_rate = snapshot_share(device, seconds),
		.bad_files = snapshot_grown(before, after, "/bad_files"),
		.lost = snapshot_member(after, "/far/requests", json_type_int) &&
			snapshot_grown(before, after, "/bad_files") >
				snapshot_grown(before, after, "/damaged_files"),
		.changed = snapshot_flag(after, "/changed"),
		.parked = snapshot_count(after, "/wait/parked"),
		.oldest_s = snapshot_count(after, "/wait/oldest_ms") / 1000,
	};
}

static const struct {
	const char *word, *sentence;
} limits[] = {
	[LIMIT_DISK] = {"disk is the limit", "the disk is the limit"},
	[LIMIT_LINK] = {"network limits", "the network is the limit"},
	[LIMIT_LATENCY] = {"latency limits", "the server's latency is the limit"},
	[LIMIT_MEMORY] = {"memory limits", "memory is the limit"},
	[LIMIT_SERVER] = {"server overloaded", "the server is overloaded"},
};

const char *verdict_word(const struct verdict *verdict)
{
	static const char *const words[] = {
		[VERDICT_NOTHING] = "nothing read yet", [VERDICT_KERNEL] = "kernel's cache",
		[VERDICT_SILENT] = "cached, or idle",	[VERDICT_FREE] = "not the storage",
		[VERDICT_SLOWED] = "storage slows",	[VERDICT_HANGS] = "storage hangs",
	};

	if (verdict->changed)
		return "pack has changed";
	if (verdict->bad_files)
		return "unreadable files";
	return verdict->kind == VERDICT_LIMIT ? limits[verdict->limit].word : words[verdict->kind];
}

static const char *rate_text(const struct verdict *verdict, char text[static 32])
{
	double rate = verdict->device_rate / 1e6;

	snprintf(text, 32, "%.*f MB/s from the %s", rate < 99.95, rate,
		 verdict->limit == LIMIT_DISK ? "device" : "server");
	return text;
}

static const char *waiting_text(const struct verdict *verdict, char text[static 64])
{
	double waiting = verdict->waiting, percent = 100 * waiting;

	if (waiting == 0)
		return "readers never waited";
	if (waiting < 0.001)
		return "readers waited less than 0.1 % of the time";
	if (waiting > 1)
		snprintf(text, 64, "%.1f reads waiting at any time", waiting);
	else
		snprintf(text, 64, "readers waited %.*f %% of the time", percent < 9.95, percent);
	return text;
}

int verdict_text(const struct verdict *verdict, const char *pack, struct buf *buf)
{
	char bad[SIZE_TEXT], reads[SIZE_TEXT], waiting[64], rate[32];

	if (verdict->changed)
		buf_addf(buf,
			 "the pack was written to while mounted: reads fail until\n"
			 "'%s' is mounted again\n",
			 pack);
	else if (verdict->lost)
		buf_addf(buf,
			 "%s could not be read: the server did not deliver; once it does,\n"
			 "they can be\n",
			 count_noun(verdict->bad_files, "file", bad));
	else if (verdict->bad_files)
		buf_addf(buf, "%s could not be read: 'foldpack verify %s' lists all\n",
			 count_noun(verdict->bad_files, "file", bad), pack);
	switch (verdict->kind) {
	case VERDICT_NOTHING:
		return buf_adds(buf, "nothing was read yet\n");
	case VERDICT_KERNEL:
		return buf_adds(buf, "from the kernel's cache: all; storage is not the limit\n");
	case VERDICT_SILENT:
		return buf_adds(buf, "nothing is read, or the kernel's cache has it all\n");
	case VERDICT_FREE:
		return buf_addf(buf, "%s: storage is not the limit\n",
				waiting_text(verdict, waiting));
	case VERDICT_SLOWED:
		return buf_addf(buf, "%s: storage slows them, %s\n%s",
				waiting_text(verdict, waiting), rate_text(verdict, rate),
				verdict->advice);
	case VERDICT_LIMIT:
		return buf_addf(buf, "%s: %s, %s\n%s", limits[verdict->limit].sentence,
				rate_text(verdict, rate), waiting_text(verdict, waiting),
				verdict->advice);
	case VERDICT_HANGS:
		return buf_addf(
			buf, "storage does not answer: %s waiting, the first for %" PRIu64 " s\n",
			count_noun(verdict->parked, "read", reads), verdict->oldest_s);
	}
	return buf_error(buf);
}

/* --- the order --------------------------------------------------------------------------- */

/* A given order has no list and no seed, and was not searched for. */
static void add_known(const struct snapshot *s, struct buf *buf)
{
	const char *list = snapshot_text(s, "/oracle/list");
	double search = *list ? snapshot_real(s, "/oracle/search_s") : 0;

	buf_adds(buf, snapshot_text(s, "/oracle/sampler"));
	if (*list)
		buf_addf(buf, " over %s", list);
	if (snapshot_count(s, "/oracle/files"))
		buf_addf(buf, "; epoch %" PRIu64 ": %s of %s files read",
			 snapshot_count(s, "/oracle/epoch"), COUNT(s, "/oracle/position"),
			 COUNT(s, "/oracle/files"));
	if (*list)
		buf_addf(buf, "; its seed %" PRIu64, snapshot_count(s, "/oracle/seed"));
	if (search > 0)
		buf_addf(buf, " was found in %.*f s", search < 9.95, search);
}

struct said {
	const char *word, *sentence;
};

/* What a word of the stats means; NULL: it is of another release. */
static const char *find_sentence(const struct said *said, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(word, said[i].word) == 0)
			return said[i].sentence;
	return NULL;
}

/* Says why no order is known. An older release gives its state only. */
static void add_why(const struct snapshot *s, struct buf *buf)
{
	bool none = snapshot_says(s, "/oracle/state", "none");
	static const struct said sentences[] = {
		{"idle", "nothing was read yet"},
		{"too few files read",
		 "not known yet: the present readers have read too few files"},
		{"path order", "one file after the other, by name: there is nothing to find"},
		{"list too short",
		 "not recognised: no usual seed fits, and a search of all would take longer than "
		 "the epoch"},
		{"not a known order",
		 "not recognised: no shuffle that foldfs knows; all is read ahead in one pass"},
	};
	const char *why = snapshot_text(s, "/oracle/why"), *sentence;

	sentence = find_sentence(sentences, sizeof(sentences) / sizeof(sentences[0]), why);
	if (strcmp(why, "search would not pay") == 0)
		buf_addf(buf,
			 "not recognised; not needed: everything came in time (a search of all "
			 "seeds would take %" PRIu64 " s of a processor)",
			 snapshot_count(s, "/oracle/full_search_s"));
	else
		buf_adds(buf, sentence ? sentence : none ? "not recognised" : "not known yet");
}

int verdict_order_text(const struct snapshot *s, struct buf *buf)
{
	uint64_t dropped = snapshot_count(s, "/oracle/dropped");

	if (snapshot_says(s, "/oracle/state", "locked"))
		add_known(s, buf);
	else if (snapshot_says(s, "/oracle/state", "searching"))
		buf_addf(buf, "searching: %" PRIu64 " %% of all seeds were tested",
			 snapshot_count(s, "/oracle/search_part"));
	else if (snapshot_says(s, "/oracle/state", "none") ||
		 snapshot_says(s, "/oracle/state", "watching"))
		add_why(s, buf);
	if (dropped)
		buf_addf(buf, "%s%" PRIu64 " reads came too fast to be looked at",
			 buf->len ? "; " : "", dropped);
	return buf_error(buf);
}

const char *verdict_disk_text(const struct snapshot *s)
{
	static const struct said sentences[] = {
		{"growing", "grows as files are read"},
		{"filling", "the rest is being fetched"},
		{"complete", "complete"},
		{"full", "full: what is new is not kept"},
		{"failed", "not written to any more: the disk was full, or failed"},
		{"off", "could not be opened: all comes from the server"},
		{"alone", "read alone: the server cannot be reached"},
	};
	const char *state = snapshot_text(s, "/disk_cache/state");
	const char *sentence =
		find_sentence(sentences, sizeof(sentences) / sizeof(sentences[0]), state);

	return sentence ? sentence : state;
}

/* --- times ---------------------------------------------------------------------------------- */

const char *duration_format(uint64_t seconds, char buf[static SIZE_TEXT])
{
	static const struct {
		const char *name, *next_name;
		uint64_t seconds, next_seconds;
	} units[] = {{" d", " h", 86400, 3600}, {" h", " min", 3600, 60}, {" min", " s", 60, 1}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t count = seconds / units[i].seconds;
		uint64_t next = seconds % units[i].seconds / units[i].next_seconds;

		if (count && next)
			snprintf(buf, SIZE_TEXT, "%" PRIu64 "%s %" PRIu64 "%s", count,
				 units[i].name, next, units[i].next_name);
		else if (count)
			snprintf(buf, SIZE_TEXT, "%" PRIu64 "%s", count, units[i].name);
		if (count)
			return buf;
	}
	snprintf(buf, SIZE_TEXT, "%" PRIu64 " s", seconds);
	return buf;
}

const char *latency_format(uint64_t us, char buf[static SIZE_TEXT])
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
