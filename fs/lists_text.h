/* Lists that are text: lines, or JSON, some of whose words are paths. It reads nothing but the
 * dataset. */
#ifndef FS_LISTS_TEXT_H
#define FS_LISTS_TEXT_H

#include "fs/lists_tree.h"

/* An order of the files that a text names, to be changed as one likes; `what` tells it from its
 * others: "", ", each once", ", sorted". Returns 0, or -errno to stop. */
typedef int lists_text_fn(void *context, const char *what, struct lists_files *files);

/* Finds out how the text names a file, and what else it names in that way: as it stands, and
 * sorted; where a file comes again, both with each file once. Whatever the text is, returns 0,
 * -ENOMEM, or what `found` gave; it is not called where the text does not name the file. */
int lists_text(const struct dataset *dataset, uint32_t file, const char *data, size_t len,
	       bool json, lists_text_fn *found, void *context);

#endif
