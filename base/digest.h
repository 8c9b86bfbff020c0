/* Digests that name files: 128 bits of SHA-256, in hex. Whoever chooses the bytes cannot have the
 * digest of others, as with the checksums of a pack, for which that costs nothing. Pure. */
#pragma once

#include <sys/uio.h>

#define DIGEST_DIGITS 32

/* Of parts, whose ends count, too: "ab", "c" is not "a", "bc". */
void digest_make(const struct iovec *parts, int count, char ret[static DIGEST_DIGITS + 1]);
void digest_text(const char *text, char ret[static DIGEST_DIGITS + 1]);
