#include "pack/tool/hdf5/rows.h"

#include <string.h>

bool hdf5_has_rows(const struct hdf5_shape *shape)
{
	return shape->class == H5T_VLEN && shape->of == H5T_INTEGER && shape->size == 1 &&
	       shape->dimensions == 1 && shape->rows > 0;
}

int hdf5_read_row(hid_t dataset, uint64_t row, struct buf *bytes)
{
	HANDLE space = H5Dget_space(dataset), one = H5Screate(H5S_SCALAR);
	HANDLE type = H5Tvlen_create(H5T_NATIVE_UCHAR);
	hsize_t start = row, count = 1;
	hvl_t value = {0};
	int r;

	bytes->len = 0;
	if (H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL) < 0 ||
	    H5Dread(dataset, type, one, space, H5P_DEFAULT, &value) < 0)
		return -EBADMSG;
	r = value.len > IMAGE_MAX ? -EFBIG : buf_add(bytes, value.p, value.len);
	H5Dvlen_reclaim(type, one, H5P_DEFAULT, &value);
	return r;
}

/* --- what stands beside them ---------------------------------------------------------------- */

static void free_strings(char **strings, uint64_t count)
{
	for (uint64_t i = 0; strings && i < count; i++)
		free(strings[i]);
	free(strings);
}

static hid_t open_beside(hid_t file, const char *path, const char *name, uint64_t rows,
			 struct hdf5_shape *ret)
{
	SCOPE(buf_release) struct buf beside = BUF_INIT;
	const char *slash = strrchr(path, '/');
	hid_t found;

	if (buf_addf(&beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < 0 ||
	    H5Lexists(file, beside.data, H5P_DEFAULT) <= 0)
		return -1;
	found = H5Dopen2(file, beside.data, H5P_DEFAULT);
	if (found >= 0 && hdf5_shape_find(found, ret) == 0 && ret->dimensions == 1 &&
	    ret->rows == rows)
		return found;
	hdf5_close(&found);
	return -1;
}

static int read_labels(hid_t file, const char *path, struct hdf5_rows *rows)
{
	static const char *const names[] = {"labels", "label", "targets", "target", "y"};
	struct hdf5_shape shape;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		HANDLE found = open_beside(file, path, names[i], rows->count, &shape);

		if (found < 0 || shape.class != H5T_INTEGER)
			continue;
		rows->labels = calloc(rows->count + 1, sizeof(*rows->labels));
		if (!rows->labels)
			return -ENOMEM;
		return H5Dread(found, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
			       rows->labels) < 0
			       ? -EBADMSG
			       : 0;
	}
	return 0;
}

/* Strings without fixed length, as h5py writes them. */
static int read_strings(hid_t dataset, uint64_t count, char ***ret)
{
	HANDLE type = H5Dget_type(dataset), space = H5Dget_space(dataset);
	char **read = calloc(count + 1, sizeof(*read)), **copies = calloc(count + 1, sizeof(*read));
	int r = read && copies ? 0 : -ENOMEM;

	if (r == 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) < 0)
		r = -EBADMSG;
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		copies[i] = strdup(read[i] ? read[i] : "");
		r = copies[i] ? 0 : -ENOMEM;
	}
	if (read)
		H5Dvlen_reclaim(type, space, H5P_DEFAULT, read);
	free(read);
	if (r < 0)
		free_strings(copies, count);
	else
		*ret = copies;
	return r;
}

static int read_names(hid_t file, const char *path, struct hdf5_rows *rows)
{
	static const char *const names[] = {"names", "filenames", "file_names", "paths"};
	struct hdf5_shape shape;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		HANDLE found = open_beside(file, path, names[i], rows->count, &shape);
		HANDLE type = found < 0 ? -1 : H5Dget_type(found);

		if (found >= 0 && shape.class == H5T_STRING && H5Tis_variable_str(type) > 0)
			return read_strings(found, rows->count, &rows->names);
	}
	return 0;
}

void hdf5_rows_release(struct hdf5_rows *rows)
{
	free(rows->labels);
	free_strings(rows->names, rows->count);
}

/* Each row has at least one byte in the file. More rows than that, as a file may claim, would only
 * take memory. */
static bool may_have(hid_t file, uint64_t rows)
{
	hsize_t bytes;

	return H5Fget_filesize(file, &bytes) >= 0 && rows <= bytes && rows <= UINT32_MAX;
}

int hdf5_rows_init(hid_t file, const char *path, uint64_t count, struct hdf5_rows *ret)
{
	struct hdf5_rows rows = {.count = count};
	int r = may_have(file, count) ? read_labels(file, path, &rows) : -EFBIG;

	if (r == 0)
		r = read_names(file, path, &rows);
	if (r < 0)
		hdf5_rows_release(&rows);
	else
		*ret = rows;
	return r;
}
