/* What the files of pass.h share. */
#ifndef CACHE_ORDER_PASS_INTERNAL_H
#define CACHE_ORDER_PASS_INTERNAL_H

#include "cache/order/pass.h"

/* Seeds that people choose, the most popular first. */
extern const uint32_t pass_popular[PASS_ROOTS];

static inline bool pass_is_dino(const struct pass *pass)
{
	return pass->maker == PASS_DINO || pass->maker == PASS_DINO_NEW;
}

#endif
