/* What a script says of the tree: messages of pack/foreign/maker.h. Not thread-safe. */
#pragma once

#include "base/err.h"
#include "pack/foreign/maker_pages.h"
#include <stdbool.h>
#include <stdint.h>

/* Its fields, each of which ends with a NUL, are at [at, end), which lives as long as it. */
struct message {
	char letter;
	const char *at, *end;
};

/* The next field, or NULL. */
const char *message_field(struct message *message);
/* The same as a number; false: it is none. */
bool message_number(struct message *message, uint64_t *ret);

/* Does what it says of the tree; files may lie in the page that is held. Returns 0; -EPROTO: it
 * makes no sense; or what the tree gave. err has a sentence. */
int message_take(struct message *message, const struct maker_pages *pages,
		 struct foreign_tree *tree, struct err *err);
/* Of E: the error, with its sentence. */
int message_fail(struct message *message, struct err *err);
/* The answer to a question that failed: what E says. Appends to `ret`: 0 or -ENOMEM. */
int message_answer_failure(int error, const struct err *err, struct buf *ret);
/* -EPROTO, with its sentence. */
int message_broken(struct err *err);
