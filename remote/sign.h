/* Signs a request for Amazon's services and servers compatible with S3: Signature Version 4.
 *
 * The signature covers method, path, query and headers as they are sent. It is an HMAC-SHA256 whose
 * key is derived from the secret for one day, region and service. Pure. */
#pragma once

#include "base/buf.h"

#define SIGN_UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD" /* S3 asks for no hash of the body */

struct sign_header {
	const char *name;  /* lower case */
	const char *value; /* without spaces around it */
};

struct sign_request {
	const char *method;
	const char *path;		   /* encoded */
	const char *query;		   /* encoded, sorted by name; "": none */
	const struct sign_header *headers; /* sorted by name; host and x-amz-date among them */
	size_t count;
	const char *payload; /* SHA-256 of the body in hex, or SIGN_UNSIGNED_PAYLOAD */
};

struct sign_key {
	const char *access, *secret;
	const char *date; /* of x-amz-date: "20130524T000000Z" */
	const char *region, *service;
};

/* Appends the value of the header Authorization. Returns 0 or -ENOMEM. */
int sign_authorization(const struct sign_request *request, const struct sign_key *key,
		       struct buf *ret);
