/* How a file is spread over the servers of a Lustre filesystem.
 *
 * A pack on one server (stripe count 1, the default of many sites) is read no faster than that
 * server can, however many nodes train from it. The layout is fixed when a file is made. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The stripe count in the attribute lustre.lov, a struct lov_user_md of Lustre's lustre_user.h. 0:
 * it has none, or is newer than that struct (a composite layout). Accepts any bytes. */
unsigned lustre_stripes(const uint8_t *layout, size_t len);

/* The same for the file at a path; 0: it is not on Lustre. */
unsigned lustre_stripes_of(const char *path);
