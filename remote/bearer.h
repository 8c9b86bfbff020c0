/* Credentials for objects on http and https servers: a token in the header Authorization, or the
 * user and password of ~/.netrc or the URL.
 *
 * The token is in FOLDFS_TOKEN, or in the first line of the file that FOLDFS_TOKEN_FILE names. It
 * is for the host that FOLDFS_TOKEN_HOST names, otherwise for the server of the first URL on the
 * command line, and is sent to no other. For the Hugging Face Hub (remote/hub.h), HF_TOKEN and
 * HF_TOKEN_PATH come first, and last the file of its login. When a token was refused, its file is
 * read again. Tokens are sent over https, or to this machine itself, and nowhere else.
 *
 * ~/.netrc may have an entry for any host: it is asked for servers that the user named, not for
 * those that another server's list named. */
#pragma once

#include "base/err.h"
#include "remote/object_auth.h"
#include "remote/settings.h"

/* `apart`: as READER_APART. Returns 0, -EINVAL (not a URL of http or https), -ENOMEM, or why
 * there is no token. */
int bearer_new(const char *url, bool apart, const struct remote_settings *settings,
	       struct object_auth **ret, struct err *err);
