/* Percent-encoding, as signatures want it: all but A-Z a-z 0-9 - . _ ~, in upper case. */
#ifndef REMOTE_ENCODE_H
#define REMOTE_ENCODE_H

#include "base/buf.h"

/* Appends the text; the characters of `keep` stay as well. Returns 0 or -ENOMEM. */
int encode_add(struct buf *buf, const char *text, const char *keep);

#endif
