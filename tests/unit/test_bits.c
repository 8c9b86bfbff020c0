/* Sets of bits: base/bits.h. */
#include "base/bits.h"
#include "tests/unit/test.h"

#define N 5000

static uint64_t next_by_one(const uint8_t *bits, uint64_t from)
{
	while (from < N && !bit_get(bits, from))
		from++;
	return from < N ? from : UINT64_MAX;
}

static uint64_t before_by_one(const uint8_t *bits, uint64_t until)
{
	while (until > 0)
		if (bit_get(bits, --until))
			return until;
	return UINT64_MAX;
}

TEST(neighbours_in_a_set_are_found)
{
	for (unsigned share = 0; share <= 256; share = share ? share * 4 : 1) {
		uint8_t bits[(N / 64 + 1) * 8] = {0}, words[(N / 4096 + 1) * 8] = {0};

		for (uint64_t i = 0; i < N; i++)
			if ((unsigned)random() % 256 < share)
				bits_add(bits, words, i);
		for (uint64_t i = 0; i < N; i += 1 + (unsigned)random() % 8)
			bits_remove(bits, words, i);
		for (uint64_t i = 0; i <= N; i++) {
			assert_int_equal(bits_next(bits, i, N), next_by_one(bits, i));
			assert_int_equal(bits_before(bits, i), before_by_one(bits, i));
			assert_int_equal(bits_next_few(bits, words, i, N), next_by_one(bits, i));
			assert_int_equal(bits_before_few(bits, words, i), before_by_one(bits, i));
		}
	}
}
