/* The names of images that are to be made smaller, as texts beside them write these.
 *
 * Case does not count, nor folders, nor the suffix of an image. Images of one name in several
 * folders are one. Memory: 18 bytes a name, and as many for its beginning, if that has a digit.
 * Threads may look while nobody adds. */
#pragma once

#include "base/number_table.h"
#include <stdbool.h>

struct photo_names {
	struct number_table table; /* of the halves of hashes */
	uint64_t count;		   /* names */
	uint64_t lengths; /* a bit for each of a name without its suffix; the last: or more */
	bool odd; /* one has characters between which texts may be split, or that JSON escapes */
};

void photo_names_release(struct photo_names *names);

/* Adds the name of an image, without folders. 0 or -ENOMEM. */
int photo_names_add(struct photo_names *names, const char *name);

/* A number above 0 for the image that the text names, with or without a suffix; 0: there is none.
 */
uint64_t photo_names_find(const struct photo_names *names, const char *text, size_t len);

/* The same for one that may have folders in front, spaces around it, and escapes of JSON in it. */
uint64_t photo_names_find_between(const struct photo_names *names, const char *text,
				  const char *end);

/* Whether the name of another file begins or ends with that of an image: a.jpg.json, gt_a.txt,
 * a_polygons.json; or with all but the last word of one, if that has a digit: 1_leftImg.png,
 * 1_polygons.json. */
bool photo_names_share(const struct photo_names *names, const char *name);

/* Whether a byte can be part of a word in a text. */
static inline bool photo_names_word(char c)
{
	static const bool words[256] = {
		['0' ... '9'] = true, ['A' ... 'Z'] = true,   ['a' ... 'z'] = true,
		['.'] = true,	      ['_'] = true,	      ['-'] = true,
		['+'] = true,	      [0x80 ... 0xff] = true,
	};

	return words[(uint8_t)c];
}
