/* A file of sections with names and values, as the AWS command line tools write it:
 *
 *	[profile here]
 *	region = eu-west-1		profile here / region
 *	s3 =
 *	  addressing_style = path	profile here / s3.addressing_style
 *
 * A line that begins with # or ; is a comment, and so is what follows a space and one of these, but
 * not between quotes. The name of a section may end with a part in quotes, which are left out. If
 * a name is given twice, the last counts. All other lines are skipped, as these tools do. */
#pragma once

#include "base/err.h"

struct ini;

/* A missing file is an empty one. Returns 0, -EFBIG, -ENOMEM, or the error of reading, with the
 * path in err. */
int ini_open(const char *path, struct ini **ret, struct err *err);
void ini_free(struct ini *ini);

/* The value, or NULL. With `name` NULL: "" if there is such a section. */
const char *ini_get(const struct ini *ini, const char *section, const char *name);
