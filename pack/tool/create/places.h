/* Files beside images that are to be made smaller, and that would no longer fit them, as their
 * boxes or points are those of the images as they were: what makes create refuse. Nothing is looked
 * for unless it resizes, and --anyway is not given. */
#pragma once

#include "pack/tool/create/item.h"
#include "pack/tool/create/report.h"

/* Takes down the names of the images that may be resized, among the entries of the source: 0 or
 * -ENOMEM. If there are none, nothing is looked for. */
int places_begin(struct photo_names *images, const struct create_options *options,
		 const struct builder *entries);

/* Looks into some of the files of the folder that `root` is open on, so that hours of work need not
 * end in a refusal: 0, CREATE_REFUSED or -ENOMEM. */
int places_look_ahead(const struct photo_names *images, struct report *report, int root,
		      const struct builder *entries);

/* Looks into a file that has been read, in any thread, or into a large one, before it is stored:
 * sets item->annotations. 0, -EINTR or -ENOMEM. What cannot be read is not looked at. */
int places_look(const struct photo_names *images, struct import *import, struct create_item *item);

/* Prints that a file would no longer fit images. Returns CREATE_REFUSED. */
int places_refuse(struct report *report, const char *path, const struct annotations *found,
		  uint64_t others);
