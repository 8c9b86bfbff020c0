/* Finds the name that a mistyped word may have meant.
 *
 *	struct nearest nearest = nearest_begin("craete", 6);
 *	nearest_try(&nearest, "create");
 *	nearest_try(&nearest, "cat");
 *	nearest.name                              -> "create", or NULL: nothing is near
 *
 * Pure. A name is near if it is at most two edits away, and fewer than the word has letters. */
#pragma once

#include <stddef.h>

struct nearest {
	const char *name; /* the nearest so far; NULL: none */
	const char *word; /* len bytes */
	size_t len, distance;
};

struct nearest nearest_begin(const char *word, size_t len);
/* Of equally near names the first wins. `name` is borrowed. */
void nearest_try(struct nearest *nearest, const char *name);
