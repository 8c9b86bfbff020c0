#include "remote/fetch.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/curl.h"
#include "remote/url.h"
#include <errno.h>
#include <string.h>

struct fetching {
	struct curl curl;
	CURL *easy;
	struct curl_slist *headers;
	struct buf body;
	size_t header_bytes;
	int error; /* why the body was not taken */
	const struct fetch_request *request;
	char reason[CURL_ERROR_SIZE];
};

static void fetching_release(struct fetching *fetching)
{
	if (fetching->easy)
		fetching->curl.easy_cleanup(fetching->easy);
	if (fetching->headers)
		fetching->curl.slist_free_all(fetching->headers);
	buf_release(&fetching->body);
}

static size_t keep_body(char *data, size_t size, size_t count, void *context)
{
	struct fetching *fetching = context;

	(void)size; /* 1 */
	if (fetching->body.len + count > BOUND_ANSWER)
		fetching->error = -EMSGSIZE;
	else
		fetching->error = buf_add(&fetching->body, data, count);
	return fetching->error ? 0 : count;
}

static size_t count_header(char *data, size_t size, size_t count, void *context)
{
	struct fetching *fetching = context;

	(void)data;
	(void)size; /* 1 */
	fetching->header_bytes += count;
	return fetching->header_bytes > BOUND_HEADERS ? 0 : count;
}

static int look_whether_to_stop(void *context, curl_off_t to_get, curl_off_t got,
				curl_off_t to_send, curl_off_t sent)
{
	const atomic_bool *stops = context;

	(void)to_get, (void)got, (void)to_send, (void)sent;
	return stops && atomic_load(stops);
}

static void set_up_fetch(struct fetching *fetching)
{
	const struct fetch_request *request = fetching->request;
	__typeof__(fetching->curl.easy_setopt) set = fetching->curl.easy_setopt;
	struct url url SCOPE(url_release) = {0};
	CURL *easy = fetching->easy;

	set(easy, CURLOPT_URL, request->url);
	set(easy, CURLOPT_CUSTOMREQUEST, request->method);
	set(easy, CURLOPT_NOSIGNAL, 1L);
	set(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	set(easy, CURLOPT_HTTPHEADER, fetching->headers);
	set(easy, CURLOPT_WRITEFUNCTION, keep_body);
	set(easy, CURLOPT_WRITEDATA, fetching);
	set(easy, CURLOPT_HEADERFUNCTION, count_header);
	set(easy, CURLOPT_HEADERDATA, fetching);
	set(easy, CURLOPT_ERRORBUFFER, fetching->reason);
	set(easy, CURLOPT_XFERINFOFUNCTION, look_whether_to_stop);
	set(easy, CURLOPT_XFERINFODATA, request->stops);
	set(easy, CURLOPT_NOPROGRESS, 0L);
	if (request->body)
		set(easy, CURLOPT_POSTFIELDS, request->body);
	if (request->direct || (url_parse(request->url, &url) == 0 && url_is_here(&url)))
		set(easy, CURLOPT_NOPROXY, "*");
	curl_set_up(&fetching->curl, easy, request->settings);
}

static int fail_fetch(const struct fetching *fetching, CURLcode code, struct err *err)
{
	const char *reason =
		fetching->reason[0] ? fetching->reason : fetching->curl.easy_strerror(code);

	if (fetching->header_bytes > BOUND_HEADERS)
		return err_set(err, -EMSGSIZE, "the headers of the answer have over %u KiB",
			       (unsigned)(BOUND_HEADERS / KIB));
	if (fetching->error == -EMSGSIZE)
		return err_set(err, -EMSGSIZE, "the answer has over %u KiB",
			       (unsigned)(BOUND_ANSWER / KIB));
	if (fetching->error || code == CURLE_OUT_OF_MEMORY)
		return -ENOMEM;
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return -ECANCELED;
	return err_set(err, code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO, "%s", reason);
}

int fetch(const struct fetch_request *request, unsigned *ret_status, struct buf *ret_body,
	  struct err *err)
{
	struct fetching fetching SCOPE(fetching_release) = {.request = request};
	long status = 0;
	CURLcode code;
	int r = curl_load(&fetching.curl, err);

	if (r == 0 && request->headers)
		r = curl_add_headers(&fetching.curl, request->headers, &fetching.headers);
	if (r < 0)
		return r;
	fetching.easy = fetching.curl.easy_init();
	if (!fetching.easy)
		return -ENOMEM;
	set_up_fetch(&fetching);
	code = fetching.curl.easy_perform(fetching.easy);
	if (code == CURLE_OK && buf_adds(&fetching.body, "") < 0)
		return -ENOMEM;
	if (code != CURLE_OK)
		return fail_fetch(&fetching, code, err);
	fetching.curl.easy_getinfo(fetching.easy, CURLINFO_RESPONSE_CODE, &status);
	*ret_status = (unsigned)status;
	buf_release(ret_body);
	*ret_body = fetching.body;
	fetching.body = BUF_INIT;
	return 0;
}
