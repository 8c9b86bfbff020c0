/* torch's generator: MT19937 (Matsumoto and Nishimura, 1998) as in
 * aten/src/ATen/core/MT19937RNGEngine.h. It takes the low 32 bits of torch's 64-bit seed:
 * torch.manual_seed(s) and s + 2^32 give the same numbers. Pure: any thread, data of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define MT19937_WORDS 624
#define MT19937_NEAR \
	397 /* output i needs words i, i + 1 and i + MT19937_NEAR of the seeded state */

#define MT19937_FACTOR 1812433253u /* of the seeding */
#define MT19937_TWIST  0x9908b0dfu

struct mt19937 {
	uint32_t state[MT19937_WORDS];
	unsigned next; /* word to be returned */
};

/* The word of the seeded state that follows `word` and is number `i`. */
static inline uint32_t mt19937_grow(uint32_t word, uint32_t i)
{
	return MT19937_FACTOR * (word ^ (word >> 30)) + i;
}

/* mt19937_grow() backwards: the word before `next`, which is number `i`. XOR with the word shifted
 * by 30 undoes itself; 2520285293 is the inverse of the factor modulo 2^32. */
static inline uint32_t mt19937_shrink(uint32_t next, uint32_t i)
{
	uint32_t mixed = 2520285293u * (next - i);

	return mixed ^ (mixed >> 30);
}

/* From three words of the state one that replaces the first. */
static inline uint32_t mt19937_twist(uint32_t word, uint32_t next, uint32_t near)
{
	uint32_t mixed = (word & 0x80000000u) | (next & 0x7fffffffu);

	return near ^ (mixed >> 1) ^ (-(next & 1u) & MT19937_TWIST);
}

static inline uint32_t mt19937_temper(uint32_t y)
{
	y ^= y >> 11;
	y ^= (y << 7) & 0x9d2c5680u;
	y ^= (y << 15) & 0xefc60000u;
	return y ^ (y >> 18);
}

void mt19937_init(struct mt19937 *mt, uint32_t seed);

/* Makes the next MT19937_WORDS words. */
void mt19937_refill(struct mt19937 *mt);

/* 32 random bits: torch's random(). */
static inline uint32_t mt19937_next(struct mt19937 *mt)
{
	if (mt->next == MT19937_WORDS)
		mt19937_refill(mt);
	return mt19937_temper(mt->state[mt->next++]);
}

/* Skips so many outputs; 10^9 a second. */
void mt19937_skip(struct mt19937 *mt, uint64_t outputs);

/* --- eight ------------------------------------------------------------------------------------ */

/* Eight generators side by side, one in each lane of a vector: word i of all of them lies together,
 * so that a step of the recurrence is the same few instructions for all, without shuffling or odd
 * ends. 6 * 10^9 outputs/s with AVX2; wider vectors are no faster. */
#define MT19937_LANES 8

typedef uint32_t mt19937_lanes __attribute__((vector_size(MT19937_LANES * sizeof(uint32_t))));

/* To be aligned as its type asks for: aligned_alloc() does that. GCC aligns a vector that the
 * processor of the build does not have less than one that has it expects. */
struct mt19937_eight {
	_Alignas(sizeof(mt19937_lanes)) mt19937_lanes words[MT19937_WORDS]; /* before tempering */
	mt19937_lanes wanted; /* words to look for, before tempering */
	mt19937_lanes hit;    /* not 0 where one of the last block is the wanted one */
};

void mt19937_eight_init(struct mt19937_eight *eight, const uint32_t seeds[MT19937_LANES]);

/* Makes `words` the next MT19937_WORDS outputs of each. */
void mt19937_eight_next(struct mt19937_eight *eight);

/* Whether mt19937_eight_next() met a wanted word. */
bool mt19937_eight_hit(const struct mt19937_eight *eight);

/* Output `number` of the block of one of the generators. */
static inline uint32_t mt19937_eight_output(const struct mt19937_eight *eight, unsigned number,
					    unsigned lane)
{
	return mt19937_temper(eight->words[number][lane]);
}
