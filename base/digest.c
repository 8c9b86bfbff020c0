#include "base/digest.h"
#include <endian.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <string.h>

void digest_make(const struct iovec *parts, int count, char ret[static DIGEST_DIGITS + 1])
{
	uint8_t digest[DIGEST_DIGITS / 2];
	struct sha256_ctx hash;

	sha256_init(&hash);
	for (int i = 0; i < count; i++) {
		uint64_t len = htole64(parts[i].iov_len);

		sha256_update(&hash, sizeof(len), (const uint8_t *)&len);
		sha256_update(&hash, parts[i].iov_len, parts[i].iov_base);
	}
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(ret, sizeof(digest), digest);
	ret[DIGEST_DIGITS] = '\0';
}

void digest_text(const char *text, char ret[static DIGEST_DIGITS + 1])
{
	digest_make(&(struct iovec){(void *)text, strlen(text)}, 1, ret);
}
