#include "fs/stat/history.h"
#include <math.h>

#define PACE_S 60 /* so far back the pace is measured */

void history_release(struct history *history)
{
	for (unsigned i = 0; i < history->kept; i++)
		snapshot_release(&history->recent[i]);
	history->kept = 0;
	history->count = 0;
}

static void drop_oldest(struct history *history)
{
	snapshot_release(&history->recent[0]);
	history->kept--;
	for (unsigned i = 0; i < history->kept; i++)
		history->recent[i] = history->recent[i + 1];
	history->recent[history->kept] = (struct snapshot){0};
}

static void keep_snapshot(struct history *history, const struct snapshot *s)
{
	if (history->kept == HISTORY_RECENT)
		drop_oldest(history);
	snapshot_assign(&history->recent[history->kept++], s);
}

/* --- one interval ------------------------------------------------------------------------ */

static double value_between(const struct snapshot *before, const struct snapshot *after,
			    enum series series)
{
#define GROWN(member) ((double)snapshot_grown(before, after, member))
	double seconds = after->at - before->at, hits, asked, lasting;

	switch (series) {
	case SERIES_FILES:
		return snapshot_share((double)snapshot_files(before, after), seconds);
	case SERIES_SERVED:
		return snapshot_share(GROWN("/served_bytes"), seconds);
	case SERIES_DEVICE:
		return snapshot_share(GROWN("/device/bytes"), seconds);
	case SERIES_MEMORY:
		hits = GROWN("/pool/hits");
		asked = hits + GROWN("/pool/misses");
		return asked > 0 ? hits / asked : (double)NAN;
	case SERIES_WAITING:
		/* A wait is counted when it ends. The longest of those that go on is known: its
		 * time so far is added, and subtracted again in the period in which it is counted.
		 */
		lasting = (double)snapshot_count(after, "/wait/oldest_ms") / 1e3 -
			  (double)snapshot_count(before, "/wait/oldest_ms") / 1e3;
		return fmax(0, snapshot_share(GROWN("/wait/total_us") / 1e6 + lasting, seconds));
	default:
		return NAN;
	}
#undef GROWN
}

static const struct history_sample *sample_of(const struct history *history, size_t number)
{
	return &history->samples[number % HISTORY_SAMPLES];
}

static size_t first_sample(const struct history *history)
{
	return history->count > HISTORY_SAMPLES ? history->count - HISTORY_SAMPLES : 0;
}

void history_add(struct history *history, const struct snapshot *now)
{
	if (history->kept && !snapshot_follows(history_now(history), now))
		history_release(history);
	if (history->kept == 0) {
		struct snapshot origin = snapshot_origin(now);

		keep_snapshot(history, &origin);
	} else {
		const struct snapshot *before = history_now(history);
		struct history_sample *sample =
			&history->samples[history->count++ % HISTORY_SAMPLES];

		sample->at = now->at;
		for (enum series i = 0; i < SERIES_COUNT; i++)
			sample->values[i] = value_between(before, now, i);
		sample->epoch = snapshot_count(now, "/oracle/epoch");
		sample->files = snapshot_count(now, "/oracle/files");
		sample->position = snapshot_count(now, "/oracle/position");
		/* What came before the first look counts only if nothing else was seen. */
		if (history->count == 1)
			drop_oldest(history);
	}
	keep_snapshot(history, now);
}

/* --- what they say together --------------------------------------------------------------- */

const struct snapshot *history_now(const struct history *history)
{
	return &history->recent[history->kept - 1];
}

const struct snapshot *history_before(const struct history *history)
{
	return &history->recent[0];
}

double history_value(const struct history *history, enum series series)
{
	return value_between(history_before(history), history_now(history), series);
}

double history_span(const struct history *history)
{
	return history->interval * HISTORY_SAMPLES;
}

/* Columns begin at multiples of their time, so that a graph moves, and does not flicker. */
double history_columns(const struct history *history, enum series series, int count, double *ret)
{
	double step = history_span(history) / count, sums[HISTORY_SAMPLES] = {0}, top = 0;
	unsigned numbers[HISTORY_SAMPLES] = {0};
	double last = history->count ? floor(sample_of(history, history->count - 1)->at / step) : 0;

	for (size_t i = first_sample(history); i < history->count; i++) {
		const struct history_sample *sample = sample_of(history, i);
		double column = count - 1 - last + floor(sample->at / step);

		if (column < 0 || isnan(sample->values[series]))
			continue;
		sums[(int)column] += sample->values[series];
		numbers[(int)column]++;
	}
	for (int i = 0; i < count; i++) {
		ret[i] = numbers[i] ? sums[i] / numbers[i] : (double)NAN;
		top = numbers[i] && ret[i] > top ? ret[i] : top;
	}
	return top;
}

double history_time_left(const struct history *history)
{
	const struct history_sample *last, *begin;
	uint64_t read; /* of late */

	if (!history->count)
		return -1;
	last = sample_of(history, history->count - 1);
	begin = last;
	/* The first sample, of the last minute, of the epoch that lasts. */
	for (size_t i = history->count; i-- > first_sample(history);) {
		const struct history_sample *sample = sample_of(history, i);

		if (sample->epoch != last->epoch || sample->files != last->files ||
		    sample->position > begin->position || sample->at < last->at - PACE_S)
			break;
		begin = sample;
	}
	read = snapshot_grown(history_before(history), history_now(history), "/oracle/position");
	if (last->position <= begin->position || last->position > last->files || !read)
		return -1;
	return (double)(last->files - last->position) * (last->at - begin->at) /
	       (double)(last->position - begin->position);
}
