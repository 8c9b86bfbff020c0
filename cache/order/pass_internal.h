/* What the files of pass.h share. */
#ifndef CACHE_ORDER_PASS_INTERNAL_H
#define CACHE_ORDER_PASS_INTERNAL_H

#include "cache/order/pass.h"

/* kDaliDataloaderSeed of dali/operators/reader/loader/utils.h, or file_label_loader.h */
#define PASS_DALI 524287

static inline bool pass_is_dino(const struct pass *pass)
{
	return pass->maker == PASS_DINO || pass->maker == PASS_DINO_NEW;
}

#endif
