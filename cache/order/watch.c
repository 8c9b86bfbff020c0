/* When does a reader begin anew whom no forecast follows, and who lives on from epoch to epoch?
 * When it asks for REPEATS files in a row that were asked for before, after FRESH that were not:
 * then an epoch has ended, and all who read in it begin anew, with what they asked for again
 * already, or with what comes next. Mosaics and other jobs ask for the same files now and then, and
 * the more often the more of them were asked for: of F fresh files and S that came again the next
 * one comes again with S / (F + S) on the average, and up to twice that by now. Where that brings
 * REPEATS in a row more often than once in 1 / CHANCE times, so many more are waited for; after
 * REPEATS_MOST nothing is known.
 *
 * A workers' file is told more than once: it is opened, read in pieces, or opened twice. The last
 * HELD files of a reader are its present ones (reader 0 is many). */
#include "cache/order/watch.h"
#include "base/bits.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READERS	     128
#define REPEATS	     4	/* files in a row that were asked for before, */
#define REPEATS_MOST 32 /* or where they come again now and then */
#define CHANCE	     1e-6
#define HELD	     16
#define FRESH	     32
#define LEAST	     4	  /* accesses, from which on a reader counts */
#define OWN	     0.25 /* of what a reader asks for, a forecast of its own foresees at least */
#define OWN_MOST     (63.0 / 64)
#define OWN_TURNS    64 /* over which that is taken */
#define SURE	     20 /* bits */
#define MOST	     24

struct reader {
	uint32_t id;
	uint32_t held[HELD];
	unsigned held_next;
	uint32_t run;	   /* accesses since it began */
	double trust;	   /* bits: how much likelier it is that it goes by a forecast */
	double own;	   /* of what it asks for, its forecast foresees this share */
	uint64_t forecast; /* by which it goes, or went last */
	uint32_t fresh;	   /* of files that nobody asked for before, since the last epoch, */
	uint32_t strays;   /* others before the last of these, */
	uint32_t again;	   /* and in a row after it, */
	uint32_t repeated[REPEATS_MOST]; /* which are these */
	uint32_t epoch;
	uint64_t began;	 /* the turn */
	uint64_t turned; /* the last turn; 0: an unused place */
};

struct entry {
	uint64_t turn;
	struct watch_access access;
};

struct watch {
	uint64_t turns;
	uint32_t epoch;
	uint64_t files;
	uint8_t *seen; /* in this epoch, a bit for each file */
	struct reader readers[READERS];
	struct reader *turning; /* the one whose turn was last */
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

/* Its place, or READERS. */
static unsigned find_reader(const struct watch *watch, uint32_t id)
{
	unsigned at = 0;

	while (at < READERS && (!watch->readers[at].turned || watch->readers[at].id != id))
		at++;
	return at;
}

static unsigned find_longest_unused(const struct watch *watch)
{
	unsigned found = 0;

	for (unsigned i = 1; i < READERS; i++)
		if (watch->readers[i].turned < watch->readers[found].turned)
			found = i;
	return found;
}

static struct reader *reader_of(struct watch *watch, uint32_t id)
{
	unsigned at = find_reader(watch, id);
	struct reader *reader;

	if (at < READERS)
		return &watch->readers[at];
	reader = &watch->readers[find_longest_unused(watch)];
	*reader = (struct reader){.id = id, .own = OWN, .epoch = watch->epoch};
	memset(reader->held, 0xff, sizeof(reader->held));
	return reader;
}

static bool holds(const struct reader *reader, uint32_t file)
{
	unsigned most = reader->id ? 1 : HELD;

	for (unsigned i = 1; i <= most; i++)
		if (reader->held[(reader->held_next + HELD - i) % HELD] == file)
			return true;
	return false;
}

bool watch_turn(struct watch *watch, uint32_t id, uint32_t file)
{
	struct reader *reader = reader_of(watch, id);

	if (holds(reader, file))
		return false;
	reader->held[reader->held_next++ % HELD] = file;
	watch->recent[watch->turns % WATCH_RECENT] = file;
	watch->turning = reader;
	reader->turned = ++watch->turns;
	return true;
}

/* --- beginnings ------------------------------------------------------------------------------ */

static void keep(struct watch *watch, const struct reader *reader, uint32_t file)
{
	watch->log[watch->logged++ % WATCH_LOG] = (struct entry){
		.turn = watch->turns,
		.access = {.reader = reader->id, .file = file, .nth = reader->run},
	};
}

static void add_to_beginning(struct watch *watch, struct reader *reader, uint32_t file)
{
	if (reader->run == 0)
		reader->began = watch->turns;
	if (reader->run < (reader->id ? WATCH_RUN : WATCH_RUN_MANY))
		keep(watch, reader, file);
	reader->run++;
}

static void forget(struct reader *reader)
{
	reader->run = reader->fresh = reader->strays = reader->again = 0;
}

/* What it asked for again, before that was known to be an epoch, is how it begins. */
static void begin_anew(struct watch *watch, struct reader *reader)
{
	uint32_t again = reader->again;

	forget(reader);
	reader->epoch = watch->epoch;
	for (uint32_t i = 0; i < again; i++) {
		bit_set(watch->seen, reader->repeated[i]);
		add_to_beginning(watch, reader, reader->repeated[i]);
	}
}

/* Whoever asked for nothing fresh since a forecast of it has ended has begun anew then. */
static void next_epoch(struct watch *watch)
{
	watch->epoch++;
	memset(watch->seen, 0, watch->files / 8 + 1);
	for (unsigned i = 0; i < READERS; i++) {
		struct reader *reader = &watch->readers[i];

		if (reader->again)
			begin_anew(watch, reader);
		else if (reader->fresh == 0 && reader->forecast)
			reader->epoch = watch->epoch;
	}
}

/* Files that were asked for before, in a row that chance does not bring. */
static unsigned repeats_needed(const struct reader *reader)
{
	double share = (2.0 * reader->strays + 1) / (reader->fresh + reader->strays + 1);
	double chance = 1;
	unsigned count = 0;

	while ((chance > CHANCE && count <= REPEATS_MOST) || count < REPEATS) {
		chance *= share;
		count++;
	}
	return count;
}

/* Returns whether an epoch has begun with this one, which is then part of a beginning. */
static bool note_again(struct watch *watch, struct reader *reader, uint32_t file)
{
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
	if (reader->again < repeats_needed(reader))
		return false;
	next_epoch(watch);
	return true;
}

/* A sequential test (Wald, 1945): a forecast of others foresees some by chance; its own, where
 * mosaics are read, one of four. Who has always gone by it, and does not all of a sudden, has begun
 * anew, though it may soon ask for one of the files that its last epoch left out (drop_last). */
static bool goes_by(struct reader *reader, uint64_t forecast, double chance)
{
	reader->trust += forecast ? fmax(log2(OWN / chance), 1) : log2(1 - reader->own);
	reader->trust = fmin(fmax(reader->trust, 0), MOST);
	reader->own += ((forecast ? 1 : 0) - reader->own) / OWN_TURNS;
	reader->own = fmin(fmax(reader->own, OWN), OWN_MOST);
	if (!forecast || reader->trust < SURE)
		return false;
	reader->forecast = forecast;
	return true;
}

uint64_t watch_goes_by(const struct watch *watch)
{
	return watch->turning->forecast;
}

bool watch_note(struct watch *watch, uint64_t forecast, double chance)
{
	struct reader *reader = watch->turning;
	uint32_t file = watch->recent[(watch->turns - 1) % WATCH_RECENT];

	if (goes_by(reader, forecast, chance)) {
		bit_set(watch->seen, file);
		forget(reader);
		return true;
	}
	if (note_again(watch, reader, file))
		return false;
	if (reader->epoch != watch->epoch)
		reader->run = 0;
	reader->epoch = watch->epoch;
	add_to_beginning(watch, reader, file);
	return false;
}

void watch_explain(struct watch *watch, uint32_t id, uint64_t forecast)
{
	struct reader *reader = reader_of(watch, id);

	reader->trust = MOST;
	reader->forecast = forecast;
	forget(reader);
}

struct group {
	uint64_t youngest; /* the turn in which its last reader began */
	uint32_t longest;  /* beginning */
};

/* The turn in which the last of all began, also of those that go by a forecast now: whoever has not
 * read since has ended. */
static uint64_t last_began(const struct watch *watch)
{
	uint64_t began = 0;

	for (unsigned i = 0; i < READERS; i++) {
		const struct reader *reader = &watch->readers[i];

		if ((reader->run >= LEAST || reader->trust >= SURE) && reader->began > began)
			began = reader->began;
	}
	return began;
}

static struct group find_group(const struct watch *watch)
{
	uint64_t last = last_began(watch);
	struct group group = {0};

	for (unsigned i = 0; i < READERS; i++) {
		const struct reader *reader = &watch->readers[i];

		if (reader->run >= LEAST && reader->turned >= last &&
		    reader->began > group.youngest)
			group.youngest = reader->began;
	}
	for (unsigned i = 0; i < READERS; i++) {
		const struct reader *reader = &watch->readers[i];

		if (reader->turned >= group.youngest && reader->run > group.longest)
			group.longest = reader->run;
	}
	return group;
}

static bool belongs(const struct group *group, const struct reader *reader)
{
	uint32_t least = group->longest < WATCH_RUN ? group->longest / 4 : WATCH_RUN / 4;

	return reader->turned >= group->youngest && reader->run >= least && reader->run > 0;
}

unsigned watch_beginnings(const struct watch *watch, struct watch_access *ret)
{
	uint64_t first = watch->logged > WATCH_LOG ? watch->logged - WATCH_LOG : 0;
	struct group group = find_group(watch);
	unsigned count = 0;

	if (group.youngest == 0)
		return 0;
	for (uint64_t at = first; at < watch->logged; at++) {
		const struct entry *entry = &watch->log[at % WATCH_LOG];
		unsigned by = find_reader(watch, entry->access.reader);

		if (by < READERS && entry->turn >= watch->readers[by].began &&
		    belongs(&group, &watch->readers[by]))
			ret[count++] = entry->access;
	}
	return count;
}

static uint64_t stage_of(const struct group *group, uint32_t beginning)
{
	unsigned doubled = 0;

	while (beginning >> doubled > 1 && doubled < 6)
		doubled++;
	return group->youngest ? group->youngest << 3 | doubled : 0;
}

uint64_t watch_stage(const struct watch *watch)
{
	struct group group = find_group(watch);

	return stage_of(&group, group.longest);
}

static uint32_t shortest_of(const struct watch *watch, const struct group *group)
{
	uint32_t shortest = group->longest;

	for (unsigned i = 0; i < READERS; i++) {
		const struct reader *reader = &watch->readers[i];
		uint32_t run =
			reader->id ? reader->run : reader->run / (WATCH_RUN_MANY / WATCH_RUN);

		if (belongs(group, reader) && run < shortest)
			shortest = run;
	}
	return shortest;
}

uint32_t watch_shortest(const struct watch *watch)
{
	struct group group = find_group(watch);

	return shortest_of(watch, &group);
}

uint64_t watch_stage_of_all(const struct watch *watch)
{
	struct group group = find_group(watch);

	return stage_of(&group, shortest_of(watch, &group));
}

uint64_t watch_began(const struct watch *watch)
{
	struct group group = find_group(watch);
	uint64_t began = watch->turns + 1;

	for (unsigned i = 0; i < READERS; i++) {
		const struct reader *reader = &watch->readers[i];

		if (belongs(&group, reader) && reader->began < began)
			began = reader->began;
	}
	return began;
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
