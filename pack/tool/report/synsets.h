/* What the ids of WordNet mean that name the 1,000 classes of ImageNet: n01440764 is a tench. Names
 * are the first of WordNet's; two ids may share one. */
#pragma once

#include <stddef.h>

/* The name of an id; NULL: it is none of them. Not NUL-ended. */
const char *synset_name(const char *id, size_t id_len, size_t *ret_len);
