/* What is signed is a text of four lines: the algorithm, the date, the scope (day, region and
 * service), and the hash of the canonical request. The canonical request is the method, path,
 * query, each signed header, their names, and the hash of the body, each with a newline between.
 *
 *	key = H(H(H(H("AWS4" secret, day), region), service), "aws4_request")
 *	signature = H(key, text)            where H(key, text) is HMAC-SHA256
 *
 * Everything is hashed as it is put together, so that nothing needs room. */
#include "remote/sign.h"
#include "base/scope.h"
#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <string.h>

#define DAY_LEN 8 /* "20130524" */
#define HEX_LEN BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE)

static void hash_text(struct sha256_ctx *hash, const char *text)
{
	sha256_update(hash, strlen(text), (const uint8_t *)text);
}

static void hash_line(struct sha256_ctx *hash, const char *text)
{
	hash_text(hash, text);
	hash_text(hash, "\n");
}

static void canonical_hash(const struct sign_request *request, char hex[static HEX_LEN])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx hash;

	sha256_init(&hash);
	hash_line(&hash, request->method);
	hash_line(&hash, request->path);
	hash_line(&hash, request->query);
	for (size_t i = 0; i < request->count; i++) {
		hash_text(&hash, request->headers[i].name);
		hash_text(&hash, ":");
		hash_line(&hash, request->headers[i].value);
	}
	for (size_t i = 0; i < request->count; i++) {
		hash_text(&hash, i ? ";" : "\n");
		hash_text(&hash, request->headers[i].name);
	}
	hash_text(&hash, "\n");
	hash_text(&hash, request->payload);
	sha256_digest(&hash, sizeof(digest), digest);
	base16_encode_update(hex, sizeof(digest), digest);
}

static void hmac(size_t key_len, const void *key, const char *text, size_t len,
		 uint8_t ret[static SHA256_DIGEST_SIZE])
{
	struct hmac_sha256_ctx mac;

	hmac_sha256_set_key(&mac, key_len, key);
	hmac_sha256_update(&mac, len, (const uint8_t *)text);
	hmac_sha256_digest(&mac, SHA256_DIGEST_SIZE, ret);
}

/* Replaces the digest by HMAC(digest, text). */
static void chain(uint8_t digest[static SHA256_DIGEST_SIZE], const char *text)
{
	hmac(SHA256_DIGEST_SIZE, digest, text, strlen(text), digest);
}

static int signature(const struct sign_request *request, const struct sign_key *key,
		     char hex[static HEX_LEN])
{
	SCOPE(buf_release) struct buf first = BUF_INIT;
	SCOPE(buf_release) struct buf text = BUF_INIT;
	uint8_t digest[SHA256_DIGEST_SIZE];

	canonical_hash(request, hex);
	if (buf_addf(&first, "AWS4%s", key->secret) < 0 ||
	    buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n%.*s/%s/%s/aws4_request\n%.*s", key->date,
		     DAY_LEN, key->date, key->region, key->service, (int)HEX_LEN, hex) < 0)
		return -ENOMEM;
	hmac(first.len, first.data, key->date, DAY_LEN, digest);
	chain(digest, key->region);
	chain(digest, key->service);
	chain(digest, "aws4_request");
	chain(digest, text.data);
	base16_encode_update(hex, sizeof(digest), digest);
	return 0;
}

int sign_authorization(const struct sign_request *request, const struct sign_key *key,
		       struct buf *ret)
{
	char hex[HEX_LEN];
	int r = signature(request, key, hex);

	if (r < 0)
		return r;
	buf_addf(ret, "AWS4-HMAC-SHA256 Credential=%s/%.*s/%s/%s/aws4_request,SignedHeaders=",
		 key->access, DAY_LEN, key->date, key->region, key->service);
	for (size_t i = 0; i < request->count; i++)
		buf_addf(ret, "%s%s", i ? ";" : "", request->headers[i].name);
	return buf_addf(ret, ",Signature=%.*s", (int)HEX_LEN, hex);
}
