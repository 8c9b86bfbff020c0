#include "base/outage.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PAUSE  CLOCK_SECOND
#define TRIES  3		   /* of a read, if another part can be read */
#define FORGET (60 * CLOCK_SECOND) /* after the last failure, the next one is another outage */

struct outage {
	char *name;
	uint64_t seconds;
	void (*notice)(const char *line);

	pthread_mutex_t lock;
	pthread_cond_t wake; /* repeats is false */
	atomic_bool lasts;   /* since is not 0: set under the lock */
	uint64_t since;	     /* protected by lock: ns; 0: the last read succeeded */
	uint64_t last;	     /* protected by lock: ns: when a read failed last */
	uint64_t logged;     /* protected by lock: `since` that notice knows of; 0: of none */
	bool repeats;	     /* protected by lock */
};

int outage_new(const char *name, uint64_t seconds, void (*notice)(const char *line),
	       struct outage **ret)
{
	struct outage *outage = calloc(1, sizeof(*outage));

	if (!outage)
		return -ENOMEM;
	outage->name = strdup(name);
	outage->seconds = seconds;
	outage->notice = notice;
	pthread_mutex_init(&outage->lock, NULL);
	clock_cond_init(&outage->wake);
	if (!outage->name) {
		outage_free(outage);
		return -ENOMEM;
	}
	*ret = outage;
	return 0;
}

void outage_free(struct outage *outage)
{
	if (!outage)
		return;
	pthread_cond_destroy(&outage->wake);
	pthread_mutex_destroy(&outage->lock);
	free(outage->name);
	free(outage);
}

/* What a server, or the way to it, causes: it fails over, was restarted or has evicted this client,
 * the filesystem was mounted again, or the key of the user has expired. A server of NFS that
 * exports nothing for a moment denies access to open files, too. */
static bool may_pass(int error)
{
	static const int passing[] = {EIO,	    ESTALE,    ETIMEDOUT,    ENOTCONN,
				      ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, ESHUTDOWN,
				      EREMOTEIO,    EACCES,    EKEYEXPIRED};

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (error == -passing[i])
			return true;
	return false;
}

static void say(const struct outage *outage, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s: %s", outage->name, text);
	if (outage->notice)
		outage->notice(line);
}

static void succeeded(struct outage *outage)
{
	uint64_t logged;
	char text[64];

	if (!atomic_load(&outage->lasts))
		return;
	pthread_mutex_lock(&outage->lock);
	logged = outage->logged;
	atomic_store(&outage->lasts, false);
	outage->since = 0;
	outage->logged = 0;
	pthread_mutex_unlock(&outage->lock);
	if (!logged)
		return;
	snprintf(text, sizeof(text), "can be read again, after %" PRIu64 " s",
		 (clock_ns() - logged) / CLOCK_SECOND);
	say(outage, text);
}

/* Whether to repeat a read that has failed; and whether that is to be said. */
static bool failed(struct outage *outage, struct outage_tries *tries, bool *ret_say)
{
	uint64_t now = clock_ns();

	SCOPE_LOCK(&outage->lock);
	if (++tries->count >= TRIES && tries->works)
		return false;
	if (!outage->since || now - outage->last > FORGET)
		outage->since = now;
	outage->last = now;
	atomic_store(&outage->lasts, true);
	if (tries->count == 1)
		tries->first = now;
	/* Others may succeed again and again, with what the page cache has. */
	if (!outage->repeats ||
	    (now - min(outage->since, tries->first)) / CLOCK_SECOND >= outage->seconds)
		return false;
	*ret_say = tries->count > 1 && !tries->works && outage->logged != outage->since;
	if (*ret_say)
		outage->logged = outage->since;
	return true;
}

bool outage_again(struct outage *outage, struct outage_tries *tries, int error)
{
	struct timespec then;
	bool now = false;
	char text[128];

	if (outage && (error == 0 || tries->works))
		succeeded(outage);
	if (!outage || !may_pass(error) || !failed(outage, tries, &now))
		return false;
	snprintf(text, sizeof(text), "%s; reads are repeated for up to %" PRIu64 " s",
		 strerror(-error), outage->seconds);
	if (now)
		say(outage, text);
	then = clock_after(PAUSE);
	SCOPE_LOCK(&outage->lock);
	while (outage->repeats)
		if (pthread_cond_timedwait(&outage->wake, &outage->lock, &then) == ETIMEDOUT)
			break;
	return outage->repeats;
}

void outage_allow(struct outage *outage, bool repeats)
{
	if (!outage)
		return;
	SCOPE_LOCK(&outage->lock);
	outage->repeats = repeats;
	pthread_cond_broadcast(&outage->wake);
}
