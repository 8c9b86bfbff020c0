/* Prints snapshots for people, at most 80 columns wide (except for long paths). */
#pragma once

#include "fs/stat/snapshot.h"
#include "fs/stat/verdict.h"

/* Everything since the mount was made, a line for each topic. Returns 0 or -ENOMEM. */
int show_block(const struct snapshot *now);

/* The two lines above the columns of show_row(). */
void show_header(void);

/* What is known of the order in which files are read, if that has changed since `before`. Returns 0
 * or -ENOMEM. */
int show_order(const struct snapshot *before, const struct snapshot *after);

/* An interval in one line: rates, and the verdict in up to three words. */
void show_row(const struct snapshot *before, const struct snapshot *after);

/* The verdict in words. Returns 0 or -ENOMEM. */
int show_verdict(const struct snapshot *before, const struct snapshot *after);
