/* What an answer of S3 means that is not a success. */
#pragma once

#include "base/err.h"
#include "remote/object_auth.h"

enum s3_refusal_kind {
	S3_OTHER,
	S3_OTHER_REGION, /* the bucket is in `region` */
	S3_OTHER_STYLE,	 /* the bucket is to be part of the host's name */
	S3_ENDED,	 /* the session of the credentials has ended */
};

struct s3_refusal {
	enum s3_refusal_kind kind;
	const struct object_answer *answer;
	char *code, *message; /* as S3 sent them; NULL: it did not */
	char *region;
};

/* Returns 0 or -ENOMEM. The answer is borrowed. */
int s3_refusal_read(const struct object_answer *answer, struct s3_refusal *ret);
void s3_refusal_release(struct s3_refusal *refusal);

/* Says why, and the way out. `source`: where the keys that signed came from; `unsigned_because`:
 * why the request was not signed. One of them is empty. `needs`: a permission. Returns -ENOENT,
 * -EACCES or -EIO. */
int s3_refusal_say(const struct s3_refusal *refusal, const char *source,
		   const char *unsigned_because, const char *needs, struct err *err);
