/* Index makers: a script of Python (python/foldfs/sources/index.py) says where the images lie in a
 * file of another format, and what they are called. Nothing of it runs once the index is made.
 *
 * The script has one socket, and nothing else: no network, and no file but those of Python itself,
 * before it begins; memory and processor time are bounded, and it ends when this process has. It
 * asks for bytes of the file, which come from its source here, so that URLs, credentials and
 * retries are no concern of its; what it says is checked as what stands in a file would be.
 *
 *	script             this process
 *	I name, flags, takes  "far" or nothing   recognised; or U: by no format
 *	R offset length    bytes                 fewer where the file ends, or, with one more
 *	                                         field, the page
 *	W offset length    -                     will be asked for soon
 *	K record, codec,   -                     a compressed page, which is held for R, V and
 *	  offset, packed,                        files that lie in it; the record is for messages
 *	  unpacked
 *	V offset length count  sizes             of values there: give_sizes()
 *	B end              + and bytes           foreign_read_beside(); nothing: it is not there,
 *	                                         or, with one more field, cannot be read
 *	k count, key       records               of an LMDB: the next, or from a key on
 *	v head, tail,      bytes                 so many first and last bytes of values, whose
 *	  offset, size ..                        places the fields say; all bytes of shorter ones
 *	a the same         -                     will be asked for soon
 *	y first, count     paths                 foreign_tree_path()
 *	F fields           -                     a file: struct foreign_file
 *	N text, example, counts  -               a note: struct notice; or L: of inputs that
 *	                                         are left out
 *	C names            -                     foreign_tree_classes()
 *	T path, bytes      -                     foreign_add_text()
 *	P                  -                     foreign_tree_prefix()
 *	Z                  -                     foreign_tree_restart()
 *	G counted, several -                     numbers of enum labels_counted, _several
 *	E what, sentence   -                     it failed; or D: done
 *
 * Of archives (pack/foreign/settings.h: struct foreign_watch):
 *
 *	X file             -                     it is taken out again
 *	M file, mode, time -                     of a folder
 *	O path, what, flaw -                     a member is left out
 *	H sentence         -                     it is damaged, which fails unless who watches
 *	                                         goes on
 *	Q offset, length, whether of what was unpacked, method, ends, size, crc
 *	                   "", start, length     unpacks a member; or what, sentence, as E
 *	S offset length    bytes                 as R, of what was unpacked
 *
 * A message is a letter, a length of 32 bits and so many bytes; numbers are text, and fields end
 * with a NUL. An answer is a length and bytes.
 *
 * Not thread-safe. */
#pragma once

#include "base/err.h"
#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"
#include <stdbool.h>

struct maker;

/* What the script recognised. */
struct maker_format {
	char name[32];	/* as in --schema=NAME; "": nothing yet */
	bool archive;	/* it may have members that are left out: foreign_settings.watch */
	bool streamed;	/* a scan reads up to all of it: it has no directory of its images */
	unsigned takes; /* which options say something to it: FOREIGN_TAKES_KEYS and others */
};

/* Starts the script, and asks it for the format of a source, which stays the caller's. Returns 0;
 * -ENOMSG: it is of none; -EOPNOTSUPP: none has the name that the user gave, or there is no
 * python3, which err says; or the error of a read. */
int maker_begin(struct foreign_source *source, struct maker **ret, struct err *err);
/* It rests where the settings have makers and all was said. NULL is fine. */
void maker_free(struct maker *maker);

const struct maker_format *maker_format(const struct maker *maker);

/* Has the script tell the tree of its source. Returns 0, -EBADMSG (damaged), -EOPNOTSUPP (a variant
 * that is not read), -ENOPKG (one that a library of Python reads for foldpack create), -EPROTO or
 * -ECANCELED (the script fails), or what the tree or a read gave; err has a sentence without the
 * path. */
int maker_scan(struct maker *maker, struct foreign_tree *tree, struct err *err);
