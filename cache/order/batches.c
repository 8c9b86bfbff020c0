#include "cache/order/batches.h"
#include "base/bits.h"
#include <errno.h>
#include <stdlib.h>

/* The first look comes after more places than there are readers, and the next ones after half as
 * many more each: all have moved by then. */
#define LOOK	1024
#define PERIODS 4	   /* that must be alike */
#define MOST	(1u << 17) /* places, after which all are taken to be read here */

/* Runs of places, one in each period, `at` places behind a multiple of it: period 0: none. */
struct rhythm {
	uint32_t period, run, at;
};

struct batches {
	uint32_t n, from, top; /* places from..top are known of */
	uint32_t count, look;  /* of places seen; and how many there will be at the next look */
	uint8_t *seen;	       /* a bit for each place */
	struct rhythm last;    /* of the last look */
	bool known;	       /* it was the same the time before */
};

int batches_new(uint32_t n, uint32_t from, struct batches **ret)
{
	struct batches *batches = calloc(1, sizeof(*batches));

	if (!batches)
		return -ENOMEM;
	*batches = (struct batches){.n = n, .from = from, .top = from, .look = LOOK};
	batches->seen = calloc(1, n / 8 + 1);
	if (!batches->seen) {
		free(batches);
		return -ENOMEM;
	}
	*ret = batches;
	return 0;
}

void batches_free(struct batches *batches)
{
	if (!batches)
		return;
	free(batches->seen);
	free(batches);
}

/* What was found so far. */
struct listening {
	struct rhythm rhythm;
	uint32_t begun; /* the last run; 0: none whose beginning was seen */
	unsigned periods;
};

/* A run begins: false where it is not like the others. */
static bool hear_begin(struct listening *ear, uint32_t place)
{
	if (ear->begun && ear->rhythm.period == 0)
		ear->rhythm.period = place - ear->begun;
	if (ear->begun && place - ear->begun != ear->rhythm.period)
		return false;
	ear->periods += ear->begun > 0;
	ear->begun = place;
	return true;
}

static bool hear_end(struct listening *ear, uint32_t place)
{
	if (ear->begun && ear->rhythm.run == 0)
		ear->rhythm.run = place - ear->begun;
	return !ear->begun || place - ear->begun == ear->rhythm.run;
}

/* Whether all runs between the two places are alike, and none that has begun goes on for longer. */
static bool listen(const struct batches *batches, uint32_t from, uint32_t to, struct listening *ear)
{
	for (uint32_t place = from + 1; place < to; place++) {
		bool was = bit_get(batches->seen, place - 1), is = bit_get(batches->seen, place);

		if ((!was && is && !hear_begin(ear, place)) ||
		    (was && !is && !hear_end(ear, place)))
			return false;
	}
	return ear->periods == 0 || to - ear->begun <= ear->rhythm.period;
}

static bool is_same(const struct rhythm *a, const struct rhythm *b)
{
	return a->period == b->period && a->run == b->run && a->at == b->at;
}

/* Where something was irregular, a file that nobody asked for, it is begun anew behind that. */
static void look(struct batches *batches)
{
	uint32_t to = batches->from + (batches->top - batches->from) / 2;
	struct listening ear = {.begun = 0};

	batches->look += batches->look / 2;
	if (!listen(batches, batches->from, to, &ear)) {
		batches->from = to;
		batches->last = (struct rhythm){0};
		return;
	}
	if (ear.periods < PERIODS)
		return;
	ear.rhythm.at = ear.begun % ear.rhythm.period;
	batches->known = is_same(&ear.rhythm, &batches->last);
	batches->last = ear.rhythm;
}

void batches_saw(struct batches *batches, uint32_t place)
{
	if (batches->known || batches->count == MOST || place < batches->from ||
	    bit_set(batches->seen, place))
		return;
	if (place > batches->top)
		batches->top = place;
	if (++batches->count == batches->look)
		look(batches);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Of the period's pieces, each as long as can be, the run has some that follow one another. */
bool batches_known(const struct batches *batches, struct pass_part *ret)
{
	const struct rhythm *rhythm = &batches->last;
	uint32_t unit = common_divisor(common_divisor(rhythm->period, rhythm->run), rhythm->at);

	if (!batches->known || rhythm->run / unit >= 64)
		return false;
	*ret = (struct pass_part){.world = rhythm->period / unit,
				  .unit = unit,
				  .first = rhythm->at / unit,
				  .ranks = ((uint64_t)1 << rhythm->run / unit) - 1};
	return true;
}
