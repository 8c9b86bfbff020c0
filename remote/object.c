#include "remote/object.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include "remote/retry.h"
#include "remote/url.h"
#include <string.h>
#include <strings.h>

/* --- the answer ------------------------------------------------------------------------------- */

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

	return broke && read->accepted && is_complete(read);
}

/* An empty object has no ranges, so some servers send all of it. */
static bool is_empty_object(const struct object_answer *answer)
{
	char value[32];

	return answer->status == 416 ||
	       (answer->status == 200 &&
		header_find(answer->headers, "Content-Length", value, sizeof(value)) &&
		strcmp(value, "0") == 0);
}

static bool has_other_tag(const struct object *object, const struct object_answer *answer)
{
	char tag[TAGS_TEXT];

	return header_find(answer->headers, "ETag", tag, sizeof(tag)) &&
	       strcmp(tag, object->tags.etag) != 0;
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
	if (is_empty_object(&outcome->answer) &&
	    (!open || has_other_tag(read->object, &outcome->answer)))
		return open ? &replaced : &empty;
	if (!read->accepted && outcome->answer.status != 206)
		return retry_rule_of_status(outcome->answer.status);
	if (read->error < 0)
		return &wrong_range;
	return is_complete(read) ? retry_rule_of_status(206) : &cut;
}

/* --- the same object -------------------------------------------------------------------------- */

/* The server of the object's own URL redirects. Returns whether that leads to the object for sure;
 * *ret_other: to another one. */
static bool leads_to_object(struct object_tags *tags, const char *headers, bool *ret_other)
{
	char linked[TAGS_TEXT];

	*ret_other = false;
	if (!header_find(headers, "X-Linked-ETag", linked, sizeof(linked)) || !*linked)
		return false;
	if (!*tags->linked && !tags->url)
		memcpy(tags->linked, linked, sizeof(linked));
	*ret_other = *tags->linked && strcmp(tags->linked, linked) != 0;
	return strcmp(tags->linked, linked) == 0;
}

static bool is_head(const struct object_tags *tags, const struct iovec *look)
{
	char head[DIGEST_DIGITS + 1];

	digest_make(look, 1, head);
	return strcmp(head, tags->head) == 0;
}

/* --- what the user hears ---------------------------------------------------------------------- */

static uint64_t patience(const struct object *object)
{
	uint64_t seconds = remote_retry(object->group->notice.settings, REMOTE_RETRY);

	return object->arrived ? seconds : min(seconds, OBJECT_OPENING);
}

/* --- what comes next -------------------------------------------------------------------------- */

static struct http_verdict end_read(struct object_read *read, int64_t result)
{
	struct object_read ended = *read;

	free(read);
	ended.done(ended.arg, result, &ended.why);
	return (struct http_verdict){0};
}

/* While a pack is being opened, the caller reports the error. */
static struct http_verdict fail_read(struct object_read *read, int error)
{
	struct object *object = read->object;

	if (error == -ESTALE)
		atomic_store(&object->stale, true);
	else if (error != -ECANCELED && !object->group->many && is_object_open(object))
		outage_notice_given_up(&object->group->notice, read->why.text);
	return end_read(read, error);
}

static struct http_verdict ask_again(struct object_read *read, const struct http_outcome *outcome,
				     const struct retry_rule *rule)
{
	struct object *object = read->object;
	uint64_t now = clock_ns(), most = patience(object), came, waited;

	outage_notice_failed(&object->group->notice, read->why.text, most);
	/* Bytes that came are worth the time that they take at HTTP_PACE, so that a server that
	 * sends one now and then does not buy patience with it. */
	came = sub_sat(read->transfer.got, read->got);
	if (!read->failed)
		read->failed = read->object->arrived ? now : read->begun;
	read->failed = min(read->failed + came * CLOCK_SECOND / HTTP_PACE, now);
	if (read->failed == now)
		read->tries = 0;
	read->got = read->transfer.got;
	read->hops = 0;
	if (atomic_load(&object->group->cancelled))
		return fail_read(read, -ECANCELED);
	waited = (now - read->failed) / CLOCK_SECOND;
	if (waited >= most)
		return fail_read(read, rule->error);
	return retry_verdict(rule, outcome, ++read->tries, most - waited);
}

/* From now on the redirect is asked, which the object takes over; NULL: its own URL. */
static void turn_to(struct object *object, char *redirect)
{
	free(object->redirect);
	object->redirect = redirect;
	object->vouched = false;
	object->turns++;
}

/* Others may have turned meanwhile. */
static void forget_redirect(struct object_read *read)
{
	if (read->redirected && read->turn == object_turn(read->object))
		turn_to(read->object, NULL);
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
	if (read->turn != object_turn(read->object)) /* it was sent before */
		return (struct http_verdict){.again = true};
	if (read->redirected) {
		forget_redirect(read);
		return (struct http_verdict){.again = true};
	}
	r = auth->ops->refused(auth, &outcome->answer, &why);
	if (r == 0) {
		auth->moves++;
		return (struct http_verdict){.again = true};
	}
	if (why.text[0])
		read->why = why;
	return fail_read(read, r);
}

static bool is_own_server(const struct object *object)
{
	struct url now SCOPE(url_release) = {0}, own SCOPE(url_release) = {0};

	return url_parse(object_url(object), &now) == 0 &&
	       url_parse(object->auth->url, &own) == 0 && url_same_server(&now, &own);
}

/* Requests that were sent together may be redirected to different servers: all go to the first. */
static struct http_verdict go_elsewhere(struct object_read *read,
					const struct http_outcome *outcome,
					const struct retry_rule *rule)
{
	struct object *object = read->object;
	bool own = is_own_server(object), vouched = object->vouched, other = false;
	bool now = read->turn == object_turn(object);
	char *to;

	if (!object->auth->follows)
		return take_auth_refusal(read, outcome, rule);
	if (!outcome->redirect || read->hops++ == BOUND_REDIRECTS)
		return fail_read(read, rule->error);
	if (strncasecmp(outcome->redirect, "https://", 8) != 0 &&
	    (strncasecmp(outcome->redirect, "http://", 7) != 0 ||
	     strncasecmp(object->auth->url, "http://", 7) != 0)) {
		err_set(&read->why, 0,
			"it redirects to another kind of server: only https is followed, and http "
			"from http");
		return fail_read(read, -EPROTO);
	}
	if (own)
		vouched = leads_to_object(&object->tags, outcome->answer.headers, &other);
	if (other)
		return fail_read(read, replaced.error);
	to = now ? strdup(outcome->redirect) : NULL;
	if (!to && now)
		return fail_read(read, -ENOMEM);
	if (to) {
		turn_to(object, to);
		object->vouched = vouched;
	}
	return (struct http_verdict){.again = true};
}

/* Some stores refuse conditions that hold, do not know them, or then send all of the object.
 * Without, the answer's tag tells. */
static bool refuses_condition(const struct object_read *read, const struct http_outcome *outcome)
{
	unsigned status = outcome->answer.status;

	return read->conditional && outcome->end == HTTP_ANSWERED && read->error == 0 &&
	       (status == 200 || status == 400 || status == 412 || status == 501) &&
	       !read->accepted;
}

/* What was looked at, or has come, is of the object. */
static struct http_verdict take_range(struct object_read *read, const struct http_outcome *outcome,
				      bool looked)
{
	struct object *object = read->object;
	uint64_t got = read->transfer.got, wanted = min(atomic_load(&object->size), TAGS_HEAD);

	object->arrived = true;
	if (object->plain)
		atomic_store(&object->group->plain, true);
	outage_notice_succeeded(&object->group->notice);
	if (looked) {
		if (read->turn == object_turn(object))
			read->error = object_take_tags(object, outcome->answer.headers, 0);
		return read->error < 0 ? fail_read(read, read->error)
				       : (struct http_verdict){.again = true};
	}
	if (object->tags.head_len == 0 && !read->range.suffix && read->range.first == 0 &&
	    read->count == 1 && read->iov->iov_base && got >= wanted) {
		object->tags.head_len = wanted;
		digest_make(&(struct iovec){read->iov->iov_base, wanted}, 1, object->tags.head);
	}
	return end_read(read, got < read->range.len && !read->range.some ? -ENODATA : (int64_t)got);
}

static struct http_verdict read_finished(struct http_transfer *transfer,
					 const struct http_outcome *outcome)
{
	struct object_read *read = read_of(transfer);
	const struct retry_rule *rule = rule_of(read, outcome);
	bool looked = read->look.iov_base;

	if (looked && rule->action == RETRY_TAKE && !is_head(&read->object->tags, &read->look))
		rule = &replaced;
	object_end_look(read);
	if (outcome->answer.status)
		histogram_add(&read->object->group->first_byte, outcome->first_byte_us);
	if (refuses_condition(read, outcome)) {
		read->object->plain = true;
		return (struct http_verdict){.again = true};
	}
	if (read->error == -EAGAIN && outcome->end == HTTP_ANSWERED)
		return (struct http_verdict){.again = true};
	if (!read->why.text[0])
		retry_explain(rule, outcome, read->object->auth->elsewhere, &read->why);
	if (rule == retry_rule_of_end(HTTP_TOO_LONG) && !looked)
		transfer->got = 0; /* none of it can be trusted */
	if (outcome->end != HTTP_ANSWERED && outcome->end != HTTP_CANCELLED)
		forget_redirect(read);
	switch (rule->action) {
	case RETRY_TAKE:
		return take_range(read, outcome, looked);
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
	.prepare = object_prepare,
	.accept = object_accept,
	.finished = read_finished,
};

/* --- the face --------------------------------------------------------------------------------- */

void object_get(struct object *object, const struct iovec *iov, int count,
		const struct object_range *range, object_done_fn *done, void *arg)
{
	struct object_read *read = calloc(1, sizeof(*read));

	if (!read) {
		done(arg, -ENOMEM, &(struct err){0});
		return;
	}
	read->transfer = (struct http_transfer){
		.ops = &read_ops, .iov = iov, .count = count, .ahead = range->ahead};
	read->iov = iov;
	read->count = count;
	read->object = object;
	read->range = *range;
	read->done = done;
	read->arg = arg;
	http_submit(object->group->notice.client, &read->transfer);
}

int object_group_new(const char *shown, const char *url, const struct remote_settings *settings,
		     struct remote *remote, struct object_group **ret, struct err *err)
{
	struct object_group *group = calloc(1, sizeof(*group));
	int r;

	if (!group)
		return -ENOMEM;
	group->remote = remote;
	group->shown = strdup(shown);
	group->notice = (struct outage_notice){.shown = group->shown, .settings = settings};
	r = group->shown ? remote_client_new(remote, settings, url, &group->notice.client, err)
			 : -ENOMEM;
	if (r < 0) {
		object_group_free(group);
		return r;
	}
	*ret = group;
	return 0;
}

void object_group_free(struct object_group *group)
{
	if (!group)
		return;
	remote_client_free(group->remote, group->notice.client);
	free(group->shown);
	free(group);
}

void object_group_stats(struct object_group *group, struct reader_stats *ret)
{
	http_stats(group->notice.client, ret);
	ret->first_byte_p50_us = histogram_quantile(&group->first_byte, 0.5);
	ret->first_byte_p99_us = histogram_quantile(&group->first_byte, 0.99);
}

int object_new(struct object_group *group, struct object_auth *auth, const char *path,
	       struct object **ret)
{
	struct object *object = calloc(1, sizeof(*object) + strlen(path) + 1);

	if (!object)
		return -ENOMEM;
	memcpy(object->path, path, strlen(path));
	object->group = group;
	object->auth = auth;
	atomic_store(&object->size, UINT64_MAX);
	*ret = object;
	return 0;
}

/* It has been there, so what fails is asked for again for as long as of one that has arrived. A tag
 * goes into a header, and must not end it. */
void object_preset(struct object *object, uint64_t size, const char *etag, bool linked,
		   int64_t modified)
{
	struct object_tags *tags = &object->tags;
	bool counts = strlen(etag) < TAGS_TEXT && !strpbrk(etag, "\r\n");
	bool strong = counts && !linked && retry_etag_is_strong(etag);
	time_t time = (time_t)modified;
	struct tm tm;

	if (counts)
		memcpy(linked ? tags->linked : tags->etag, etag, strlen(etag) + 1);
	if (!strong && time > 0 && gmtime_r(&time, &tm))
		strftime(tags->modified, TAGS_TEXT, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	object->plain = !strong || atomic_load(&object->group->plain);
	object->arrived = true;
	atomic_store(&object->size, size);
}

void object_free(struct object *object)
{
	if (!object)
		return;
	free(object->tags.url);
	free(object->url);
	free(object->redirect);
	free(object);
}
