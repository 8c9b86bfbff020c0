/* Lists that are text: lines, or JSON, some of whose words are paths. It reads nothing but the
 * dataset. */
#ifndef FS_LISTS_TEXT_H
#define FS_LISTS_TEXT_H

#include "fs/lists_tree.h"

/* What a text may say; those that add nothing are left empty. */
enum lists_text_order {
	LISTS_TEXT_STANDS, /* as it stands */
	LISTS_TEXT_SORTED,
	LISTS_TEXT_ONCE, /* as it stands, a file that comes again is left out; where any does */
	LISTS_TEXT_ONCE_SORTED,
	LISTS_TEXT_ORDERS
};

struct lists_text {
	struct lists_files orders[LISTS_TEXT_ORDERS];
};
void lists_text_release(struct lists_text *text);

/* Finds out how the text names a file, and what else it names in that way. Whatever the text is,
 * returns 0 (and no entries, where it does not name the file), or -ENOMEM. */
int lists_text(const struct dataset *dataset, uint32_t file, const char *data, size_t len,
	       bool json, struct lists_text *ret);

#endif
