/* Unpacked pages that are kept for all files of a mount, or of a command: pages.h. Nothing is to be
 * released once all of its files are closed. */
#pragma once

#include <pthread.h>

struct pages {
	pthread_mutex_t lock;
	pthread_cond_t ready;	  /* a page has become it */
	struct pages_kept *first; /* protected by lock: the one used last */
};

#define PAGES_INIT                                                                   \
	{                                                                            \
		.lock = PTHREAD_MUTEX_INITIALIZER, .ready = PTHREAD_COND_INITIALIZER \
	}
