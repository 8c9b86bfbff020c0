/* A reader of an object on a server.
 *
 * Opening it asks for the beginning and the end of the object at the same time, where LMDB's pages
 * and the index are, and keeps both until reader_prepare(), but of all packs of a mount only those
 * of the REMOTE_ENDS that were opened last. So a pack is open after one round trip, or after two if
 * the index is longer than REMOTE_TAIL. Of what is read whole only the beginning is asked for,
 * REMOTE_PART bytes: one round trip, and one more for what is longer. reader_will_get()
 * begins to read; the bytes are kept until reader_get() has taken the last of them. */
#pragma once

#include "base/err.h"
#include "base/reader.h"
#include "remote/object_auth.h"
#include "remote/remote.h"
#include "remote/settings.h"

#define REMOTE_HEAD ((size_t)64 << 10)
#define REMOTE_TAIL ((size_t)1 << 20)
#define REMOTE_PART ((size_t)8 << 20) /* of a long reader_get(); all are asked for together */

/* `shown` names the object in notices; `how`: flags of base/reader.h. Takes over `auth`, even on
 * failure. Settings and `remote` must outlive the reader. Returns 0 or -errno. */
int reader_remote_open(const char *shown, struct object_auth *auth, unsigned how,
		       const struct remote_settings *settings, struct remote *remote,
		       struct reader **ret, struct err *err);
