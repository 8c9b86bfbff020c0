/* The header of a PBM, PGM or PPM file. */
#ifndef PACK_TOOL_IMAGE_PNM_H
#define PACK_TOOL_IMAGE_PNM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pnm {
	uint32_t width, height; /* pixels, not 0 */
	uint32_t most;		/* the largest sample, 1 to 65535 */
	unsigned channels;	/* 1 or 3 */
	bool plain;		/* samples are written as text */
	bool bits;		/* PBM: a sample is a bit */
	size_t samples;		/* where they begin, at most len */
};

/* Returns 0, -ENODATA where the bytes end within what may be a header, or -EINVAL where they are
 * none. Pure, thread-safe. */
int pnm_header(const uint8_t *data, size_t len, struct pnm *ret);

/* White space, as PNM has it. */
static inline bool pnm_is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

#endif
