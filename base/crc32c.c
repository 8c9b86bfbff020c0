#include "base/crc32c.h"
#include "base/le.h"

/* Works on half bytes. The polynomial is 0x82f63b78, reflected. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len)
{
	static const uint32_t remainders[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
						0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
						0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
						0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
	const uint8_t *at = data;

	for (crc = ~crc; len; at++, len--) {
		crc ^= *at;
		crc = remainders[crc & 15] ^ crc >> 4;
		crc = remainders[crc & 15] ^ crc >> 4;
	}
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before, const uint8_t *at,
								 size_t len)
{
	uint64_t crc = ~before;

	for (; len >= 8; at += 8, len -= 8)
		crc = __builtin_ia32_crc32di(crc, le_get64(at));
	for (; len; at++, len--)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *at);
	return ~(uint32_t)crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(crc, data, len);
#endif
	return crc32c_by_table(crc, data, len);
}
