/* Samples of torch.save() as columns: a list or tensor of images, and one of labels. */
#ifndef PACK_FOREIGN_ARCHIVE_TORCH_COLUMNS_H
#define PACK_FOREIGN_ARCHIVE_TORCH_COLUMNS_H

#include "pack/foreign/archive/torch_sample.h"

/* labels NULL: there are none. Returns 0, -EBADMSG (not as many labels as images), or as
 * torch_sample_image(). */
int torch_columns_scan(struct torch_samples *p, const struct pickle_value *images,
		       const struct pickle_value *labels, struct err *err);

#endif
