/* A profile of the AWS command line tools: what its sections in their two files say.
 *
 *	~/.aws/credentials	[NAME]			AWS_SHARED_CREDENTIALS_FILE
 *	~/.aws/config		[profile NAME]		AWS_CONFIG_FILE
 *
 * The first file comes first. Files that are not there are empty. Not thread-safe. */
#ifndef REMOTE_PROFILE_H
#define REMOTE_PROFILE_H

#include "base/err.h"
#include <stdbool.h>

struct profile;

/* `name` NULL: the one of AWS_PROFILE, or "default". Returns 0; -ENOENT: it was named, and neither
 * file has it; -ENOMEM, or the error of reading a file. */
int profile_open(const char *name, struct profile **ret, struct err *err);
void profile_free(struct profile *profile);

/* For SCOPE(). */
static inline void profile_release(struct profile **profile)
{
	profile_free(*profile);
}

/* They live as long as the profile. */
const char *profile_name(const struct profile *profile);
/* Where it was looked for: "~/.aws/credentials and ~/.aws/config", as paths. */
const char *profile_files(const struct profile *profile);

/* A value, or NULL where there is none or it is empty. */
const char *profile_get(const struct profile *profile, const char *name);
/* The same of the section of services that the profile names. */
const char *profile_service(const struct profile *profile, const char *service, const char *name);
struct profile_keys {
	const char *access, *secret, *token; /* NULL: it is missing */
};

/* Static keys, all of the same file, so that parts of two are never mixed. Returns false where no
 * file has an access key. */
bool profile_keys(const struct profile *profile, struct profile_keys *ret);

#endif
