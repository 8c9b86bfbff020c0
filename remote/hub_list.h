/* The files of a dataset on the Hugging Face Hub that a name stands for:
 *
 *	hf://datasets/ORG/in1k/data/train-*.tar	those that fnmatch(3) finds; '*' leaves out '/'
 *	hf://datasets/ORG/in1k			all of one kind that can be mounted, if there is one
 *
 * They are asked of the listing of the Hub, page by page. */
#pragma once

#include "remote/credentials.h"

/* Whether the name stands for files that the Hub must be asked for. */
bool hub_is_pattern(const char *name);

/* Appends the names of the files, each with a NUL at its end. A file whose name is the pattern is
 * the only one. `fetch_from` is fetch(), except in tests. Returns 0, -ENOENT (no file, or files of
 * several kinds), -EINVAL, -EACCES, -EPROTO, -EIO or what fetch() returns. */
int hub_list(const char *name, const struct remote_settings *settings,
	     credentials_fetch_fn *fetch_from, struct buf *ret, struct err *err);
