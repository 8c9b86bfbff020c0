#include "pack/tool/hdf5/shape.h"

#include "base/math.h"
#include <stdbool.h>

void hdf5_close(const hid_t *handle)
{
	if (*handle < 0)
		return;
	switch (H5Iget_type(*handle)) {
	case H5I_FILE:
		H5Fclose(*handle);
		break;
	case H5I_DATASET:
		H5Dclose(*handle);
		break;
	case H5I_DATASPACE:
		H5Sclose(*handle);
		break;
	case H5I_DATATYPE:
		H5Tclose(*handle);
		break;
	default:
		H5Oclose(*handle);
	}
}

int hdf5_shape_find(hid_t dataset, struct hdf5_shape *ret)
{
	HANDLE type = H5Dget_type(dataset), space = H5Dget_space(dataset);
	hsize_t lengths[H5S_MAX_RANK] = {0};

	if (type < 0 || space < 0)
		return -EBADMSG;
	ret->dimensions = H5Sget_simple_extent_dims(space, lengths, NULL);
	ret->rows = ret->dimensions > 0 ? lengths[0] : 1;
	ret->class = H5Tget_class(type);
	ret->of = ret->class;
	ret->size = H5Tget_size(type);
	if (ret->class == H5T_VLEN) {
		HANDLE inner = H5Tget_super(type);

		ret->of = H5Tget_class(inner);
		ret->size = H5Tget_size(inner);
	}
	return ret->dimensions < 0 ? -EBADMSG : 0;
}

/* The first bytes of an array. */
static int read_bytes(hid_t dataset, uint64_t len, void *to)
{
	HANDLE space = H5Dget_space(dataset);
	hsize_t start = 0, count = len;
	HANDLE memory = H5Screate_simple(1, &count, NULL);

	if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dread(dataset, H5T_NATIVE_UCHAR, memory, space, H5P_DEFAULT, to) < 0)
		return -EBADMSG;
	return 0;
}

static int read_opaque(hid_t dataset, void *to)
{
	HANDLE type = H5Dget_type(dataset);

	return H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) < 0 ? -EBADMSG : 0;
}

int hdf5_read_whole(hid_t dataset, const struct hdf5_shape *shape, uint64_t most, struct buf *bytes)
{
	bool opaque = shape->class == H5T_OPAQUE;
	uint64_t len = opaque ? shape->size : min(shape->rows, most);
	int r = 0;

	bytes->len = 0;
	if (len > IMAGE_MAX)
		return -EFBIG;
	if (buf_reserve(bytes, len) < 0)
		return -ENOMEM;
	if (len)
		r = opaque ? read_opaque(dataset, bytes->data)
			   : read_bytes(dataset, len, bytes->data);
	bytes->len = r == 0 ? len : 0;
	return r;
}
