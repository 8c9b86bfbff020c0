/* Images that are no JPEGs, by PIL: processes of python/foldfs/tools/pictures.py, of which each is
 * started when it is needed. Thread-safe, silent. Errors are those of coprocesses_ask(); what PIL,
 * or a library of it, makes of an image is none. */
#pragma once

#include "pack/tool/image/check.h"
#include "pack/tool/image/transform.h"
#include "pack/tool/work/coprocess.h"

struct pictures;

/* `most` processes. 0 or -ENOMEM. */
int pictures_new(unsigned most, struct pictures **ret);
/* NULL is fine. */
void pictures_free(struct pictures *pictures);

/* Whether PIL reads all of the image: 0; 1: no, and *ret says why; or an error. */
int pictures_check(struct pictures *pictures, const char *path, const void *data, size_t len,
		   struct check_finding *ret, struct err *err);

/* Makes a PNG or WebP of `width` x `height` pixels, no side of which is longer than before, and of
 * the format that `how` says. 0: *ret has it in its bytes, and is for answer_release(); ret->word
 * is "mask" if it was resized as one. 1: the original stays; ret->why says why, unless it would
 * only get larger. 2: damaged, as *ret_finding says. Or an error. */
int pictures_make(struct pictures *pictures, const char *path, const void *data, size_t len,
		  const struct transform *how, uint32_t width, uint32_t height, struct answer *ret,
		  struct check_finding *ret_finding, struct err *err);
