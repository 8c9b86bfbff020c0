/* One short HTTP request that waits for its answer: for credentials. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "remote/settings.h"
#include <stdatomic.h>

struct fetch_request {
	const char *method; /* "GET", "PUT", "POST" */
	const char *url;
	const struct buf *headers; /* header_add(); NULL: none */
	const char *body;	   /* NULL: none */
	unsigned timeout_ms;	   /* for the whole request */
	bool direct; /* without a proxy: for metadata services; to this machine always */
	const atomic_bool *stops; /* once true, it ends within some seconds; NULL: never */
	const struct remote_settings *settings;
};

/* Any status is a success. Returns 0, -ENOSYS (no libcurl), -ENOMEM, -EMSGSIZE (the answer is
 * longer than remote/bounds.h says), -ETIMEDOUT, -ECANCELED or -EIO (the server cannot be reached).
 * The body replaces what ret_body had, and ends with a NUL that len does not count. */
int fetch(const struct fetch_request *request, unsigned *ret_status, struct buf *ret_body,
	  struct err *err);
