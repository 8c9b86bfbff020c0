/* The CRC-32C (Castagnoli) of bytes: that of SSE 4.2, iSCSI and TFRecord. Pure. */
#ifndef PACK_TOOL_EXPORT_CRC32C_H
#define PACK_TOOL_EXPORT_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t len);

/* The same, where the processor has no instruction for it. */
uint32_t crc32c_by_table(const void *data, size_t len);

#endif
