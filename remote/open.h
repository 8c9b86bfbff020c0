/* Opens a pack by its name: a path, or a URL (http, https, s3, gs, hf). */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/reader.h"
#include "remote/remote.h"
#include "remote/settings.h"
#include <stdbool.h>

/* Whether the name is a URL that reader_open() can open. */
bool name_is_url(const char *name);
/* Whether a URL's credentials may have to be asked of a program, such as the AWS tool. */
bool name_needs_programs(const char *name, const struct remote_settings *settings);

/* A name that is the same in every folder: a URL as it is, or an absolute path. The caller frees
 * it. Returns 0, -ENOMEM or as reader_open(). */
int name_absolute(const char *name, char **ret, struct err *err);

/* The place (base/reader.h) of a file: an absolute path, or the URL that reader_open() would ask
 * first, without user, password and query; of what is in a bucket of Amazon, a name for its
 * partition. The caller frees it. Returns 0, or -errno, of which
 * reader_open() says more. */
int name_place(const char *name, const struct remote_settings *settings, struct remote *remote,
	       char **ret);

/* Appends the names of files that a name stands for, each with a NUL at its end. Returns 0, 1 (it
 * names one file) or as listing_find(). */
int name_list(const char *name, const struct remote_settings *settings, struct remote *remote,
	      struct buf *ret, struct err *err);

/* The reader knows its place. `how`: flags of base/reader.h. Settings and `remote` must outlive the
 * reader. Returns 0 or -errno; the sentence in err does not contain the name. */
int reader_open(const char *name, unsigned how, const struct remote_settings *settings,
		struct remote *remote, struct reader **ret, struct err *err);
