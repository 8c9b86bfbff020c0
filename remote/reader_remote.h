/* A reader of an object on a server.
 *
 * Opening it asks for its beginning and its end at once, where LMDB's pages and the index lie, and
 * keeps both until reader_prepare(); so a pack is open after one round trip, or after two where the
 * index is longer than REMOTE_TAIL. reader_will_get() begins to read; what it has read is kept
 * until reader_get() has taken its last byte. */
#ifndef REMOTE_READER_REMOTE_H
#define REMOTE_READER_REMOTE_H

#include "base/err.h"
#include "base/reader.h"
#include "remote/object_auth.h"
#include "remote/settings.h"

#define REMOTE_HEAD ((size_t)64 << 10)
#define REMOTE_TAIL ((size_t)1 << 20)
#define REMOTE_PART                                                                  \
	((size_t)8 << 20) /* of a long reader_get(); all parts are asked for at once \
			   */

/* `shown` names it in notices. The auth is the reader's, also where this fails. Settings must
 * outlive it. Returns 0 or -errno. */
int reader_remote_open(const char *shown, struct object_auth *auth,
		       const struct remote_settings *settings, struct reader **ret,
		       struct err *err);

#endif
