/* Which packs the words of a command line name.
 *
 *	x.lmdb                      a pack: a path, or a URL
 *	x-{00000..00014}.lmdb       fifteen packs, as the shell would write them; {a,b} as well
 *	x-*.lmdb                    those that glob(3) finds
 *	@FILE                       one word a line (base/lines.h), relative to the folder of FILE
 *	NAME/=WORD                  any of these, placed below the folder NAME; ./= is the root
 *
 *	s3://b/x-*.lmdb             those that the server lists: also gs:// and hf://
 *
 * No pattern names an index file (base/name.h).
 *
 * A path that exists always names itself, whatever its characters; but a folder that Hugging Face's
 * save_to_disk wrote names the Arrow files in it.
 *
 * A list on a server names what is on servers, by relative paths or by URLs of its own scheme. What
 * is on this machine it can neither name nor probe. Not thread-safe. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct names {
	struct name {
		char *name;  /* of a pack */
		char *below; /* the folder that it goes into, as "a/b"; "": the root */
		bool apart;  /* a server's list named it, on another server: no secrets go there */
		bool found;  /* by a pattern */
		bool placed; /* by NAME/= */
	} * all;
	size_t count;
	bool patterns; /* a word named whatever packs there were */

	/* Appends the text of a list; NULL: there are none. 0 or -errno. err has a sentence. */
	int (*read)(void *context, const char *name, struct buf *ret, struct err *err);
	/* Appends the names that a pattern on a server stands for, each with a NUL at its end.
	 * Returns 0, 1 (it is no pattern) or -errno with a sentence. NULL: URLs are no patterns. */
	int (*list)(void *context, const char *name, struct buf *ret, struct err *err);
	void *context;
};

/* Adds the packs of a word. Returns 0, -ENOENT (a glob that matches nothing), -EINVAL, -EACCES (a
 * server must not name it), -E2BIG, -ENOMEM, or what reading a list returned. err has a sentence
 * that names the word, without its secrets. */
int names_add(struct names *names, const char *word, struct err *err);
void names_release(struct names *names);

/* A name such as x-00003-of-00015.lmdb belongs to a set. Returns 0, or -ENOENT with a sentence that
 * says which packs of the set are missing. */
int names_check_sets(const struct names *names, struct err *err);

/* Two sets that differ only in how many files they have, x-*-of-00014 and x-*-of-00015, or in the
 * hashes of Hugging Face's, are not one dataset: one of them is out of date. Returns 0, or -EEXIST
 * with a sentence that names a file of each, unless a NAME/= says where they go. */
int names_check_mixed(const struct names *names, struct err *err);

/* --- the name of one of several files: x-00003-of-00015.lmdb --------------------------------- */

struct set_name {
	const char *name;
	size_t base;	   /* bytes of the folder, with its slash */
	size_t before;	   /* bytes before "-00003", the folder with them */
	const char *after; /* after "-00015", and a hash of Hugging Face's: ".lmdb" */
	size_t after_len;  /* without the query of a URL */
	uint64_t number, of;
	int digits;
};

/* The first "-N-of-M" in the last component; false: there is none. */
bool set_name_parse(const char *name, struct set_name *ret);
