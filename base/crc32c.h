/* The CRC-32C (Castagnoli) of bytes: that of SSE 4.2, iSCSI and TFRecord. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* That of what has this one, or 0, and of bytes behind it. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The same, for processors without an instruction for it. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len);
