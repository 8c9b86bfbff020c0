/* Opens SOURCE as what it is: a folder, a file that a script reads, or anything that a mount could
 * read, also from a pipe. */
#pragma once

#include "pack/tool/create/create.h"

/* Fills in the fields of `create` that say so. Returns EXIT_DONE, or the status to end with after
 * an error was printed. */
int create_open_source(struct create *create);
