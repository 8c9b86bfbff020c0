/* The places of credentials.h that are asked over HTTP, a function each. Returns 0, 1 (no keys
 * here; err says in a few words what is missing) or -errno. *ret may be set in part even on
 * failure: the caller releases it. */
#pragma once

#include "remote/credentials.h"

typedef int credentials_place_fn(const struct credentials_ask *ask, struct credentials *ret,
				 struct err *err);

credentials_place_fn credentials_of_web_identity, credentials_of_container, credentials_of_machine,
	credentials_of_google;

/* Asks STS for the keys of a role, with the token in a file. `session` NULL: "foldfs". */
int credentials_of_role(const struct credentials_ask *ask, const char *token_file, const char *role,
			const char *session, struct credentials *ret, struct err *err);

/* Reads the JSON object that processes and metadata services answer with: AccessKeyId,
 * SecretAccessKey, SessionToken or Token, Expiration. Returns 0, -EINVAL or -ENOMEM. */
int credentials_of_json(const char *text, struct credentials *ret, struct err *err);

/* "2026-11-23T21:27:29Z", with or without a fraction, or +hh:mm instead of Z. Returns 0 or
 * -EINVAL. */
int credentials_set_expiration(struct credentials *credentials, const char *text);
