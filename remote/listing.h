/* The files that a pattern on a server stands for. They are asked of the server's listing, page by
 * page.
 *
 *	s3://BUCKET/a/train-*.lmdb		objects of a bucket (ListObjectsV2), with what is
 *						before the first wildcard as prefix; gs:// as well
 *	hf://datasets/ORG/in1k/data/train-*.tar	files of a dataset on the Hugging Face Hub
 *	hf://datasets/ORG/in1k			all of one kind that can be mounted, if any;
 *						with a '/' behind it, its files: prefix.h
 *
 * '*' leaves out '/'. A file whose path is the pattern is the only one. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "remote/remote.h"

/* Whether the name, of s3://, gs:// or hf://, stands for files that the server must be asked for.
 */
bool listing_is_pattern(const char *name);

/* Appends the names that it stands for, each with a NUL at its end. Returns 0, -ENOENT (none, or
 * without a pattern files of several kinds), -E2BIG (more than remote/bounds.h says), or why they
 * cannot be listed. */
int listing_find(const char *name, const struct remote_settings *settings, struct remote *remote,
		 struct buf *ret, struct err *err);
