/* What is in a pack and may not be meant, and is told: links that lead nowhere, folders that are no
 * classes, files that are no images. */
#pragma once

#include "pack/tool/create/report.h"
#include "pack/write/builder.h"

/* What is looked through. */
struct leftovers {
	struct report *report;
	struct builder *builder;
	bool archive; /* it is a tar or zip */
};

/* Prints how many links lead out of the pack, and what can be done where they can be followed. 0 or
 * -ENOMEM. */
int leftovers_name_links(const struct leftovers *left);
/* Once all files are stored: names the links to what was left out, and the directories without a
 * file, which loaders take for classes and then refuse. For a tar also names the links that lead
 * out, and a single folder around everything, which loaders take for the only class. 0 or -ENOMEM.
 */
int leftovers_name(const struct leftovers *left);
