/* The adapters, in the order in which they are asked: the surest first. */
#pragma once

#include "pack/foreign/format.h"

/* Ended by NULL. */
extern const struct foreign_format *const foreign_formats[];
