#include "remote/object_refresh.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"

#define AGAIN_NS (5 * CLOCK_SECOND) /* after a failure */

void object_refresh_init(struct object_refresh *refresh, struct object_auth *auth,
			 atomic_uint *renewals)
{
	*refresh = (struct object_refresh){.auth = auth, .renewals = renewals};
	pthread_mutex_init(&refresh->lock, NULL);
}

static void *refresh_thread(void *context)
{
	struct object_refresh *refresh = context;
	struct err err = {0};
	int r = refresh->auth->ops->refresh(refresh->auth, &err);

	atomic_fetch_sub(refresh->renewals, 1);
	SCOPE_LOCK(&refresh->lock);
	refresh->error = r;
	refresh->err = err;
	refresh->next = r < 0 ? clock_ns() + AGAIN_NS : 0;
	refresh->ended = true;
	return NULL;
}

static void join(struct object_refresh *refresh)
{
	pthread_join(refresh->thread, NULL);
	refresh->running = refresh->ended = false;
}

/* Under the lock. */
static void start(struct object_refresh *refresh)
{
	if (refresh->running && refresh->ended)
		join(refresh);
	if (refresh->running || clock_ns() < refresh->next)
		return;
	refresh->error = 0;
	if (atomic_fetch_add(refresh->renewals, 1) < OBJECT_RENEWALS) {
		refresh->error = thread_without_signals(&refresh->thread, refresh_thread, refresh);
		refresh->running = refresh->error == 0;
	}
	if (!refresh->running)
		atomic_fetch_sub(refresh->renewals, 1);
}

int object_refresh_look(struct object_refresh *refresh, struct err *err)
{
	struct object_auth *auth = refresh->auth;
	enum object_auth_state state = auth->ops->state ? auth->ops->state(auth) : AUTH_READY;

	if (state == AUTH_READY)
		return 0;
	SCOPE_LOCK(&refresh->lock);
	start(refresh);
	if (state == AUTH_AGES)
		return 0;
	if (refresh->running || refresh->error == 0)
		return -EAGAIN;
	*err = refresh->err;
	return refresh->error == -EAGAIN ? -EIO : refresh->error;
}

void object_refresh_rest(struct object_refresh *refresh)
{
	if (refresh->running)
		join(refresh);
}

void object_refresh_release(struct object_refresh *refresh)
{
	object_refresh_rest(refresh);
	pthread_mutex_destroy(&refresh->lock);
}
