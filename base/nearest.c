#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

#define NAME_MOST     40 /* longer names are never near */
#define DISTANCE_MOST 2

/* Edits (insert, delete, replace) between a word and a name: Levenshtein's table, of which
 * only the last row is kept. */
static size_t edit_distance(const char *word, size_t len, const char *name)
{
	size_t name_len = strlen(name), row[NAME_MOST + 1];

	if (name_len > NAME_MOST)
		return SIZE_MAX;
	for (size_t j = 0; j <= name_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= len; i++) {
		size_t corner = row[0]; /* up and left of row[j] */

		row[0] = i;
		for (size_t j = 1; j <= name_len; j++) {
			size_t best = corner + (word[i - 1] != name[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[name_len];
}

struct nearest nearest_begin(const char *word, size_t len)
{
	return (struct nearest){.word = word, .len = len, .distance = DISTANCE_MOST + 1};
}

/* With as many edits as it has letters, a word can become any other. */
void nearest_try(struct nearest *nearest, const char *name)
{
	size_t distance = edit_distance(nearest->word, nearest->len, name);

	if (distance >= nearest->distance || distance >= nearest->len)
		return;
	nearest->name = name;
	nearest->distance = distance;
}
