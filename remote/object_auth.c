#include "remote/object_auth.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/signals.h"

#define AGAIN_NS (5 * CLOCK_SECOND) /* after a failure */

void object_refresh_init(struct object_refresh *refresh, const struct object_refresh_ops *ops)
{
	*refresh = (struct object_refresh){.ops = ops};
	pthread_mutex_init(&refresh->lock, NULL);
}

static void *refresh_thread(void *context)
{
	struct object_refresh *refresh = context;
	struct err err = {0};
	int r = refresh->ops->refresh(refresh, &err);

	SCOPE_LOCK(&refresh->lock);
	refresh->error = r;
	refresh->err = err;
	refresh->next = r < 0 ? clock_ns() + AGAIN_NS : 0;
	refresh->ended = true;
	return NULL;
}

static void join_refresh(struct object_refresh *refresh)
{
	pthread_join(refresh->thread, NULL);
	refresh->running = refresh->ended = false;
}

int object_refresh_look(struct object_refresh *refresh, struct err *err)
{
	enum object_auth_state state = refresh->ops->state(refresh);

	if (state == AUTH_READY)
		return 0;
	SCOPE_LOCK(&refresh->lock);
	if (refresh->ended)
		join_refresh(refresh);
	if (!refresh->running && clock_ns() >= refresh->next) {
		refresh->error = thread_without_signals(&refresh->thread, refresh_thread, refresh);
		refresh->running = refresh->error == 0;
	}
	if (state == AUTH_AGES)
		return 0;
	if (refresh->running || refresh->error == 0)
		return -EAGAIN;
	*err = refresh->err;
	return refresh->error == -EAGAIN ? -EIO : refresh->error;
}

void object_refresh_rest(struct object_refresh *refresh)
{
	if (!refresh->running)
		return;
	atomic_store(&refresh->stops, true);
	join_refresh(refresh);
	atomic_store(&refresh->stops, false);
	refresh->next = 0;
}

void object_refresh_release(struct object_refresh *refresh)
{
	object_refresh_rest(refresh);
	pthread_mutex_destroy(&refresh->lock);
}
