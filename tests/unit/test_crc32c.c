/* CRC-32C: known sums, and the ways of one. */
#include "base/crc32c.h"
#include "tests/unit/test.h"
#include <string.h>

TEST(crc32c_has_the_values_of_its_standard)
{
	uint8_t bytes[32] = {0};

	assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c(0, bytes, 32), 0x46dd794e);
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, "", 0), 0);
}

TEST(crc32c_is_the_same_with_and_without_an_instruction)
{
	uint8_t bytes[300];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	for (size_t len = 0; len < 270; len++)
		assert_int_equal(crc32c(0, bytes + len % 29, len),
				 crc32c_by_table(0, bytes + len % 29, len));
}

TEST(crc32c_goes_on_where_another_one_ended)
{
	static const char digits[] = "123456789";

	for (size_t at = 0; at <= 9; at++)
		assert_int_equal(crc32c(crc32c(0, digits, at), digits + at, 9 - at), 0xe3069283);
}
