/* A profile of the AWS command line tools: its sections in their two files.
 *
 *	~/.aws/credentials	[NAME]			AWS_SHARED_CREDENTIALS_FILE
 *	~/.aws/config		[profile NAME]		AWS_CONFIG_FILE
 *
 * The first file takes precedence. Missing files count as empty. Not thread-safe. */
#pragma once

#include "base/err.h"
#include <stdbool.h>

struct profile;

/* `name` NULL: the profile of AWS_PROFILE, or "default". Returns 0, -ENOENT (neither file has a
 * profile of this name), -ENOMEM, or the error of reading a file. */
int profile_open(const char *name, struct profile **ret, struct err *err);
void profile_free(struct profile *profile);

/* For SCOPE(). */
static inline void profile_release(struct profile **profile)
{
	profile_free(*profile);
}

/* These texts live as long as the profile. */
const char *profile_name(const struct profile *profile);
/* The paths of the two files: "/home/me/.aws/credentials and /home/me/.aws/config". */
const char *profile_files(const struct profile *profile);

/* A value, or NULL if there is none or it is empty. */
const char *profile_get(const struct profile *profile, const char *name);
/* A value from the section of services that the profile names. */
const char *profile_service(const struct profile *profile, const char *service, const char *name);
struct profile_keys {
	const char *access, *secret, *token; /* NULL: missing */
};

/* Static keys, all from one file, so that keys of two are never mixed. Returns false if no file has
 * an access key. */
bool profile_keys(const struct profile *profile, struct profile_keys *ret);
