/* Credentials for objects on http and https servers: a token in the header Authorization, or the
 * user and password of ~/.netrc or the URL.
 *
 * The token is in FOLDFS_TOKEN, or in the first line of the file that FOLDFS_TOKEN_FILE names. For
 * huggingface.co and its subdomains, HF_TOKEN and HF_TOKEN_PATH come first. When a token was
 * refused, its file is read again. Tokens are sent over https, or to this machine itself, and
 * nowhere else. */
#ifndef REMOTE_BEARER_H
#define REMOTE_BEARER_H

#include "base/err.h"
#include "remote/object_auth.h"

/* Returns 0, -EINVAL (not a URL of http or https), -ENOMEM, or why there is no token. */
int bearer_new(const char *url, struct object_auth **ret, struct err *err);

#endif
