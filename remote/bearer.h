/* Objects of http and https servers: a token for the header Authorization, or what ~/.netrc and the
 * URL itself have.
 *
 * The token is FOLDFS_TOKEN's, or the first line of the file that FOLDFS_TOKEN_FILE names; for
 * huggingface.co and its subdomains HF_TOKEN's, or that of HF_TOKEN_PATH. A file is read again when
 * its token was refused. Tokens go over https only, or to this machine itself. */
#ifndef REMOTE_BEARER_H
#define REMOTE_BEARER_H

#include "base/err.h"
#include "remote/object_auth.h"

/* Returns 0, -EINVAL (no URL of http or https), -ENOMEM, or why a token could not be had. */
int bearer_new(const char *url, struct object_auth **ret, struct err *err);

#endif
