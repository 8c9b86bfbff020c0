/* What a foldfs that was built without libcurl says instead. */
#include "remote/curl.h"

#if !REMOTE_CURL

#include "remote/fetch.h"
#include "remote/reader_remote.h"
#include <errno.h>

static int say_none(struct err *err)
{
	return err_set(err, -ENOSYS,
		       "this foldfs was built without libcurl, and reads no URLs: install "
		       "libcurl4-openssl-dev (Debian) or libcurl-devel, and build it again");
}

int fetch(const struct fetch *request, unsigned *ret_status, struct buf *ret_body, struct err *err)
{
	(void)request;
	(void)ret_status;
	(void)ret_body;
	return say_none(err);
}

int reader_remote_open(const char *shown, struct object_auth *auth, unsigned how,
		       const struct remote_settings *settings, struct remote *remote,
		       struct reader **ret, struct err *err)
{
	(void)shown;
	(void)how;
	(void)settings;
	(void)remote;
	(void)ret;
	auth->ops->free(auth);
	return say_none(err);
}

#endif
