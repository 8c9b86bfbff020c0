/* A file of torch.save(): a zip of a pickle and of the bytes of tensors.
 *
 *	NAME/data.pkl   the object; tensors in it are calls of _rebuild_tensor_v2 on a storage
 *	NAME/data/KEY   the bytes of a storage
 *
 * Not thread-safe. */
#pragma once

#include "pack/foreign/archive/zip_directory.h"
#include "pack/foreign/encoding/pickle.h"

#define TORCH_DIMS 4

/* All zero: none. */
struct torch_file {
	struct foreign_source *source;
	struct zip_directory zip;
	struct buf order; /* size_t: the entries by their names */
	struct buf path;  /* of a storage; begins with NAME, of `name` bytes */
	size_t name;
	struct pickle *pickle;
	const struct pickle_value *root; /* the object */
};

/* Its elements follow each other, those of the last dimension closest. */
struct torch_tensor {
	uint64_t offset; /* in the file */
	unsigned width;	 /* bytes of an element */
	bool is_bytes;	 /* uint8 */
	unsigned dims;
	uint64_t shape[TORCH_DIMS];
};

void torch_file_release(struct torch_file *file);

/* Whether it begins as such a zip: 1, 0, or the error of the read. */
int torch_file_probe(struct foreign_source *source);

/* Returns 0, or as zip_directory_read() and pickle_read(). */
int torch_file_read(struct foreign_source *source, struct torch_file *ret, struct err *err);

bool torch_is_tensor(const struct pickle_value *value);

/* Finds the bytes of a tensor of integers. Returns 0, -EBADMSG, -EOPNOTSUPP, -ENOMEM or the error
 * of a read. err does not say where in the object. */
int torch_tensor_read(struct torch_file *file, const struct pickle_value *value,
		      struct torch_tensor *ret, struct err *err);

/* Bytes of it. */
uint64_t torch_tensor_size(const struct torch_tensor *tensor);
/* Item i of its first dimension, which it must have. */
struct torch_tensor torch_tensor_at(const struct torch_tensor *tensor, uint64_t i);
/* Its only element. As foreign_get(). */
int torch_tensor_number(const struct torch_file *file, const struct torch_tensor *tensor,
			int64_t *ret, struct err *err);
