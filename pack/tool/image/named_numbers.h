/* Numbers of a text that have names: two whose names differ in a direction say where something is,
 * as xmin and ymin, left and top, X- Coordinate and Y - Coordinate.
 *
 * The last NAMED names are kept. All zero is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAME  64 /* bytes that are kept of a name */
#define NAMED 16

struct name { /* lower case, letters and digits */
	char text[NAME];
	size_t len;
};

/* What was last called so, and which other name says the other direction; NAMED: none does. */
struct named {
	struct name name;
	unsigned other;
	double value;
};

struct named_numbers {
	struct named named[NAMED];
	unsigned next; /* place for another one */
};

/* Adds letters and digits of a text. */
void name_add(struct name *name, const char *text, size_t len);

/* Its place, until NAMED others were asked for. */
struct named *named_find(struct named_numbers *numbers, const struct name *name);

/* Whether the number makes a place with the last one of the other direction. Two that are equal are
 * rather a resolution; nor is one if both are fractions. */
bool named_take(struct named_numbers *numbers, struct named *named, double value);
