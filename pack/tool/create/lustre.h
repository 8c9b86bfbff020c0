/* How a file is spread over the servers of a Lustre filesystem.
 *
 * A pack on one server (stripe count 1, the default of many sites) is read at the rate of that one,
 * however many nodes train from it. The layout is decided when a file is made. */
#ifndef PACK_TOOL_CREATE_LUSTRE_H
#define PACK_TOOL_CREATE_LUSTRE_H

#include <stddef.h>
#include <stdint.h>

/* The stripe count in the attribute lustre.lov, a struct lov_user_md of Lustre's lustre_user.h: 0
 * where it says none, or something newer than that struct (a composite layout). Any bytes will
 * do. */
unsigned lustre_stripes(const uint8_t *layout, size_t len);

/* The same of the file at a path; 0 where it lies on no Lustre. */
unsigned lustre_stripes_of(const char *path);

#endif
