/* A handle of libcurl, which sends one request after another, and the answer to the current one.
 * Needs libcurl's headers. */
#pragma once

#include "remote/bounds.h"
#include "remote/curl.h"
#include "remote/http.h"

#define HTTP_HEADERS 8192 /* bytes of an answer's headers; of more, some lines are missing */

struct http_slot {
	const struct curl *curl;
	CURL *easy;
	struct curl_slist *headers;
	struct http_transfer *transfer;	    /* NULL: idle */
	struct http_slot *next_idle, *next; /* of the slots */

	bool decided, accepted; /* whether the body goes into the transfer's memory */
	bool cut_off;		/* we ended it: the rest of the body is not wanted */
	bool cropped;		/* lines are missing in headers_text */
	size_t headers_len, body_len;
	size_t header_bytes; /* of all lines that came */
	char headers_text[HTTP_HEADERS], body[BOUND_REFUSAL + 1], reason[CURL_ERROR_SIZE];
};

/* All of them, which keep their handles while they are idle. */
struct http_slots {
	struct http_slot *all, *idle;
};

/* An idle one, or a new one; NULL: no memory. */
struct http_slot *http_slots_take(struct http_slots *slots, const struct curl *curl,
				  const struct remote_settings *settings);
/* Makes the slot idle. */
void http_slots_put(struct http_slots *slots, struct http_slot *slot);
void http_slots_free(struct http_slots *slots);

/* Calls the transfer's prepare() and sends the request, which *ret is then. Returns 0, the error of
 * prepare(), or -ENOMEM. */
int http_slot_send(struct http_slot *slot, struct http_transfer *transfer, CURLM *multi,
		   struct http_message *ret);

/* The strings in *ret live in the slot. */
void http_slot_outcome(struct http_slot *slot, CURLcode code, struct http_outcome *ret);
