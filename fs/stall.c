#include "fs/stall.h"
#include "base/clock.h"
#include "base/log.h"
#include "fs/mount.h"
#include <inttypes.h>

enum stall_news stall_look(struct stall *stall, uint64_t oldest_ms, bool given_up)
{
	bool stalls = given_up || oldest_ms >= STALL_MS, lasted = stall->lasts;

	stall->calm = stalls ? 0 : stall->calm + 1;
	stall->lasts = stalls || (lasted && stall->calm < STALL_CALM);
	if (stall->lasts == lasted)
		return STALL_NO_NEWS;
	return lasted ? STALL_ENDED : STALL_BEGAN;
}

unsigned stall_wait(const struct stall *stall, bool reads_wait, uint64_t limit)
{
	if (stall->lasts || reads_wait)
		return 1;
	return limit && limit < STALL_REST ? (unsigned)limit : STALL_REST;
}

unsigned stall_watch(struct stall *stall, struct cache *cache, uint64_t limit, const char *path)
{
	unsigned given_up = limit ? cache_give_up(cache, limit * CLOCK_SECOND) : 0;
	struct cache_stats stats;

	cache_stats(cache, &stats);
	switch (stall_look(stall, stats.oldest_wait_ms, given_up)) {
	case STALL_NO_NEWS:
		break;
	case STALL_BEGAN:
		log_error("%s: storage does not answer: %s %" PRIu64 " s", path,
			  given_up ? "reads are given up after" : "a read has waited for",
			  given_up ? limit : stats.oldest_wait_ms / 1000);
		break;
	case STALL_ENDED:
		log_notice("%s: no read waits for storage any more", path);
	}
	return stall_wait(stall, stats.parked, limit);
}
