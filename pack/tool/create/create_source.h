/* Opens SOURCE as what it is: a folder, a tar or several, an HDF5 file, or what is read as a mount
 * would. */
#ifndef PACK_TOOL_CREATE_CREATE_SOURCE_H
#define PACK_TOOL_CREATE_CREATE_SOURCE_H

#include "pack/tool/create/create.h"

/* Fills what of `create` says so. Returns EXIT_DONE, or the status to end with after having said
 * why. */
int create_open_source(struct create *create);

#endif
