/* What archives have and a pack cannot hold: found while they are opened, told once the pack is
 * begun. Also where a pipe broke off. */
#pragma once

#include "pack/foreign/settings.h"
#include "pack/tool/create/create.h"
#include <pthread.h>

struct create_flaws {
	struct foreign_watch watch; /* its context is the struct create */
	pthread_mutex_t lock;	    /* archives of a set are looked through side by side */
	struct buf all, texts;	    /* by the lock */
	bool stream;		    /* the source is a pipe */
	bool alone;		    /* or one file on a server */
	int broken;		    /* it has broken off: what came before is packed */
	struct err why_broken;
};

/* 0 or -ENOMEM. */
int create_flaws_new(struct create *create);
void create_flaws_free(struct create *create);

/* Whether the source is a tar or zip, or several, as a dataset. */
bool create_is_archive(const struct create *create);

/* Reports what was left out. 0, or what the watch returned. */
int create_tell_flaws(struct create *create);
/* Reports, once all is stored, that the source had broken off. 0, or what the watch returned. */
int create_tell_broken(struct create *create);
