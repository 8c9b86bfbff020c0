/* When does a reader that lives on from epoch to epoch, and that no forecast follows, begin anew?
 * When it asks for REPEATS files in a row that were asked for before, after FRESH that were not:
 * then an epoch has ended, and all its readers begin anew, with what they asked for again already,
 * or with what they ask for next.
 *
 * Mosaics and other jobs ask for some files again too. Of F fresh files and S that came again, the
 * next one comes again with a probability of S / (F + S) on average, and by now up to twice that.
 * Where that gives REPEATS in a row more often than once in 1 / CHANCE times, more are waited for;
 * where it takes more than REPEATS_MOST, nothing is decided.
 *
 * One file is reported more than once: it is opened, read in pieces, perhaps opened twice. So a
 * reader's present file is not counted again; reader 0, which stands for many, has HELD of them. */
#include "cache/order/watch.h"
#include "base/bits.h"
#include "base/math.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READERS	     1024 /* a node of 8 ranks with 64 workers each has 520 */
#define REPEATS	     4
#define REPEATS_MOST 32
#define CHANCE	     1e-6
#define HELD	     16
#define NEAR	     16 /* a file and the one after it: parts of large ones have numbers, too */
#define FRESH	     32
#define LEAST	     4	  /* accesses, before which a reader does not count */
#define OWN	     0.25 /* the least share of a reader's files that its own forecast foresees */
#define OWN_MOST     (63.0 / 64)
#define OWN_TURNS    64 /* files over which that share is averaged */
#define TRUSTED	     20 /* bits: odds of a million that a reader follows a forecast */
#define GOES_ON	     9	/* the same of the next one: two files, each one of a hundred */
#define TRUST_MOST   24 /* so that a few misses end it */

struct reader {
	uint32_t id;
	uint32_t held[HELD];
	unsigned held_next;
	uint32_t asked;	   /* accesses since it began */
	double trust;	   /* log2 of the odds that it follows a forecast */
	double own;	   /* the share of its files that forecasts foresaw */
	uint64_t forecast; /* the one that it follows, or followed last */
	uint64_t foresaw;  /* the one that foresaw its last file that another than this did, */
	double turns_to;   /* and log2 of the odds that it goes on with that one */
	uint32_t fresh;	   /* since the last epoch: files that nobody had asked for before, */
	uint32_t strays;   /* others before the last of these, */
	uint32_t again;	   /* and others in a row after it, */
	uint32_t repeated[REPEATS_MOST]; /* which are these */
	uint32_t epoch;
	uint64_t began;	 /* the turn */
	uint64_t turned; /* its last turn */
};

struct entry {
	uint64_t turn;
	struct watch_access access;
};

struct watch {
	uint64_t turns;
	uint32_t epoch;
	uint64_t files;
	uint8_t *seen; /* a bit for each file that was asked for in this epoch */
	struct reader readers[READERS];
	uint32_t ids[READERS];	/* theirs, side by side: each turn looks for one */
	unsigned used;		/* places in both */
	struct reader *turning; /* the one that had the last turn */
	struct entry log[WATCH_LOG];
	uint64_t logged;
	uint32_t recent[WATCH_RECENT];
};

int watch_new(uint64_t files, struct watch **ret)
{
	struct watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->files = files;
	watch->seen = calloc(1, files / 8 + 1);
	if (!watch->seen) {
		free(watch);
		return -ENOMEM;
	}
	*ret = watch;
	return 0;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	free(watch->seen);
	free(watch);
}

/* --- readers --------------------------------------------------------------------------------- */

/* Its place, or the number of those that are used. */
static unsigned find_reader(const struct watch *watch, uint32_t id)
{
	unsigned at = 0;

	while (at < watch->used && watch->ids[at] != id)
		at++;
	return at;
}

static struct reader *reader_of(struct watch *watch, uint32_t id)
{
	unsigned at = find_reader(watch, id);
	struct reader *reader;

	if (at < watch->used)
		return &watch->readers[at];
	/* The one that asked for nothing for longest has ended. */
	if (at == READERS)
		at = 0;
	for (unsigned i = 0; watch->used == READERS && i < READERS; i++)
		if (watch->readers[i].turned < watch->readers[at].turned)
			at = i;
	if (watch->used < READERS)
		watch->used++;
	watch->ids[at] = id;
	reader = &watch->readers[at];
	*reader = (struct reader){.id = id, .own = OWN, .epoch = watch->epoch};
	memset(reader->held, 0xff, sizeof(reader->held));
	return reader;
}

/* What it asked for last, 1, or before. */
static uint32_t held(const struct reader *reader, unsigned before)
{
	return reader->held[(reader->held_next + HELD - before) % HELD];
}

static unsigned most_held(const struct reader *reader)
{
	return reader->id ? 1 : HELD;
}

bool watch_turn(struct watch *watch, uint32_t id, uint32_t file)
{
	struct reader *reader = reader_of(watch, id);

	for (unsigned i = 1; i <= most_held(reader); i++)
		if (held(reader, i) == file)
			return false;
	reader->held[reader->held_next++ % HELD] = file;
	watch->recent[watch->turns % WATCH_RECENT] = file;
	watch->turning = reader;
	reader->turned = ++watch->turns;
	return true;
}

/* --- beginnings ------------------------------------------------------------------------------ */

static void add_to_beginning(struct watch *watch, struct reader *reader, uint32_t file)
{
	if (reader->asked == 0)
		reader->began = watch->turns;
	if (reader->asked < (reader->id ? WATCH_BEGINNING : WATCH_BEGINNING_MANY))
		watch->log[watch->logged++ % WATCH_LOG] = (struct entry){
			.turn = watch->turns,
			.access = {.reader = reader->id, .file = file, .nth = reader->asked},
		};
	reader->asked++;
}

static void forget_beginning(struct reader *reader)
{
	reader->asked = reader->fresh = reader->strays = reader->again = 0;
}

/* The files that a reader asked for again are how its new epoch begins. One that asked for nothing
 * fresh since its forecast ended began anew at that moment. */
static void begin_epoch(struct watch *watch)
{
	watch->epoch++;
	memset(watch->seen, 0, watch->files / 8 + 1);
	for (unsigned i = 0; i < watch->used; i++) {
		struct reader *reader = &watch->readers[i];
		uint32_t again = reader->again;

		if (again)
			forget_beginning(reader);
		if (again || (reader->fresh == 0 && reader->forecast))
			reader->epoch = watch->epoch;
		for (uint32_t at = 0; at < again; at++) {
			bit_set(watch->seen, reader->repeated[at]);
			add_to_beginning(watch, reader, reader->repeated[at]);
		}
	}
}

/* Returns whether this file shows that an epoch has begun; it is then part of a beginning. */
static bool note_again(struct watch *watch, struct reader *reader, uint32_t file)
{
	double chance = 1, share;
	unsigned needed = 0;

	if (!bit_set(watch->seen, file)) {
		reader->fresh++;
		reader->strays += reader->again;
		reader->again = 0;
		return false;
	}
	if (reader->fresh < FRESH || reader->again == REPEATS_MOST) {
		reader->strays++;
		return false;
	}
	reader->repeated[reader->again++] = file;
	/* Chance would not repeat so many in a row. */
	share = (2.0 * reader->strays + 1) / (reader->fresh + reader->strays + 1);
	for (; (chance > CHANCE && needed <= REPEATS_MOST) || needed < REPEATS; needed++)
		chance *= share;
	if (reader->again < needed)
		return false;
	begin_epoch(watch);
	return true;
}

/* A sequential test (Wald, 1945) of two hypotheses: a reader's own forecasts foresee a share of its
 * files, at least OWN as mosaics read three others with each, and the rest by chance; those of
 * others foresee by chance alone. A foreseen file makes the first one likelier by 1 - share + share
 * / chance, any other by 1 - share. */
static double weigh(double odds, double share, bool foreseen, double chance, double most)
{
	odds += log2(1 - share + (foreseen ? share / chance : 0));
	return fmin(fmax(odds, 0), most);
}

/* A reader that always followed a forecast, and suddenly does not, has begun anew, even if it soon
 * asks for a file that its last epoch left out (drop_last). It may go on with another one, which
 * foresees one of its files by chance, hardly two; or follow two in turn, as masks beside images.
 */
static bool goes_by(struct reader *reader, uint64_t forecast, double chance)
{
	bool is_new = forecast && forecast != reader->forecast && forecast != reader->foresaw;
	double most = is_new && !reader->forecast ? TRUSTED - 1 : TRUST_MOST;

	if (is_new) {
		reader->foresaw = forecast;
		reader->turns_to = 0;
	}
	reader->trust = weigh(reader->trust, reader->own, forecast != 0, chance, most);
	reader->turns_to = weigh(reader->turns_to, OWN, forecast == reader->foresaw, chance,
				 is_new ? GOES_ON - 1 : TRUST_MOST);
	reader->own += ((forecast ? 1 : 0) - reader->own) / OWN_TURNS;
	reader->own = fmin(fmax(reader->own, OWN), OWN_MOST);
	if (!forecast || reader->trust < TRUSTED)
		return false;
	if (forecast == reader->forecast)
		return true;
	if (reader->forecast && reader->turns_to < GOES_ON)
		return false;
	reader->foresaw = reader->forecast;
	reader->forecast = forecast;
	return true;
}

uint64_t watch_goes_by(const struct watch *watch)
{
	return watch->turning->forecast;
}

bool watch_follows(const struct watch *watch)
{
	return watch->turning->trust >= TRUSTED;
}

bool watch_goes_on(const struct watch *watch)
{
	const struct reader *reader = watch->turning;
	uint32_t file = held(reader, 1);

	for (unsigned i = 2; i <= most_held(reader) + 1 && i <= HELD; i++)
		if (held(reader, i) < file && file - held(reader, i) <= NEAR)
			return true;
	return false;
}

bool watch_note(struct watch *watch, uint64_t forecast, double chance)
{
	struct reader *reader = watch->turning;
	uint32_t file = watch->recent[(watch->turns - 1) % WATCH_RECENT];

	if (goes_by(reader, forecast, chance)) {
		bit_set(watch->seen, file);
		forget_beginning(reader);
		return true;
	}
	if (note_again(watch, reader, file))
		return false;
	if (reader->epoch != watch->epoch)
		reader->asked = 0;
	reader->epoch = watch->epoch;
	add_to_beginning(watch, reader, file);
	return false;
}

/* --- readers side by side --------------------------------------------------------------------- */

static bool is_member(const struct watch_group *group, const struct reader *reader)
{
	uint32_t least =
		group->longest < WATCH_BEGINNING ? group->longest / 4 : WATCH_BEGINNING / 4;

	return reader->turned >= group->youngest && reader->asked >= least && reader->asked > 0;
}

struct watch_group watch_group(const struct watch *watch)
{
	const struct reader *end = watch->readers + watch->used;
	struct watch_group group = {.began = watch->turns + 1};
	uint64_t last = 0;

	/* When the last of all readers began, those included that follow a forecast now: one that
	 * had no turn since has ended. */
	for (const struct reader *reader = watch->readers; reader < end; reader++)
		if (reader->asked >= LEAST || reader->trust >= TRUSTED)
			last = max(last, reader->began);
	for (const struct reader *reader = watch->readers; reader < end; reader++)
		if (reader->asked >= LEAST && reader->turned >= last)
			group.youngest = max(group.youngest, reader->began);
	for (const struct reader *reader = watch->readers; reader < end; reader++)
		if (reader->turned >= group.youngest)
			group.longest = (uint32_t)max(group.longest, reader->asked);
	group.shortest = group.longest;
	for (const struct reader *reader = watch->readers; reader < end; reader++) {
		uint32_t many = reader->id ? 1 : WATCH_BEGINNING_MANY / WATCH_BEGINNING;

		if (!is_member(&group, reader))
			continue;
		group.shortest = (uint32_t)min(group.shortest, reader->asked / many);
		group.began = min(group.began, reader->began);
	}
	return group;
}

static uint64_t first_logged(const struct watch *watch)
{
	return watch->logged > WATCH_LOG ? watch->logged - WATCH_LOG : 0;
}

static bool is_of(const struct entry *entry, const struct reader *reader)
{
	return entry->access.reader == reader->id && entry->turn >= reader->began;
}

static bool has_share(const struct watch *watch, const struct reader *reader, double chance,
		      bool (*has)(const void *context, uint32_t file), const void *context)
{
	unsigned count = 0, had = 0;
	double share, bits;

	for (uint64_t at = first_logged(watch); at < watch->logged; at++) {
		const struct entry *entry = &watch->log[at % WATCH_LOG];

		if (is_of(entry, reader)) {
			count++;
			had += has(context, entry->access.file);
		}
	}
	share = count ? (double)had / count : 0;
	/* Whether chance gives that share of so many at most once in 2^TRUSTED times (Chernoff,
	 * 1952). */
	bits = share * log2(share / chance);
	if (share < 1)
		bits += (1 - share) * log2((1 - share) / (1 - chance));
	return share >= OWN && share > chance && bits * count >= TRUSTED;
}

void watch_explain(struct watch *watch, uint64_t since, uint64_t forecast, double chance,
		   bool (*has)(const void *context, uint32_t file), const void *context)
{
	for (struct reader *reader = watch->readers; reader < watch->readers + watch->used;
	     reader++) {
		if (reader->asked == 0 || reader->began < since ||
		    !has_share(watch, reader, chance, has, context))
			continue;
		reader->trust = TRUST_MOST;
		reader->forecast = forecast;
		forget_beginning(reader);
	}
}

unsigned watch_beginnings(const struct watch *watch, struct watch_access *ret)
{
	struct watch_group group = watch_group(watch);
	unsigned count = 0;

	if (group.youngest == 0)
		return 0;
	for (uint64_t at = first_logged(watch); at < watch->logged; at++) {
		const struct entry *entry = &watch->log[at % WATCH_LOG];
		unsigned by = find_reader(watch, entry->access.reader);

		if (by < watch->used && is_of(entry, &watch->readers[by]) &&
		    is_member(&group, &watch->readers[by]))
			ret[count++] = entry->access;
	}
	return count;
}

uint64_t watch_stage(const struct watch_group *group, uint32_t beginning)
{
	static const uint8_t from[] = {2, 4, 6, 8, 16, 32, WATCH_BEGINNING};
	unsigned stage = 0;

	while (stage < sizeof(from) && beginning >= from[stage])
		stage++;
	return group->youngest ? group->youngest << 3 | stage : 0;
}

unsigned watch_recent(const struct watch *watch, uint64_t since, uint32_t *ret)
{
	uint64_t first = watch->turns > WATCH_RECENT ? watch->turns - WATCH_RECENT : 0;
	unsigned count = 0;

	/* Turns are counted from 1. */
	if (since && since - 1 > first)
		first = since - 1;
	for (uint64_t at = first; at < watch->turns; at++)
		ret[count++] = watch->recent[at % WATCH_RECENT];
	return count;
}

uint64_t watch_turns(const struct watch *watch)
{
	return watch->turns;
}
