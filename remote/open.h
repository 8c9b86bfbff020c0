/* Opens a pack by its name: a path, or a URL (http, https, s3). */
#ifndef REMOTE_OPEN_H
#define REMOTE_OPEN_H

#include "base/err.h"
#include "base/reader.h"
#include "remote/settings.h"
#include <stdbool.h>

/* Whether the name is a URL of a kind that reader_open() knows. */
bool name_is_url(const char *name);

/* Leaves of a word, which is a name, NAME/=name or @name, what may be shown: of URLs of http and
 * https neither user:password@ nor the query, which may sign it. Done in place: what stands in argv
 * is seen by all users. */
void name_hide_secrets(char *word);
/* The same from whatever folder: a URL as it is, an absolute path. For the caller to free; NULL
 * with errno. */
char *name_absolute(const char *name);
/* A copy of what may be shown, for the caller to free; NULL: no memory. */
char *name_shown(const char *name);

/* Settings must outlive the reader. Returns 0, or -errno: err has no name in front. */
int reader_open(const char *name, const struct remote_settings *settings, struct reader **ret,
		struct err *err);

#endif
