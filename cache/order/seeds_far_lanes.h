/* Not an interface, but a piece of seeds_far.c, as seeds_lanes.h is of seeds.c; besides what is
 * defined there,
 *
 *	LANES_FLIGHT	vectors that are worked on at a time, so that the sums of all are in
 *			registers */
#ifdef LANES_BYTES

#define LANES_VECTOR LANES_NAME(vector)
typedef uint32_t LANES_VECTOR __attribute__((vector_size(LANES_BYTES), may_alias));

#define LANES_COUNT (FAR_LANES * sizeof(uint32_t) / LANES_BYTES)
_Static_assert(LANES_COUNT % LANES_FLIGHT == 0, "whole ones");

/* The parities, as bits of a number. */
LANES_TARGET
static inline LANES_VECTOR LANES_NAME(fold)(const LANES_VECTOR *sums)
{
	LANES_VECTOR folded = {0};

#pragma GCC unroll 4
	for (unsigned s = 0; s < FAR_SUMS; s++) {
		LANES_VECTOR sum = sums[s];

		sum ^= sum >> 16;
		sum ^= sum >> 8;
		sum ^= sum >> 4;
		sum ^= sum >> 2;
		sum ^= sum >> 1;
		folded |= (sum & 1) << s;
	}
	return folded;
}

LANES_TARGET
static void LANES_NAME(sum)(const struct far_sums *sums, const uint32_t *seeds, uint32_t *ret)
{
	const LANES_VECTOR *in = (const LANES_VECTOR *)seeds, zero = {0};
	LANES_VECTOR *out = (LANES_VECTOR *)ret;

	for (unsigned first = 0; first < LANES_COUNT; first += LANES_FLIGHT) {
		LANES_VECTOR word[LANES_FLIGHT], sum[LANES_FLIGHT][FAR_SUMS];

#pragma GCC unroll 4
		for (unsigned i = 0; i < LANES_FLIGHT; i++) {
			word[i] = in[first + i];
#pragma GCC unroll 4
			for (unsigned s = 0; s < FAR_SUMS; s++)
				sum[i][s] = word[i] & (zero + sums->origins[0][s]);
		}
		for (uint32_t number = 1; number < MT19937_WORDS; number++) {
			const uint32_t *origins = sums->origins[number];

#pragma GCC unroll 4
			for (unsigned i = 0; i < LANES_FLIGHT; i++) {
				word[i] = MT19937_FACTOR * (word[i] ^ (word[i] >> 30)) +
					  (zero + sums->numbers[number]);
#pragma GCC unroll 4
				for (unsigned s = 0; s < FAR_SUMS; s++)
					sum[i][s] ^= word[i] & (zero + origins[s]);
			}
		}
#pragma GCC unroll 4
		for (unsigned i = 0; i < LANES_FLIGHT; i++)
			out[first + i] = LANES_NAME(fold)(sum[i]);
	}
}

#undef LANES_VECTOR
#undef LANES_COUNT
#undef LANES_FLIGHT
#undef LANES_BYTES
#undef LANES_NAME
#undef LANES_TARGET
#endif
