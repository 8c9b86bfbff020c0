/* Which packs the words of a command line mean.
 *
 *	x.lmdb                      a pack: a path, or a URL
 *	x-{00000..00014}.lmdb       fifteen, as the shell would write them; {a,b} as well
 *	x-*.lmdb                    those that glob(3) finds
 *	@FILE                       one word a line, from the folder of FILE on; # begins a comment
 *	NAME/=WORD                  any of these, to go below the folder NAME
 *
 * A path that exists means itself, whatever characters it has. Not thread-safe. */
#ifndef PACK_NAMES_H
#define PACK_NAMES_H

#include "base/buf.h"
#include "base/err.h"
#include <stddef.h>

struct names {
	struct name {
		char *name;  /* of a pack */
		char *below; /* the folder that it goes into, as "a/b"; "": the root */
	} * all;
	size_t count;

	/* Appends the text of a list; NULL: there are none. 0 or -errno. */
	int (*read)(void *context, const char *name, struct buf *ret, struct err *err);
	void *context;
};

/* Adds the packs of a word. Returns 0, -ENOENT (a glob that matches nothing), -EINVAL, -E2BIG,
 * -ENOMEM, or what reading a list gave; err has a sentence with the word in it. */
int names_add(struct names *names, const char *word, struct err *err);
void names_release(struct names *names);

/* Names x-00003-of-00015.lmdb are of a set. Returns 0, or -ENOENT with a sentence that says which
 * of the set are missing. */
int names_check_sets(const struct names *names, struct err *err);

#endif
