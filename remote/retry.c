#include "remote/retry.h"
#include "base/clock.h"
#include "base/math.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

#define PAUSE_LEAST    (CLOCK_SECOND / 5)
#define PAUSE_OVERLOAD CLOCK_SECOND
#define PAUSE_MOST     (10 * CLOCK_SECOND)
#define TAG	       512 /* bytes of an ETag, or a date */

#define NO_PROXY                                                                             \
	"the proxy does not allow it (407); http_proxy and https_proxy may name a user, as " \
	"http://USER:PASSWORD@HOST"

struct retry_status {
	unsigned status;
	struct retry_rule rule;
};

static const struct retry_status statuses[] = {
	{200, {RETRY_BRIEFLY, false, -EPROTO, "the server ignores ranges (200, not 206)"}},
	{206, {RETRY_TAKE, false, 0, ""}},
	{301, {RETRY_ELSEWHERE, false, -EPROTO, "it leads nowhere (301)"}},
	{302, {RETRY_ELSEWHERE, false, -EPROTO, "it leads nowhere (302)"}},
	{303, {RETRY_ELSEWHERE, false, -EPROTO, "it leads nowhere (303)"}},
	{307, {RETRY_ELSEWHERE, false, -EPROTO, "it leads nowhere (307)"}},
	{308, {RETRY_ELSEWHERE, false, -EPROTO, "it leads nowhere (308)"}},
	{400, {RETRY_REFUSED, false, -EPROTO, "the server does not understand (400)"}},
	{401, {RETRY_REFUSED, false, -EACCES, "the server wants other credentials (401)"}},
	{403, {RETRY_REFUSED, false, -EACCES, "the server does not allow it (403)"}},
	{404, {RETRY_REFUSED, false, -ENOENT, "not found (404)"}},
	{407, {RETRY_NEVER, false, -EACCES, NO_PROXY}},
	{408, {RETRY_AGAIN, false, -EIO, "the server was kept waiting (408)"}},
	{410, {RETRY_REFUSED, false, -ENOENT, "no longer there (410)"}},
	{412, {RETRY_NEVER, false, -EPROTO, "the server refuses what has no condition (412)"}},
	{416, {RETRY_NEVER, false, -ESTALE, "shorter than it was (416)"}},
	{429, {RETRY_AGAIN, true, -EIO, "too many requests (429)"}},
	{500, {RETRY_AGAIN, false, -EIO, "an error of the server (500)"}},
	{502, {RETRY_AGAIN, false, -EIO, "a proxy cannot reach the server (502)"}},
	{503, {RETRY_AGAIN, true, -EIO, "the server is overloaded, or down (503)"}},
	{504, {RETRY_AGAIN, false, -EIO, "a proxy waited too long for the server (504)"}},
};

/* For other statuses from 2xx to 5xx. The last row is for all else, which is not HTTP. */
static const struct retry_rule others[] = {
	{RETRY_NEVER, false, -EPROTO, "not an answer to a request for a range"},
	{RETRY_NEVER, false, -EPROTO, "a redirect of an unknown kind"},
	{RETRY_NEVER, false, -EPROTO, "the server refuses it"},
	{RETRY_AGAIN, false, -EIO, "an error of the server"},
	{RETRY_NEVER, false, -EPROTO, "not an answer of an HTTP server"},
};

static const struct retry_rule ends[HTTP_ENDS] = {
	[HTTP_NO_NAME] = {RETRY_AGAIN, false, -EIO, "the address of the server is not found"},
	[HTTP_NO_CONNECTION] = {RETRY_AGAIN, false, -EIO, "the server does not answer"},
	[HTTP_NO_PROXY] = {RETRY_NEVER, false, -EACCES, NO_PROXY},
	[HTTP_FORBIDDEN] = {RETRY_NEVER, false, -EACCES,
			    "the proxy that https_proxy names does not allow this server (403); "
			    "no_proxy names those that are asked without it"},
	[HTTP_NO_TUNNEL] = {RETRY_NEVER, false, -EPROTO,
			    "the proxy that https_proxy names connects nobody with a server of "
			    "https"},
	[HTTP_NO_TLS] = {RETRY_AGAIN, false, -EIO, "no secure connection"},
	[HTTP_OLD_TLS] = {RETRY_NEVER, false, -EPROTO,
			  "the server has only versions of TLS that are no longer safe"},
	[HTTP_CLEAR] = {RETRY_NEVER, false, -EPROTO,
			"the server does not encrypt at this port; is it an http:// one?"},
	[HTTP_UNTRUSTED] = {RETRY_NEVER, false, -EACCES,
			    "the certificate of the server is not trusted; '--ca-file' names those "
			    "that are"},
	[HTTP_SELF_SIGNED] = {RETRY_NEVER, false, -EACCES,
			      "the server has signed its certificate itself; '--ca-file' names it, "
			      "if you trust it"},
	[HTTP_OTHER_NAME] = {RETRY_NEVER, false, -EACCES,
			     "the certificate of the server is for another host; is the name in "
			     "the URL right?"},
	[HTTP_EXPIRED] = {RETRY_NEVER, false, -EACCES,
			  "the certificate of the server has expired, or the clock of this machine "
			  "is wrong"},
	[HTTP_NOT_YET_VALID] = {RETRY_NEVER, false, -EACCES,
				"the certificate of the server is not valid yet, or the clock of "
				"this machine is wrong"},
	[HTTP_NO_CA_FILE] = {RETRY_NEVER, false, -EACCES,
			     "the certificates of '--ca-file' (or AWS_CA_BUNDLE, CURL_CA_BUNDLE, "
			     "REQUESTS_CA_BUNDLE, SSL_CERT_FILE) cannot be read"},
	[HTTP_STALLED] = {RETRY_AGAIN, false, -EIO,
			  "nothing, or very little, comes from the server"},
	[HTTP_BROKEN] = {RETRY_AGAIN, false, -EIO, "the connection broke"},
	[HTTP_CUT] = {RETRY_AGAIN, false, -EIO, "the answer was cut"},
	[HTTP_TOO_LONG] = {RETRY_BRIEFLY, false, -EPROTO, "the answer is longer than it says"},
	[HTTP_FLOODED] = {RETRY_BRIEFLY, false, -EPROTO,
			  "the headers of the answer have over 64 KiB"},
	[HTTP_NO_HTTP] = {RETRY_BRIEFLY, false, -EPROTO,
			  "what answers is no HTTP server; is the port right?"},
	[HTTP_IMPOSSIBLE] = {RETRY_NEVER, false, -EPROTO, "a URL that cannot be asked for"},
	[HTTP_NO_MEMORY] = {RETRY_NEVER, false, -ENOMEM, "no memory"},
	[HTTP_CANCELLED] = {RETRY_NEVER, false, -ECANCELED, "cancelled"},
};

const struct retry_rule *retry_rule_of_status(unsigned status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return &statuses[i].rule;
	return &others[status >= 200 && status < 600 ? status / 100 - 2 : 4];
}

const struct retry_rule *retry_rule_of_end(enum http_end end)
{
	return &ends[end];
}

void retry_explain(const struct retry_rule *rule, const struct http_outcome *outcome,
		   const char *elsewhere, struct err *ret)
{
	if (rule == retry_rule_of_status(outcome->answer.status) && !strchr(rule->why, '('))
		err_set(ret, 0, "%s (%u)", rule->why, outcome->answer.status);
	else if (outcome->reason[0])
		err_set(ret, 0, "%s: %s%s", rule->why, outcome->reason,
			rule == &ends[HTTP_NO_NAME] && elsewhere ? elsewhere : "");
	else
		err_set(ret, 0, "%s", rule->why);
}

uint64_t retry_pause(unsigned tries, bool overloaded, uint64_t least, uint64_t random)
{
	uint64_t bound = overloaded ? PAUSE_OVERLOAD : PAUSE_LEAST;

	while (--tries > 0 && bound < PAUSE_MOST)
		bound *= 2;
	return least * CLOCK_SECOND + random % (min(bound, PAUSE_MOST) + 1);
}

/* The clock is random enough: no two fail in the same nanosecond. */
struct http_verdict retry_verdict(const struct retry_rule *rule, const struct http_outcome *outcome,
				  unsigned tries, uint64_t left)
{
	uint64_t random = clock_ns() * UINT64_C(0x9e3779b97f4a7c15) >> 20;
	uint64_t least = min(outcome->retry_after, left);

	return (struct http_verdict){.again = true,
				     .overloaded = rule->overloaded,
				     .pause_ns =
					     retry_pause(tries, rule->overloaded, least, random)};
}

/* --- ranges ----------------------------------------------------------------------------------- */

bool retry_etag_is_strong(const char *etag)
{
	return etag[0] && strncmp(etag, "W/", 2) != 0;
}

/* Whether a header has another value than the known one. */
static bool differs(const char *headers, const char *name, const char *known, bool missing)
{
	char value[TAG];

	if (!known[0])
		return false;
	return header_find(headers, name, value, sizeof(value)) ? strcmp(value, known) != 0
								: missing;
}

bool retry_is_range(unsigned status, const char *headers)
{
	char value[TAG];

	return status == 206 ||
	       (status == 200 && header_find(headers, "Content-Range", value, sizeof(value)));
}

static bool is_as_asked(const struct content_range *range, const struct retry_range *asked)
{
	uint64_t len = asked->len, first = asked->first;

	if (asked->suffix)
		first = sub_sat(range->total, len);
	else if (first >= range->total)
		return false;
	if (len > range->total - first)
		len = range->total - first;
	return range->first == first && range->last == first + len - 1;
}

int retry_check_range(const char *headers, const struct retry_range *asked,
		      struct content_range *ret, struct err *err)
{
	struct content_range range;
	char value[TAG];

	if (header_find(headers, "Content-Encoding", value, sizeof(value)) &&
	    strcasecmp(value, "identity") != 0)
		return err_set(err, -EPROTO, "the server encodes it (%s)", value);
	if (!header_find(headers, "Content-Range", value, sizeof(value)) ||
	    !content_range_parse(value, &range))
		return err_set(err, -EPROTO, "the server does not say which range it sends");
	if (differs(headers, "ETag", asked->etag, asked->tagged) ||
	    (!retry_etag_is_strong(asked->etag) &&
	     differs(headers, "Last-Modified", asked->modified, asked->tagged)) ||
	    (asked->total != UINT64_MAX && range.total != asked->total))
		return -ESTALE;
	if (!is_as_asked(&range, asked))
		return err_set(err, -EPROTO, "the server sends another range (%s)", value);
	*ret = range;
	return 0;
}
