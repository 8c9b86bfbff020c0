#include "pack/foreign/formats.h"

const struct foreign_format *const foreign_formats[] = {
	NULL,
};
