/* One sample of a file of torch.save() becomes a file of the tree. */
#ifndef PACK_FOREIGN_ARCHIVE_TORCH_SAMPLE_H
#define PACK_FOREIGN_ARCHIVE_TORCH_SAMPLE_H

#include "pack/foreign/archive/torch_file.h"
#include "pack/foreign/tree.h"

struct torch_samples {
	struct torch_file file;
	struct foreign_tree *tree;
	uint64_t record; /* of the sample in hand */
	struct foreign_pixels pixels;
	struct foreign_file image;
};

static inline bool torch_is_list(const struct pickle_value *value)
{
	return value && (value->kind == PICKLE_LIST || value->kind == PICKLE_TUPLE);
}

static inline bool torch_is_text(const struct pickle_value *value)
{
	return value && value->kind == PICKLE_TEXT && value->bytes.data;
}

/* A sample has an image, as any value or as a tensor, and perhaps a label. Each returns 0,
 * -EOPNOTSUPP, -EBADMSG or the error of a read. err names the record. */
void torch_sample_begin(struct torch_samples *p);
int torch_sample_image(struct torch_samples *p, const struct pickle_value *value, struct err *err);
int torch_sample_pixels(struct torch_samples *p, const struct torch_tensor *tensor,
			struct err *err);
int torch_sample_label(struct torch_samples *p, const struct pickle_value *value, struct err *err);
/* As foreign_add(). */
int torch_sample_end(struct torch_samples *p, struct err *err);

#endif
