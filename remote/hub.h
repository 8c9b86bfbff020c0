/* Files of datasets on the Hugging Face Hub:
 *
 *	hf://datasets/ORG/in1k/a b.lmdb
 *		https://huggingface.co/datasets/ORG/in1k/resolve/main/a%20b.lmdb
 *	hf://datasets/ORG/in1k@v1.0/x.lmdb		.../resolve/v1.0/x.lmdb
 *	hf://datasets/ORG/in1k@refs/convert/parquet/x	.../resolve/refs%2Fconvert%2Fparquet/x
 *
 * HF_ENDPOINT names another server than huggingface.co. Paths are used as they are, and encoded
 * once; a revision with a '/' is written with %2F, unless it is one of those above or refs/pr/N. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "remote/url.h"
#include <stdbool.h>

/* Whether tokens of the Hub are for this server: huggingface.co, its subdomains, and that of
 * HF_ENDPOINT. */
bool hub_is_at(const struct url *server);
/* Where `hf auth login` keeps the token: ${HF_HOME}/token, in ~/.cache/huggingface. The caller
 * frees it. Returns 0, 1 (there is no home) or -ENOMEM. */
int hub_token_file(char **ret);

struct hub_name {
	int len;		/* bytes up to the path */
	const char *repository; /* "ORG/in1k" */
	size_t owned;		/* bytes of that */
	const char *revision;
	size_t revised;	  /* bytes of that */
	const char *path; /* "": all of it */
};

/* The parts of a name, which live as long as it does. Returns 0 or -EINVAL. */
int hub_parse(const char *name, struct hub_name *ret, struct err *err);
/* Appends the URL of a repository and revision: "https://huggingface.co", `before`, the repository,
 * `between` and the revision. Returns 0 or -ENOMEM. */
int hub_add(const struct hub_name *name, const char *before, const char *between, struct buf *ret);

/* The URL of a file. The caller frees it. Returns 0, -EINVAL or -ENOMEM. */
int hub_url(const char *name, char **ret, struct err *err);
