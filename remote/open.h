/* Opens a pack by its name: a path, or a URL (http, https, s3). */
#ifndef REMOTE_OPEN_H
#define REMOTE_OPEN_H

#include "base/err.h"
#include "base/reader.h"
#include "remote/remote.h"
#include "remote/settings.h"
#include <stdbool.h>

/* Whether the name is a URL that reader_open() can open. */
bool name_is_url(const char *name);
/* Whether a URL's credentials may have to be asked of a program, such as the AWS tool. */
bool name_needs_programs(const char *name, const struct remote_settings *settings);

/* Removes secrets from a word (a name, NAME/=name or @name): user:password@ and the query of a URL
 * of http or https. Done in place, because all users can see argv. */
void name_hide_secrets(char *word);
/* A name that is the same in every folder: a URL as it is, or an absolute path. The caller frees
 * it. NULL with errno. */
char *name_absolute(const char *name);
/* A copy without secrets, for messages. The caller frees it. NULL: no memory. */
char *name_shown(const char *name);

/* Settings and `remote` must outlive the reader. Returns 0 or -errno; the sentence in err does not
 * contain the name. */
int reader_open(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct reader **ret, struct err *err);

#endif
