/* Text that need not end with NUL, as it lies in a file. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOREIGN_PATH_MOST 4095 /* bytes of a path, or of a link's target: PATH_MAX less its NUL */

struct foreign_text {
	const char *data; /* NULL: none */
	size_t len;
};

/* Whether the name is of a folder, or of a file that loaders take for an image, that programs leave
 * behind, and nobody means as a class or an image: hidden folders, such as .ipynb_checkpoints,
 * those of macOS, NAS and filesystems; AppleDouble files (._x.jpg). */
bool foreign_text_is_junk(struct foreign_text name, bool folder);
/* Makes the name of a class one folder: a slash would make two, and NUL none. */
void foreign_text_flatten(char *text, size_t len);

bool foreign_text_ends(struct foreign_text text, const char *end);
