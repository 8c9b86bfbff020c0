/* Whatever servers answer. This takes the place of remote/http.c: each attempt of a transfer gets
 * the next answer of the input, and is cancelled once there is none. For one file of a program.
 *
 *	answer	u8: the status, by its place in the table; u8: how it ends; u8 * 4: bytes of the
 *		headers; u8 * FAKE_BODY: bytes of the body; headers; body */
#pragma once

#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/header.h"
#include "remote/http.h"
#include "remote/object_auth.h"
#include "remote/remote.h"
#include "tests/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

#ifndef FAKE_BODY
#define FAKE_BODY 4
#endif
#define FAKE_ROOM (256 * FAKE_BODY > BOUND_REFUSAL ? 256 * FAKE_BODY : BOUND_REFUSAL)

static const unsigned statuses[] = {206, 200, 301, 307, 400, 401, 403, 404,
				    410, 412, 416, 429, 500, 503, 100, 0};

static struct {
	const uint8_t *data;
	size_t len;
} rest;

static size_t take_number(void)
{
	if (rest.len == 0)
		return 0;
	rest.len--;
	return *rest.data++;
}

static const char *take_bytes(size_t len, char *to, size_t room, size_t *ret_len)
{
	if (len > rest.len)
		len = rest.len;
	if (len > room - 1)
		len = room - 1;
	memcpy(to, rest.data, len);
	to[len] = '\0';
	rest.data += len;
	rest.len -= len;
	*ret_len = len;
	return to;
}

/* --- remote/http.h ---------------------------------------------------------------------------- */

struct http {
	int nothing;
};

/* Into the memory of the transfer, after what it has. Returns false if it does not fit. */
static bool scatter(struct http_transfer *transfer, const char *body, size_t len)
{
	uint64_t at = transfer->got;

	for (int i = 0; i < transfer->count && len; i++) {
		const struct iovec *iov = &transfer->iov[i];
		size_t part = iov->iov_len > at ? iov->iov_len - at : 0;

		part = part < len ? part : len;
		if (part)
			memcpy((char *)iov->iov_base + at, body, part);
		at -= part ? at : iov->iov_len;
		transfer->got += part;
		body += part;
		len -= part;
	}
	return len == 0;
}

static struct http_verdict answer(struct http_transfer *transfer, struct http_outcome *outcome)
{
	static char headers[1024], body[FAKE_ROOM + 1], redirect[1024];
	unsigned status = statuses[take_number() % 16], end = (unsigned)take_number();
	size_t headers_len = 4 * take_number(), body_len = FAKE_BODY * take_number(), len;

	outcome->end = end < 192 ? HTTP_ANSWERED : (enum http_end)(end % HTTP_CANCELLED);
	outcome->retry_after = end;
	outcome->answer.status = status;
	outcome->answer.headers = take_bytes(headers_len, headers, sizeof(headers), &len);
	outcome->answer.body = take_bytes(body_len, body, sizeof(body), &len);
	if (status / 100 == 3 && header_find(headers, "Location", redirect, sizeof(redirect)))
		outcome->redirect = redirect;
	if (status && transfer->ops->accept(transfer, status, headers)) {
		outcome->answer.body = "";
		if (!scatter(transfer, body, len))
			outcome->end = HTTP_TOO_LONG;
	} else if (len > BOUND_REFUSAL) {
		body[BOUND_REFUSAL] = '\0';
	}
	return transfer->ops->finished(transfer, outcome);
}

static void check_headers(const struct buf *lines)
{
	for (size_t i = 0; i < lines->len; i++)
		must(!strchr("\r\n", lines->data[i]) || !lines->data[i]);
}

void http_submit(struct http_client *client, struct http_transfer *transfer)
{
	struct http_verdict verdict = {.again = true};

	(void)client;
	while (verdict.again) {
		SCOPE(buf_release) struct buf lines = BUF_INIT;
		struct http_message message = {.headers = &lines};
		struct http_outcome outcome = {.answer = {.headers = "", .body = ""}, .reason = ""};
		bool last = rest.len == 0;

		outcome.end = HTTP_CANCELLED;
		if (!last && transfer->ops->prepare(transfer, &message) < 0) {
			outcome.end = HTTP_IMPOSSIBLE;
			(void)take_number(); /* or it would be tried for 30 seconds */
		}
		check_headers(&lines);
		if (last || outcome.end == HTTP_IMPOSSIBLE)
			verdict = transfer->ops->finished(transfer, &outcome);
		else
			verdict = answer(transfer, &outcome);
		must(!last || !verdict.again);
	}
}

int remote_client_new(struct remote *remote, const struct remote_settings *settings,
		      const char *url, struct http_client **ret, struct err *err)
{
	(void)remote;
	(void)settings;
	(void)err;
	must(url[0]);
	*ret = NULL;
	return 0;
}

void remote_client_free(struct remote *remote, struct http_client *client)
{
	(void)remote;
	(void)client;
}

void http_end(struct http_client *client)
{
	(void)client;
}

void http_cancel(struct http_client *client)
{
	(void)client;
}

bool http_speak(struct http_client *client)
{
	(void)client;
	return true;
}

void http_hush(struct http_client *client)
{
	(void)client;
}

void http_hurry(struct http_client *client)
{
	(void)client;
}

void http_stats(struct http_client *client, struct reader_stats *ret)
{
	(void)client;
	*ret = (struct reader_stats){0};
}
