/* Lists in texts: lines or JSON in which some words are paths. Reads nothing but the dataset. */
#pragma once

#include "lists/tree.h"

/* Gets an order of the files that a text names, and may change it. `what` says which order: "", ",
 * each once", ", sorted". Returns 0, or -errno to stop. */
typedef int lists_text_fn(void *context, const char *what, struct lists_files *files);

/* Finds out how the text names a file, and what else it names in that way. Calls `found` with these
 * files as they come, and sorted; if any comes twice, also both orders with each file once. It is
 * not called if the text does not name the file, or has millions of lines for few files. Returns 0,
 * -ENOMEM, or what `found` returned, whatever the text is. */
int lists_text(const struct dataset *dataset, uint32_t file, const char *data, size_t len,
	       bool json, lists_text_fn *found, void *context);
