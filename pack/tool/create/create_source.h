/* Opens SOURCE as what it is: a folder, an HDF5 file, or anything that a mount could read, also
 * from a pipe. */
#ifndef PACK_TOOL_CREATE_CREATE_SOURCE_H
#define PACK_TOOL_CREATE_CREATE_SOURCE_H

#include "pack/tool/create/create.h"

/* Fills in the fields of `create` that say so. Returns EXIT_DONE, or the status to end with after
 * an error was printed. */
int create_open_source(struct create *create);

#endif
