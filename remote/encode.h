/* Percent-encoding as signatures need it: of all but A-Z a-z 0-9 - . _ ~, upper case. */
#pragma once

#include "base/buf.h"

/* Appends the text, encoded. The characters in `keep` are not encoded. Returns 0 or -ENOMEM. */
int encode_add(struct buf *buf, const char *text, const char *keep);
