/* What says that this foldfs was built without libcurl. */
#include "remote/curl.h"

#if !REMOTE_CURL

#include "remote/fetch.h"
#include "remote/http.h"
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

/* There is never a struct http. */
int http_new(const struct remote_settings *settings, struct http **ret, struct err *err)
{
	(void)settings;
	(void)ret;
	return say_none(err);
}

void http_free(struct http *http)
{
	(void)http;
}

void http_submit(struct http *http, struct http_transfer *transfer)
{
	(void)http;
	(void)transfer;
}

void http_rest(struct http *http)
{
	(void)http;
}

void http_cancel(struct http *http)
{
	(void)http;
}

void http_hurry(struct http *http)
{
	(void)http;
}

void http_stats(struct http *http, struct reader_stats *ret)
{
	(void)http;
	(void)ret;
}

#endif
