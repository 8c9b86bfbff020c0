/* A file of sections with names and values, as the AWS command line tools write them:
 *
 *	[profile here]
 *	region = eu-west-1		profile here / region
 *	s3 =
 *	  addressing_style = path	profile here / s3.addressing_style
 *
 * Lines that begin with # or ; are comments, and so is what follows a space and one of these. Of a
 * name that is given twice the last counts; lines that are none of this are passed over, as these
 * tools do. The text is zeroed when freed, since it may hold secrets. */
#ifndef REMOTE_INI_H
#define REMOTE_INI_H

#include "base/err.h"

struct ini;

/* A file that is not there is an empty one. Returns 0, -EFBIG, -ENOMEM, or the error of reading,
 * with the path in err. */
int ini_open(const char *path, struct ini **ret, struct err *err);
void ini_free(struct ini *ini);

/* The value, or NULL. A section that is there has a value for NULL: "". */
const char *ini_get(const struct ini *ini, const char *section, const char *name);

#endif
