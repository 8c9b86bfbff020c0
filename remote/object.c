#include "remote/curl.h"

#if REMOTE_CURL

#include "base/clock.h"
#include "base/histogram.h"
#include "base/math.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/object.h"
#include "remote/retry.h"
#include "remote/url.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#define OUTAGE_NS (2 * CLOCK_SECOND)  /* without a success before the user is told */
#define AGAIN_NS  (60 * CLOCK_SECOND) /* between two lines about reads that were given up */
#define TAG	  512		      /* bytes of an ETag, or a date */
#define RANGE	  64

struct object {
	char *shown;
	struct object_auth *auth;
	const struct remote_settings *settings;
	struct remote *remote;
	struct http_client *client;
	struct histogram first_byte; /* us */
	atomic_bool stale, cancelled;
	_Atomic uint64_t size; /* UINT64_MAX: not known yet */

	pthread_mutex_t lock;
	struct err why; /* protected by lock */

	/* What follows belongs to the thread of transfers alone. */
	char etag[TAG], modified[TAG];
	char *redirect;		/* where the object's URL redirects to; NULL: nowhere */
	uint64_t failing_since; /* since when nothing has succeeded, ns; 0: nothing has failed */
	bool arrived;		/* a range has, as a whole */
	bool said;		/* the user was told */
	uint64_t given_up;	/* when the user was last told that a read was, ns; 0: never */
};

/* A range that is being read. */
struct object_read {
	struct http_transfer transfer; /* first */
	struct object *object;
	struct object_range range;
	object_done_fn *done;
	void *arg;

	bool redirected; /* this attempt went to the redirect */
	int error;	 /* what is wrong with the answer; 0: nothing */
	struct err why;
	uint64_t expected; /* bytes in all, as an answer has said; 0: none has yet */
	uint64_t failed; /* when it first failed, ns, and later for what has come; 0: it has not */
	uint64_t got;	 /* after the attempt before */
	unsigned tries;	 /* since bytes came last */
	unsigned brief, hops, refusals;
	char text[RANGE];
};

static struct object_read *read_of(struct http_transfer *transfer)
{
	return (struct object_read *)transfer;
}

static bool is_object_open(const struct object *object)
{
	return atomic_load(&object->size) != UINT64_MAX;
}

/* --- asking ----------------------------------------------------------------------------------- */

static int add_condition(const struct object *object, const struct http_message *message)
{
	if (retry_etag_is_strong(object->etag))
		return header_addf(message->add, message->context, "If-Match: %s", object->etag);
	if (object->modified[0])
		return header_addf(message->add, message->context, "If-Unmodified-Since: %s",
				   object->modified);
	return 0;
}

/* Secrets go to the server of the object's own URL only. A proxy would see what is meant for this
 * machine itself. */
static int sign(struct object_auth *auth, struct http_message *message)
{
	struct url url SCOPE(url_release) = {0};
	struct url first SCOPE(url_release) = {0};
	int r = url_parse(message->url, &url);

	if (r == 0)
		r = url_parse(auth->url, &first);
	message->direct = r == 0 && url_is_here(&url);
	if (r < 0 || !url_same_server(&url, &first))
		return r;
	message->netrc = auth->netrc;
	return auth->ops->sign(auth, &url, message->add, message->context);
}

/* Returns as object_refresh_look(); nobody waits any more for a read that was cancelled. */
static int look_at_credentials(const struct object *object, struct err *err)
{
	struct object_refresh *refresh = object->auth->refresh;
	int r = refresh ? object_refresh_look(refresh, err) : 0;

	return r == -EAGAIN && atomic_load(&object->cancelled)
		       ? err_set(err, -ECANCELED, "no credentials")
		       : r;
}

static void write_range(struct object_read *read)
{
	const struct object_range *range = &read->range;

	if (range->suffix)
		snprintf(read->text, RANGE, "-%" PRIu64, range->len);
	else
		snprintf(read->text, RANGE, "%" PRIu64 "-%" PRIu64,
			 range->first + read->transfer.got, range->first + range->len - 1);
}

static int read_prepare(struct http_transfer *transfer, struct http_message *ret)
{
	struct object_read *read = read_of(transfer);
	struct object *object = read->object;
	int r;

	read->error = 0;
	read->why = (struct err){0};
	if (atomic_load(&object->stale))
		return -ESTALE;
	r = look_at_credentials(object, &read->why);
	if (r == -EAGAIN)
		return r;
	read->redirected = object->redirect;
	ret->url = object->redirect ? object->redirect : object->auth->url;
	if (read->range.suffix)
		transfer->got = 0;
	write_range(read);
	ret->range = read->text;
	if (r == 0)
		r = add_condition(object, ret);
	if (r == 0)
		r = sign(object->auth, ret);
	read->error = r;
	return r;
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool read_accept(struct http_transfer *transfer, unsigned status, const char *headers)
{
	struct object_read *read = read_of(transfer);
	struct object *object = read->object;
	struct content_range range;
	const struct retry_range asked = {.first = read->range.first + transfer->got,
					  .len = read->range.len - transfer->got,
					  .suffix = read->range.suffix,
					  .total = atomic_load(&object->size),
					  .etag = object->etag,
					  .modified = object->modified};

	if (status != 206)
		return false;
	read->error = retry_check_range(headers, &asked, &range, &read->why);
	if (read->error < 0)
		return false;
	if (!is_object_open(object)) { /* the first range that arrives says which object it is */
		header_find(headers, "ETag", object->etag, TAG);
		header_find(headers, "Last-Modified", object->modified, TAG);
		atomic_store(&object->size, range.total);
	}
	read->expected = transfer->got + range.last - range.first + 1;
	return true;
}

static const struct retry_rule wrong_range = {RETRY_BRIEFLY, false, -EPROTO, "a wrong range"};
static const struct retry_rule cut = {RETRY_AGAIN, false, -EIO, "the answer was cut"};
static const struct retry_rule replaced = {RETRY_NEVER, false, -ESTALE,
					   "replaced by another object"};
static const struct retry_rule not_signed = {RETRY_AGAIN, false, -EACCES, "no credentials"};
static const struct retry_rule never_signed = {RETRY_NEVER, false, -EACCES, "no credentials"};
static const struct retry_rule empty = {RETRY_NEVER, false, -ENODATA, "an empty object"};

/* Some servers end the body by hanging up, and do not say how long it is. */
static bool is_complete(const struct object_read *read)
{
	return read->expected > 0 && read->transfer.got == read->expected;
}

/* Whether all came before the connection broke, as without the last chunk, or the end of TLS. There
 * is no rest to ask for. */
static bool has_come_whole(const struct object_read *read, const struct http_outcome *outcome)
{
	bool broke = outcome->end == HTTP_BROKEN || outcome->end == HTTP_CUT ||
		     outcome->end == HTTP_STALLED;

	return broke && read->error == 0 && outcome->answer.status == 206 && is_complete(read);
}

/* An empty object has no ranges, so some servers send all of it. */
static bool is_empty_object(const struct object_answer *answer)
{
	char value[TAG];

	return answer->status == 416 ||
	       (answer->status == 200 &&
		header_find(answer->headers, "Content-Length", value, sizeof(value)) &&
		strcmp(value, "0") == 0);
}

static const struct retry_rule *rule_of(const struct object_read *read,
					const struct http_outcome *outcome)
{
	bool open = is_object_open(read->object);

	if (atomic_load(&read->object->stale) || read->error == -ESTALE)
		return &replaced;
	if (outcome->end == HTTP_IMPOSSIBLE && read->why.text[0])
		return open ? &not_signed : &never_signed;
	if (outcome->end != HTTP_ANSWERED && !has_come_whole(read, outcome))
		return retry_rule_of_end(outcome->end);
	if (read->transfer.got > read->expected)
		return retry_rule_of_end(HTTP_TOO_LONG);
	if (!open && is_empty_object(&outcome->answer))
		return &empty;
	if (outcome->answer.status != 206)
		return retry_rule_of_status(outcome->answer.status);
	if (read->error < 0)
		return &wrong_range;
	return is_complete(read) ? retry_rule_of_status(206) : &cut;
}

/* --- what the user hears ---------------------------------------------------------------------- */

static void say(const struct object *object, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct object *object, const char *format, ...)
{
	char line[sizeof(object->why.text) + 128];
	va_list args;
	int len;

	if (!object->settings->notice)
		return;
	va_start(args, format);
	len = snprintf(line, sizeof(line), "%s: ", object->shown);
	if (len > 0 && (size_t)len < sizeof(line))
		vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	va_end(args);
	object->settings->notice(line);
}

static uint64_t patience(const struct object *object)
{
	uint64_t seconds = remote_retry(object->settings, REMOTE_RETRY);

	return object->arrived ? seconds : min(seconds, OBJECT_OPENING);
}

/* Tells the user, once for each outage of a server. */
static void note_read_failure(struct object *object, const char *why)
{
	uint64_t now = clock_ns();

	if (!object->failing_since)
		object->failing_since = now;
	if (object->said || now - object->failing_since < OUTAGE_NS || !http_speak(object->client))
		return;
	object->said = true;
	say(object, "%s; asking again for up to %" PRIu64 " s", why, patience(object));
}

static void note_success(struct object *object)
{
	uint64_t since = object->failing_since, outage = since ? clock_ns() - since : 0;

	object->failing_since = 0;
	if (outage >= OUTAGE_NS)
		http_hurry(object->client);
	if (!object->said)
		return;
	object->said = false;
	http_hush(object->client);
	say(object, "answers again, after %" PRIu64 " s", outage / CLOCK_SECOND);
}

/* While a pack is being opened, the caller reports the error. A server that refuses some requests
 * must not fill the log. */
static void note_end(struct object *object, const struct err *why, int error)
{
	uint64_t now = clock_ns();

	pthread_mutex_lock(&object->lock);
	object->why = *why;
	pthread_mutex_unlock(&object->lock);
	if (object->said || error == -ESTALE || error == -ECANCELED || !is_object_open(object) ||
	    (object->given_up && now - object->given_up < AGAIN_NS) || !http_speak(object->client))
		return;
	object->said = true;
	object->given_up = now;
	if (!object->failing_since)
		object->failing_since = now;
	say(object, "%s", why->text);
}

/* --- what comes next -------------------------------------------------------------------------- */

static struct http_verdict end_read(struct object_read *read, int64_t result)
{
	object_done_fn *done = read->done;
	void *arg = read->arg;

	free(read);
	done(arg, result);
	return (struct http_verdict){0};
}

static struct http_verdict fail_read(struct object_read *read, int error)
{
	struct object *object = read->object;

	if (error == -ESTALE)
		atomic_store(&object->stale, true);
	note_end(object, &read->why, error);
	return end_read(read, error);
}

/* Bytes that came are worth the time that they take at HTTP_PACE, so that a server that sends one
 * now and then does not buy patience with it. */
static void note_attempt(struct object_read *read, uint64_t now)
{
	uint64_t came = sub_sat(read->transfer.got, read->got);

	read->failed =
		read->failed ? min(read->failed + came * CLOCK_SECOND / HTTP_PACE, now) : now;
	if (read->failed == now)
		read->tries = 0;
	read->got = read->transfer.got;
	read->hops = 0;
}

static struct http_verdict ask_again(struct object_read *read, const struct http_outcome *outcome,
				     const struct retry_rule *rule)
{
	struct object *object = read->object;
	uint64_t now = clock_ns(), most = patience(object), waited;

	note_read_failure(object, read->why.text);
	note_attempt(read, now);
	if (atomic_load(&object->cancelled))
		return fail_read(read, -ECANCELED);
	waited = (now - read->failed) / CLOCK_SECOND;
	if (waited >= most)
		return fail_read(read, rule->error);
	/* The clock is random enough: no two fail in the same nanosecond. */
	return (struct http_verdict){.again = true,
				     .overloaded = rule->overloaded,
				     .pause_ns =
					     retry_pause(++read->tries, rule->overloaded,
							 min(outcome->retry_after, most - waited),
							 XXH3_64bits(&now, sizeof(now)))};
}

static void forget_redirect(struct object *object)
{
	free(object->redirect);
	object->redirect = NULL;
}

static struct http_verdict take_auth_refusal(struct object_read *read,
					     const struct http_outcome *outcome,
					     const struct retry_rule *rule)
{
	struct object_auth *auth = read->object->auth;
	struct err why = {0};
	int r;

	if (read->refusals++ == BOUND_REFUSALS)
		return fail_read(read, rule->error);
	if (read->redirected) {
		forget_redirect(read->object);
		return (struct http_verdict){.again = true};
	}
	r = auth->ops->refused(auth, &outcome->answer, &why);
	if (r == 0)
		return (struct http_verdict){.again = true};
	if (why.text[0])
		read->why = why;
	return fail_read(read, r);
}

static bool may_go(const struct object_read *read, const char *to)
{
	const char *home = read->object->auth->url;

	return strncasecmp(to, "https://", 8) == 0 ||
	       (strncasecmp(to, "http://", 7) == 0 && strncasecmp(home, "http://", 7) == 0);
}

static struct http_verdict go_elsewhere(struct object_read *read,
					const struct http_outcome *outcome,
					const struct retry_rule *rule)
{
	struct object *object = read->object;
	char *to;

	if (!object->auth->follows)
		return take_auth_refusal(read, outcome, rule);
	if (!outcome->redirect || read->hops++ == BOUND_REDIRECTS)
		return fail_read(read, rule->error);
	if (!may_go(read, outcome->redirect)) {
		err_set(&read->why, 0,
			"it redirects to another kind of server: only https is followed, and http "
			"from http");
		return fail_read(read, -EPROTO);
	}
	to = strdup(outcome->redirect);
	if (!to)
		return fail_read(read, -ENOMEM);
	forget_redirect(object);
	object->redirect = to;
	return (struct http_verdict){.again = true};
}

static void explain_failure(struct object_read *read, const struct http_outcome *outcome,
			    const struct retry_rule *rule)
{
	const char *elsewhere = read->object->auth->elsewhere;

	if (read->why.text[0])
		return;
	if (rule == retry_rule_of_status(outcome->answer.status) && !strchr(rule->why, '('))
		err_set(&read->why, 0, "%s (%u)", rule->why, outcome->answer.status);
	else if (outcome->reason[0])
		err_set(&read->why, 0, "%s: %s%s", rule->why, outcome->reason,
			rule == retry_rule_of_end(HTTP_NO_NAME) && elsewhere ? elsewhere : "");
	else
		err_set(&read->why, 0, "%s", rule->why);
}

static struct http_verdict read_finished(struct http_transfer *transfer,
					 const struct http_outcome *outcome)
{
	struct object_read *read = read_of(transfer);
	const struct retry_rule *rule = rule_of(read, outcome);

	if (outcome->answer.status)
		histogram_add(&read->object->first_byte, outcome->first_byte_us);
	explain_failure(read, outcome, rule);
	if (rule == retry_rule_of_end(HTTP_TOO_LONG))
		transfer->got = 0; /* none of it can be trusted */
	if (read->redirected && outcome->end != HTTP_ANSWERED && outcome->end != HTTP_CANCELLED)
		forget_redirect(read->object);
	switch (rule->action) {
	case RETRY_TAKE:
		read->object->arrived = true;
		note_success(read->object);
		return end_read(read, (int64_t)transfer->got);
	case RETRY_BRIEFLY:
		if (!is_object_open(read->object) || read->brief++ == RETRY_BRIEF)
			return fail_read(read, rule->error);
		return ask_again(read, outcome, rule);
	case RETRY_AGAIN:
		return ask_again(read, outcome, rule);
	case RETRY_ELSEWHERE:
		return go_elsewhere(read, outcome, rule);
	case RETRY_REFUSED:
		return take_auth_refusal(read, outcome, rule);
	default:
		return fail_read(read, rule->error);
	}
}

static const struct http_transfer_ops read_ops = {
	.prepare = read_prepare,
	.accept = read_accept,
	.finished = read_finished,
};

/* --- the face --------------------------------------------------------------------------------- */

void object_get(struct object *object, const struct iovec *iov, int count,
		const struct object_range *range, object_done_fn *done, void *arg)
{
	struct object_read *read = calloc(1, sizeof(*read));

	if (!read) {
		done(arg, -ENOMEM);
		return;
	}
	read->transfer = (struct http_transfer){
		.ops = &read_ops, .iov = iov, .count = count, .ahead = range->ahead};
	read->object = object;
	read->range = *range;
	read->done = done;
	read->arg = arg;
	http_submit(object->client, &read->transfer);
}

static int join_engine(struct object *object, struct remote *remote, struct err *err)
{
	struct http *http;
	int r = remote_join(remote, object->settings, &http, err);

	if (r < 0)
		return r;
	object->remote = remote;
	return http_client_new(http, object->auth->url, &object->client);
}

int object_new(const char *shown, struct object_auth *auth, const struct remote_settings *settings,
	       struct remote *remote, struct object **ret, struct err *err)
{
	struct object *object = calloc(1, sizeof(*object));
	int r;

	if (!object) {
		auth->ops->free(auth);
		return -ENOMEM;
	}
	object->auth = auth;
	object->settings = settings;
	atomic_store(&object->size, UINT64_MAX);
	pthread_mutex_init(&object->lock, NULL);
	object->shown = strdup(shown);
	r = object->shown ? join_engine(object, remote, err) : -ENOMEM;
	if (r < 0) {
		object_free(object);
		return r;
	}
	*ret = object;
	return 0;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	http_client_free(object->client);
	if (object->remote)
		remote_leave(object->remote);
	object->auth->ops->free(object->auth);
	pthread_mutex_destroy(&object->lock);
	free(object->redirect);
	free(object->shown);
	free(object);
}

void object_cancel(struct object *object)
{
	atomic_store(&object->cancelled, true);
	http_cancel(object->client);
}

void object_go_on(struct object *object)
{
	atomic_store(&object->cancelled, false);
}

void object_rest(struct object *object)
{
	http_end(object->client);
}

uint64_t object_size(const struct object *object)
{
	return atomic_load(&object->size);
}

void object_identity(const struct object *object, struct reader_identity *ret)
{
	bool stale = object_is_stale(object);
	const char *tag;

	*ret = (struct reader_identity){
		.size = object_size(object), .written = stale, .touched = stale};
	if (!is_object_open(object))
		return;
	tag = retry_etag_is_strong(object->etag) ? object->etag : object->modified;
	ret->object = tag[0] ? XXH3_64bits(tag, strlen(tag)) : 0;
	ret->written += header_time(object->modified) * CLOCK_SECOND;
}

bool object_is_stale(const struct object *object)
{
	return atomic_load(&object->stale);
}

void object_why(struct object *object, struct err *ret)
{
	SCOPE_LOCK(&object->lock);
	*ret = object->why;
}

void object_stats(struct object *object, struct reader_stats *ret)
{
	http_stats(object->client, ret);
	ret->first_byte_p50_us = histogram_quantile(&object->first_byte, 0.5);
	ret->first_byte_p99_us = histogram_quantile(&object->first_byte, 0.99);
}

#endif
