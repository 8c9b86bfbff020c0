#include "pack/foreign/formats.h"

extern const struct foreign_format known_format;

const struct foreign_format *const foreign_formats[] = {
	&known_format,
	NULL,
};
