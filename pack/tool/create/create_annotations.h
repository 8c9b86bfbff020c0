/* Files beside images that are to be made smaller, and that would no longer fit them: what makes
 * create refuse. Nothing is looked for unless it resizes, and --anyway is not given. */
#pragma once

#include "pack/tool/create/create.h"

/* Takes down the names of the images that may be resized, among the entries of the source: 0 or
 * -ENOMEM. Before that nothing is looked for. */
int create_list_images(struct create *create, const struct builder *entries, uint64_t count);

/* The same of a folder; and looks into some of its files at once, so that hours of work need not
 * end in a refusal: 0, CREATE_REFUSED or -ENOMEM. */
int create_look_ahead(struct create *create, const struct builder *entries, uint64_t count);

/* Looks into a file that has been read, in any thread, or into a large one, before it is stored:
 * sets item->annotations. 0, -EINTR or -ENOMEM. What cannot be read is not looked at. */
int create_look_for_places(struct create *create, struct item *item);

/* Prints that a file would no longer fit images. Returns CREATE_REFUSED. */
int create_refuse_annotations(struct create *create, const char *path,
			      const struct annotations *found, uint64_t others);
