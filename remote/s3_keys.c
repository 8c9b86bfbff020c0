/* Credentials that expire are renewed RENEW_BEFORE they do; those with less than twice that time
 * left, after half of it. If a renewal fails, the old ones are used, and it is tried again after
 * RENEW_AGAIN. If the server says that they have expired, they have, whatever their date says;
 * unless they are so new that the request was signed with the ones before. */
#include "remote/s3_keys.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"
#include <string.h>
#include <time.h>

#define RENEW_BEFORE 300 /* seconds */
#define RENEW_AGAIN  30
#define STILL_NEW    10
#define FAILED_NS    (5 * CLOCK_SECOND) /* after a failure without keys that can be used */

/* Called with the lock held. */
static enum s3_keys_need need_now(const struct s3_keys *keys)
{
	int64_t now = time(NULL), expires = keys->found.expires;

	if (keys->state == KEYS_NONE)
		return KEYS_READY;
	if (keys->state != KEYS_GOOD || (expires && now >= expires))
		return KEYS_NEEDED;
	return expires && now >= keys->renew ? KEYS_AGE : KEYS_READY;
}

enum s3_keys_need s3_keys_need(struct s3_keys *keys)
{
	SCOPE_LOCK(&keys->lock);
	return need_now(keys);
}

static bool same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Keys are of no use once they have expired, as their date or a server says. */
static int check(const struct s3_keys *keys, const struct credentials *found, int64_t now,
		 struct err *err)
{
	bool refused = keys->state == KEYS_ENDED && same(found->access, keys->found.access) &&
		       same(found->token, keys->found.token);

	if (refused || (found->expires && found->expires <= now))
		return err_set(err, -EKEYEXPIRED,
			       "the session of the credentials of %s has ended: renew it",
			       found->source);
	return 0;
}

int s3_keys_renew(struct s3_keys *keys, struct err *err)
{
	SCOPE(credentials_release) struct credentials found = {0};
	struct err reason = {0};
	int r = credentials_find(&keys->ask, &found, &reason);
	int64_t now = time(NULL);
	SCOPE_LOCK(&keys->lock);

	if (r == -ENOKEY && keys->state == KEYS_UNKNOWN) {
		keys->state = KEYS_NONE;
		keys->nowhere = reason;
		return 0;
	}
	if (r == 0)
		r = check(keys, &found, now, &reason);
	if (r == 0) {
		int64_t life = found.expires - now;

		keys->since = keys->found.source[0] ? now : 0;
		credentials_release(&keys->found);
		keys->found = found;
		found = (struct credentials){0};
		keys->state = KEYS_GOOD;
		keys->renew = life > 2 * RENEW_BEFORE ? keys->found.expires - RENEW_BEFORE
						      : now + life / 2;
	} else {
		keys->renew = now + RENEW_AGAIN;
	}
	return r < 0 ? err_set(err, r, "%s", err_text(&reason, r)) : 0;
}

/* --- in the background ------------------------------------------------------------------------ */

static void *renew_thread(void *context)
{
	struct s3_keys *keys = context;
	struct err why = {0};
	int r = s3_keys_renew(keys, &why);

	SCOPE_LOCK(&keys->lock);
	keys->error = r;
	keys->why = why;
	keys->next = r < 0 ? clock_ns() + FAILED_NS : 0;
	keys->renewed = true;
	return NULL;
}

static void join_thread(struct s3_keys *keys)
{
	pthread_join(keys->thread, NULL);
	keys->running = keys->renewed = false;
}

int s3_keys_look(struct s3_keys *keys, struct err *err)
{
	enum s3_keys_need need;

	SCOPE_LOCK(&keys->lock);
	need = need_now(keys);
	if (need == KEYS_READY)
		return 0;
	if (keys->renewed)
		join_thread(keys);
	if (!keys->running && clock_ns() >= keys->next) {
		keys->error = thread_without_signals(&keys->thread, renew_thread, keys);
		keys->running = keys->error == 0;
	}
	if (need == KEYS_AGE)
		return 0;
	if (keys->running || keys->error == 0)
		return -EAGAIN;
	*err = keys->why;
	return keys->error == -EAGAIN ? -EIO : keys->error;
}

void s3_keys_rest(struct s3_keys *keys)
{
	if (!keys->running)
		return;
	atomic_store(&keys->stops, true);
	join_thread(keys);
	atomic_store(&keys->stops, false);
	keys->next = 0;
}

/* --- refusals --------------------------------------------------------------------------------- */

int s3_keys_refused(struct s3_keys *keys, const struct s3_refusal *refusal, struct err *err)
{
	bool ended = refusal->kind == S3_ENDED;

	SCOPE_LOCK(&keys->lock);
	/* Google has no code for a token that has ended. */
	ended |= refusal->answer->status == 401 && !keys->found.access && keys->found.token;
	if (!ended || keys->state == KEYS_NONE)
		return s3_refusal_say(refusal, keys->found.source, keys->nowhere.text,
				      keys->ask.google ? "storage.objects.get" : "s3:GetObject",
				      err);
	if (keys->state == KEYS_GOOD && time(NULL) - keys->since > STILL_NEW)
		keys->state = KEYS_ENDED;
	return 0;
}

/* --- sharing ---------------------------------------------------------------------------------- */

static void keys_free(struct s3_keys *keys)
{
	s3_keys_rest(keys);
	credentials_release(&keys->found);
	pthread_mutex_destroy(&keys->lock);
	free(keys->region);
	free(keys);
}

static struct s3_keys *keys_new(struct remote *remote, const struct credentials_ask *ask)
{
	struct s3_keys *keys = calloc(1, sizeof(*keys));

	if (!keys)
		return NULL;
	pthread_mutex_init(&keys->lock, NULL);
	keys->remote = remote;
	keys->ask = *ask;
	keys->ask.stops = &keys->stops;
	keys->ask.region = keys->region = ask->region ? strdup(ask->region) : NULL;
	if (ask->settings->anonymous) {
		keys->state = KEYS_NONE;
		err_set(&keys->nowhere, 0, "--anonymous asks without credentials");
	}
	if (!keys->region == !ask->region)
		return keys;
	keys_free(keys);
	return NULL;
}

int s3_keys_join(struct remote *remote, const struct credentials_ask *ask, struct s3_keys **ret)
{
	struct s3_keys **keys = &remote->keys[ask->google];

	SCOPE_LOCK(&remote->lock);
	if (!*keys)
		*keys = keys_new(remote, ask);
	if (!*keys)
		return -ENOMEM;
	(*keys)->users++;
	*ret = *keys;
	return 0;
}

void s3_keys_leave(struct s3_keys *keys)
{
	struct remote *remote = keys->remote;
	bool last;

	pthread_mutex_lock(&remote->lock);
	last = --keys->users == 0;
	if (last)
		remote->keys[keys->ask.google] = NULL;
	pthread_mutex_unlock(&remote->lock);
	if (last)
		keys_free(keys);
}
