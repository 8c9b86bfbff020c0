/* What a script says: messages of pack/foreign/maker.h, and those of the tree. Not thread-safe. */
#pragma once

#include "base/err.h"
#include "pack/foreign/tree.h"
#include <stdbool.h>
#include <stdint.h>

/* Its fields, each of which ends with a NUL, are at [at, end), which lives as long as it. */
struct message {
	char letter;
	const char *at, *end;
};

/* A compressed page that files lie in, and that is looked at as the file itself is. */
struct held_page {
	struct buf bytes;	     /* unpacked */
	struct buf pieces;	     /* struct codec_piece */
	struct foreign_packed place; /* of these; without pieces: none is held */
};

/* What functions return that take a message, of one that makes no sense, until message_broken():
 * nothing that they call returns it. */
#define MAKES_NO_SENSE (-EBADRQC)

/* The next field, or NULL. */
const char *message_field(struct message *message);
/* The same as numbers, each a uint64_t *, up to NULL; false: one is none. */
bool message_numbers(struct message *message, ...) __attribute__((sentinel));

/* Does what it says of the tree; files may lie in the page that is held. Returns 0; -EPROTO: it
 * makes no sense; or what the tree gave. err has a sentence. */
int message_take(struct message *message, const struct held_page *page, struct foreign_tree *tree,
		 struct err *err);
/* Of E: the error, with its sentence. */
int message_fail(struct message *message, struct err *err);
/* The answer to a question that failed: what E says. Appends to `ret`: 0 or -ENOMEM. */
int message_answer_failure(int error, const struct err *err, struct buf *ret);
/* -EPROTO, with its sentence. */
int message_broken(struct err *err);
