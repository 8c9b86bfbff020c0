/* foldpack create, in two halves: cmd_create.c reads the command line and says what was done,
 * create_tree.c brings a tree into a builder. This is what they share. */
#ifndef PACK_TOOL_CREATE_H
#define PACK_TOOL_CREATE_H

#include "pack/builder.h"
#include "pack/tool/dirstack.h"
#include "pack/tool/progress.h"
#include "pack/tool/scan.h"

struct create {
	const char *source, *pack; /* as the user wrote them */
	bool skip_bad;		   /* go on without inputs that cannot be read */
	enum progress_want want;
	int root; /* the source, open */
	struct scan *scan;
	struct builder *builder;
	struct dirstack *directories; /* of the source */
	uint32_t *ids; /* of each scanned entry in the builder; create_tree.c's own */
	struct progress progress;
	uint64_t skipped; /* inputs left out */
};

/* A failure that has been said. */
#define CREATE_TOLD (-ECANCELED)

/* Says what failed, after the path of the pack, and what can be done. Returns CREATE_TOLD. */
int create_fail(struct create *create, int error, const struct err *err);

/* Looks at the source: fills create->scan. 0, CREATE_TOLD, -EINTR where a signal came, or
 * -ENOMEM, -EOVERFLOW. */
int create_scan(struct create *create);

/* Adds all that was found to the builder, bytes included; same results. */
int create_store(struct create *create);

#endif
