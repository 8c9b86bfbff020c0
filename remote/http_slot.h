/* One handle of libcurl, that sends one request after the other, and the answer that it gets. Only
 * where libcurl's headers are. */
#ifndef REMOTE_HTTP_SLOT_H
#define REMOTE_HTTP_SLOT_H

#include "remote/curl.h"
#include "remote/http.h"

#if REMOTE_CURL

#define HTTP_HEADERS                                                                \
	8192 /* bytes of an answer's headers; of longer ones some lines are missing \
	      */

struct http_slot {
	const struct curl *curl;
	_Atomic uint64_t *received; /* bytes of bodies: counted here */
	CURL *easy;
	struct curl_slist *headers;
	struct http_transfer *transfer;	    /* NULL: idle */
	struct http_slot *next_idle, *next; /* http.c's */

	bool decided, accepted; /* whether the body goes into the transfer's memory */
	bool cut_off;		/* by us: no more of the body is wanted */
	int piece;		/* of the transfer's iov: the next byte goes there, */
	size_t within;		/* behind these */
	size_t headers_len, body_len;
	char headers_text[HTTP_HEADERS], body[OBJECT_BODY + 1], reason[CURL_ERROR_SIZE];
};

/* NULL: no memory. */
struct http_slot *http_slot_new(const struct curl *curl, const struct remote_settings *settings,
				_Atomic uint64_t *received);
void http_slot_free(struct http_slot *slot);

/* Has the transfer prepared, and sends it. Returns 0; what prepare() returned; or -ENOMEM. */
int http_slot_send(struct http_slot *slot, struct http_transfer *transfer, CURLM *multi);

/* Where the strings are in the slot. */
void http_slot_outcome(struct http_slot *slot, CURLcode code, struct http_outcome *ret);

/* Makes it idle. */
void http_slot_clear(struct http_slot *slot);

#endif

#endif
