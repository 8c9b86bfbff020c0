/* Nishimura and Matsumoto, Tables of 64-bit Mersenne Twisters, 2000. An output has room for two
 * places of any list below 2^32. */
#include "cache/order/std_shuffle.h"
#include "cache/order/swap.h"

#define WORDS 312
#define NEAR  156

struct mt19937_64 {
	uint64_t state[WORDS];
	unsigned at; /* the next output's word */
};

static void init(struct mt19937_64 *mt, uint64_t seed)
{
	mt->at = 0;
	mt->state[0] = seed;
	for (unsigned i = 1; i < WORDS; i++) {
		uint64_t before = mt->state[i - 1];

		mt->state[i] = 6364136223846793005u * (before ^ before >> 62) + i;
	}
}

/* A word is replaced when its turn comes: it needs those behind it as they are until then. */
static uint64_t next(struct mt19937_64 *mt)
{
	unsigned at = mt->at, behind = (at + 1) % WORDS;
	uint64_t mixed = (mt->state[at] & ~(uint64_t)INT32_MAX) | (mt->state[behind] & INT32_MAX);
	uint64_t y =
		mt->state[(at + NEAR) % WORDS] ^ mixed >> 1 ^ (-(mixed & 1) & 0xb5026f5aa96619e9u);

	mt->state[at] = y;
	mt->at = behind;
	y ^= y >> 29 & 0x5555555555555555u;
	y ^= y << 17 & 0x71d67fffeda60000u;
	y ^= y << 37 & 0xfff7eee000000000u;
	return y ^ y >> 43;
}

/* One of 0..range - 1, as in std_shuffle.c. */
static uint64_t draw(struct mt19937_64 *mt, uint64_t range)
{
	unsigned __int128 product = (unsigned __int128)next(mt) * range;

	if ((uint64_t)product < range) {
		uint64_t unfair = -range % range;

		while ((uint64_t)product < unfair)
			product = (unsigned __int128)next(mt) * range;
	}
	return (uint64_t)(product >> 64);
}

void std_shuffle_64(uint64_t seed, uint32_t *order, size_t n)
{
	struct mt19937_64 mt;
	uint64_t i = 1;

	init(&mt, seed);
	if (n && n % 2 == 0) {
		swap_places(&order[i], &order[draw(&mt, 2)]);
		i++;
	}
	for (; i < n; i += 2) {
		uint64_t range = i + 1, both = draw(&mt, range * (range + 1));

		swap_places(&order[i], &order[both / (range + 1)]);
		swap_places(&order[i + 1], &order[both % (range + 1)]);
	}
}
