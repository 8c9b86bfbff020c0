/* Sizes of AVIF and JPEG XL images, from the boxes of the ISO base media files (ISO/IEC 14496-12)
 * that they come in. JPEG XL also comes without boxes. Pure; trusts no field, as image.h. */
#pragma once

#include "pack/tool/image/bytes.h"

/* Whether the file begins as such an image. The size is 0, 0 if it is not in these bytes. */
bool avif_header(const struct bytes *head, uint32_t *ret_width, uint32_t *ret_height);
bool jxl_header(const struct bytes *head, uint32_t *ret_width, uint32_t *ret_height);
