#include "remote/http_slot.h"
#include "base/math.h"
#include "base/scope.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER	      (128L << 10) /* of one connection */
#define IDLE_SECONDS  15L	   /* servers of S3 hang up after some 20 */
#define STALL_SECONDS 10L	   /* with less than HTTP_PACE bytes/s */

/* --- an answer -------------------------------------------------------------------------------- */

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
	struct http_slot *slot = context;

	(void)size; /* 1 */
	slot->header_bytes += count;
	if (slot->header_bytes > BOUND_HEADERS)
		return 0;
	if (count > 5 && memcmp(data, "HTTP/", 5) == 0)
		slot->headers_len = 0; /* the headers so far were those of a 100 Continue */
	if (slot->headers_len + count < HTTP_HEADERS) {
		memcpy(slot->headers_text + slot->headers_len, data, count);
		slot->headers_len += count;
	} else {
		slot->cropped = true;
	}
	slot->headers_text[slot->headers_len] = '\0';
	return count;
}

static unsigned status_of(const struct http_slot *slot)
{
	long status = 0;

	slot->curl->easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
	return (unsigned)status;
}

/* Keeps the beginning of a body that is not the range: it says why. The rest is not read if there
 * is too much, or if the status is a success, since it may be the whole object. */
static size_t keep_text(struct http_slot *slot, const char *data, size_t len)
{
	size_t room = BOUND_REFUSAL - slot->body_len;
	size_t taken = len < room ? len : room;

	memcpy(slot->body + slot->body_len, data, taken);
	slot->body_len += taken;
	slot->cut_off = slot->body_len == BOUND_REFUSAL || status_of(slot) < 300;
	return slot->cut_off ? 0 : len;
}

/* Into the transfer's memory, behind what it has. Returns less than len if that ends. */
static size_t scatter(struct http_transfer *transfer, const char *data, size_t len)
{
	uint64_t skip = transfer->got;
	size_t done = 0;

	for (int i = 0; i < transfer->count && done < len; i++) {
		const struct iovec *iov = &transfer->iov[i];
		size_t within = min(skip, iov->iov_len),
		       some = min(iov->iov_len - within, len - done);

		if (iov->iov_base && some)
			memcpy((char *)iov->iov_base + within, data + done, some);
		skip -= within;
		done += some;
	}
	transfer->got += done;
	return done;
}

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
	struct http_slot *slot = context;
	struct http_transfer *transfer = slot->transfer;

	(void)size; /* 1 */
	if (!slot->decided)
		slot->accepted =
			transfer->ops->accept(transfer, status_of(slot), slot->headers_text);
	slot->decided = true;
	atomic_fetch_add_explicit(transfer->received, count, memory_order_relaxed);
	return slot->accepted ? scatter(transfer, data, count) : keep_text(slot, data, count);
}

/* libcurl has one code for all that is wrong with a certificate, and one for all else. OpenSSL
 * numbers the reasons (X509_V_ERR_*), or has words; the name is compared by libcurl itself. */
static enum http_end end_of_tls(const struct http_slot *slot, enum http_end other)
{
	static const struct {
		const char *words; /* NULL: the number tells */
		long number;
		enum http_end end;
	} reasons[] = {{"subject name", 0, HTTP_OTHER_NAME},
		       {NULL, 9, HTTP_NOT_YET_VALID},
		       {NULL, 10, HTTP_EXPIRED},
		       {NULL, 18, HTTP_SELF_SIGNED},
		       {"wrong version number", 0, HTTP_CLEAR},
		       {"packet length too long", 0, HTTP_CLEAR},
		       {"http request", 0, HTTP_CLEAR},
		       {"record layer failure", 0, HTTP_CLEAR},
		       {"unsupported protocol", 0, HTTP_OLD_TLS},
		       {"protocol version", 0, HTTP_OLD_TLS},
		       {"legacy", 0, HTTP_OLD_TLS},
		       {"no protocols available", 0, HTTP_OLD_TLS}};
	long number = 0;

	slot->curl->easy_getinfo(slot->easy, CURLINFO_SSL_VERIFYRESULT, &number);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].words ? strstr(slot->reason, reasons[i].words) != NULL
				     : reasons[i].number == number)
			return reasons[i].end;
	return other;
}

/* A proxy that is to connect us has its own status. */
static enum http_end end_of_connection(const struct http_slot *slot)
{
	long status = 0;

	slot->curl->easy_getinfo(slot->easy, CURLINFO_HTTP_CONNECTCODE, &status);
	if (status == 401 || status == 407)
		return HTTP_NO_PROXY;
	if (status == 403)
		return HTTP_FORBIDDEN;
	return status == 400 || status == 405 || status == 501 ? HTTP_NO_TUNNEL : HTTP_BROKEN;
}

static enum http_end end_of(const struct http_slot *slot, CURLcode code)
{
	curl_off_t begun = 0;

	switch ((int)code) {
	case CURLE_OK:
		return HTTP_ANSWERED;
	case CURLE_WRITE_ERROR: /* we took no more */
		return slot->header_bytes > BOUND_HEADERS ? HTTP_FLOODED
		       : slot->cut_off			  ? HTTP_ANSWERED
							  : HTTP_TOO_LONG;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return HTTP_NO_NAME;
	case CURLE_COULDNT_CONNECT:
		return HTTP_NO_CONNECTION;
	case CURLE_SSL_CONNECT_ERROR:
		return end_of_tls(slot, HTTP_NO_TLS);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_ISSUER_ERROR:
		return end_of_tls(slot, HTTP_UNTRUSTED);
	case CURLE_SSL_CACERT_BADFILE:
		return HTTP_NO_CA_FILE;
	case CURLE_OPERATION_TIMEDOUT:
		return HTTP_STALLED;
	case CURLE_PARTIAL_FILE:
		return HTTP_CUT;
	case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9: an answer without headers */
	case CURLE_WEIRD_SERVER_REPLY:
		return HTTP_NO_HTTP;
	case CURLE_URL_MALFORMAT:
		return HTTP_IMPOSSIBLE;
	case CURLE_OUT_OF_MEMORY:
		/* Before libcurl 8.6, a single line of over 100 KiB has the same code. */
		slot->curl->easy_getinfo(slot->easy, CURLINFO_STARTTRANSFER_TIME_T, &begun);
		return begun ? HTTP_FLOODED : HTTP_NO_MEMORY;
	case CURLE_TOO_LONG_LINE:
		return HTTP_FLOODED;
	default:
		return end_of_connection(slot);
	}
}

void http_slot_outcome(struct http_slot *slot, CURLcode code, struct http_outcome *ret)
{
	struct http_outcome outcome = {
		.end = end_of(slot, code), .reason = slot->reason, .cropped = slot->cropped};
	char *redirect = NULL;
	curl_off_t first = 0, after = 0;

	slot->body[slot->body_len] = '\0';
	slot->curl->easy_getinfo(slot->easy, CURLINFO_REDIRECT_URL, &redirect);
	slot->curl->easy_getinfo(slot->easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
	outcome.redirect = redirect;
	slot->curl->easy_getinfo(slot->easy, CURLINFO_RETRY_AFTER, &after);
	outcome.first_byte_us = (uint64_t)first;
	outcome.retry_after = after > 0 ? (uint64_t)after : 0; /* a date may have passed */
	outcome.answer = (struct object_answer){
		.status = status_of(slot), .headers = slot->headers_text, .body = slot->body};
	if (outcome.end == HTTP_FLOODED || outcome.end == HTTP_ANSWERED)
		outcome.reason = ""; /* libcurl blames memory, or what we refused to take */
	else if (code != CURLE_OK && !slot->reason[0])
		outcome.reason = slot->curl->easy_strerror(code);
	*ret = outcome;
}

/* --- handles ---------------------------------------------------------------------------------- */

static void set_up(struct http_slot *slot, const struct remote_settings *settings)
{
	__typeof__(slot->curl->easy_setopt) set = slot->curl->easy_setopt;
	CURL *easy = slot->easy;

	set(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	set(easy, CURLOPT_NOSIGNAL, 1L);
	set(easy, CURLOPT_PATH_AS_IS, 1L); /* a key of S3 may have dots for folders */
	if (set(easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK)
		set(easy, CURL_PROTOCOLS_NUMBER, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	set(easy, CURLOPT_BUFFERSIZE, BUFFER);
	set(easy, CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
	set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	set(easy, CURLOPT_MAXAGE_CONN, IDLE_SECONDS);
	set(easy, CURLOPT_LOW_SPEED_LIMIT, (long)HTTP_PACE);
	set(easy, CURLOPT_LOW_SPEED_TIME, STALL_SECONDS);
	set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	set(easy, CURLOPT_USERAGENT, "foldfs/" FOLDFS_VERSION);
	set(easy, CURLOPT_HEADERFUNCTION, take_header);
	set(easy, CURLOPT_HEADERDATA, slot);
	set(easy, CURLOPT_WRITEFUNCTION, take_body);
	set(easy, CURLOPT_WRITEDATA, slot);
	set(easy, CURLOPT_ERRORBUFFER, slot->reason);
	set(easy, CURLOPT_PRIVATE, slot);
	curl_set_up(slot->curl, easy, settings);
}

struct http_slot *http_slots_take(struct http_slots *slots, const struct curl *curl,
				  const struct remote_settings *settings)
{
	struct http_slot *slot = slots->idle;

	if (slot) {
		slots->idle = slot->next_idle;
		return slot;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		return NULL;
	slot->curl = curl;
	slot->easy = curl->easy_init();
	if (!slot->easy) {
		free(slot);
		return NULL;
	}
	set_up(slot, settings);
	slot->next = slots->all;
	slots->all = slot;
	return slot;
}

/* The handle keeps its options, so it must not point to the headers that are freed. */
void http_slots_put(struct http_slots *slots, struct http_slot *slot)
{
	slot->curl->easy_setopt(slot->easy, CURLOPT_HTTPHEADER, NULL);
	slot->curl->slist_free_all(slot->headers);
	slot->headers = NULL;
	slot->transfer = NULL;
	slot->next_idle = slots->idle;
	slots->idle = slot;
}

void http_slots_free(struct http_slots *slots)
{
	struct http_slot *slot;

	while ((slot = slots->all)) {
		slots->all = slot->next;
		slot->curl->easy_cleanup(slot->easy);
		slot->curl->slist_free_all(slot->headers);
		free(slot);
	}
	slots->idle = NULL;
}

/* --- sending ---------------------------------------------------------------------------------- */

int http_slot_send(struct http_slot *slot, struct http_transfer *transfer, CURLM *multi,
		   struct http_message *ret)
{
	__typeof__(slot->curl->easy_setopt) set = slot->curl->easy_setopt;
	SCOPE(buf_release) struct buf lines = BUF_INIT;
	struct http_message message = {.headers = &lines};
	int r = transfer->ops->prepare(transfer, &message);

	if (r < 0)
		return r;
	slot->transfer = transfer;
	slot->decided = slot->accepted = slot->cut_off = slot->cropped = false;
	slot->headers_len = slot->header_bytes = slot->body_len = 0;
	slot->headers_text[0] = slot->reason[0] = '\0';
	if (header_add(&lines, "Accept-Encoding: identity") < 0 ||
	    curl_add_headers(slot->curl, &lines, &slot->headers) < 0 ||
	    set(slot->easy, CURLOPT_URL, message.url) != CURLE_OK ||
	    set(slot->easy, CURLOPT_RANGE, message.range) != CURLE_OK)
		return -ENOMEM;
	set(slot->easy, CURLOPT_NETRC,
	    (long)(message.netrc ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
	set(slot->easy, CURLOPT_NOPROXY, message.direct ? "*" : NULL);
	set(slot->easy, CURLOPT_HTTPHEADER, slot->headers);
	if (slot->curl->multi_add_handle(multi, slot->easy) != CURLM_OK)
		return -ENOMEM;
	*ret = message;
	return 0;
}
