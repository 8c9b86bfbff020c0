/* Appends the fields of a record to a buf. The first failure is remembered, so only the end needs
 * to look at it. */
#pragma once

#include "base/buf.h"
#include "base/le.h"

struct encoder {
	struct buf *to; /* borrowed */
	int error;	/* 0 or -ENOMEM */
};

static inline void encoder_add(struct encoder *encoder, const void *data, size_t len)
{
	if (encoder->error == 0)
		encoder->error = buf_add(encoder->to, data, len);
}

/* Adds the low bytes of an integer, little-endian. */
static inline void encoder_le(struct encoder *encoder, uint64_t value, uint32_t bytes)
{
	uint8_t raw[8];

	le_put64(raw, value);
	encoder_add(encoder, raw, bytes);
}

static inline void encoder_byte(struct encoder *encoder, uint8_t byte)
{
	encoder_add(encoder, &byte, 1);
}
