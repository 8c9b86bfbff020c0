/* The adapters, in the order in which they are asked: the surest first. */
#ifndef PACK_FOREIGN_FORMATS_H
#define PACK_FOREIGN_FORMATS_H

#include "pack/foreign/format.h"

/* Ended by NULL. */
extern const struct foreign_format *const foreign_formats[];

#endif
