#include "pack/tool/hdf5/hdf5.h"

#include "base/io.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/image/image.h"
#define H5_USE_110_API
#include <hdf5.h>
#include <inttypes.h>
#include <string.h>

#define IMAGE_MAX (2 * GIB) /* bytes of one image */
#define ROWS_MAX  UINT32_MAX
#define HEAD	  256 /* bytes by which an image is known */

/* A dataset with images. */
struct hdf5_source {
	char *path;
	bool rows;	 /* an image a row; else it is one */
	int64_t *labels; /* of each row, or NULL */
	char **names;	 /* the same */
	uint64_t count;	 /* of rows */
};

struct hdf5 {
	hid_t file;
	struct buf sources; /* struct hdf5_source */
	size_t source;	    /* the one that comes next, and its row */
	uint64_t row;
	char **classes;
	size_t class_count;
	uint64_t pixels; /* arrays of pixels */
	int error;	 /* of the walk */
	struct err *err;
};

/* --- handles -------------------------------------------------------------------------------- */

static void close_handle(const hid_t *handle)
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

#define HANDLE SCOPE(close_handle) hid_t

static void free_strings(char **strings, uint64_t count)
{
	for (uint64_t i = 0; strings && i < count; i++)
		free(strings[i]);
	free(strings);
}

void hdf5_free(struct hdf5 *hdf5)
{
	struct hdf5_source *sources;

	if (!hdf5)
		return;
	sources = (struct hdf5_source *)(void *)hdf5->sources.data;
	for (size_t i = 0; i < hdf5->sources.len / sizeof(*sources); i++) {
		free(sources[i].path);
		free(sources[i].labels);
		free_strings(sources[i].names, sources[i].count);
	}
	buf_release(&hdf5->sources);
	free_strings(hdf5->classes, hdf5->class_count);
	close_handle(&hdf5->file);
	free(hdf5);
}

/* --- what a dataset is ---------------------------------------------------------------------- */

struct shape {
	int dimensions;
	uint64_t rows; /* of the first one */
	H5T_class_t class;
	H5T_class_t of; /* of what an array without fixed length holds */
	size_t size;	/* bytes of a value, or of what such an array holds */
};

static int find_shape(hid_t dataset, struct shape *ret)
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

/* --- reading -------------------------------------------------------------------------------- */

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

/* All of a dataset that is one file, or, of an array, `most` bytes. */
static int read_whole(hid_t dataset, const struct shape *shape, uint64_t most, struct buf *bytes)
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

static int read_row(hid_t dataset, uint64_t row, struct buf *bytes)
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

static enum format_image kind_of(const struct buf *bytes)
{
	struct dataset_image image;

	image_inspect((const uint8_t *)bytes->data, bytes->len, &image);
	return image.kind;
}

/* --- what stands beside the rows ------------------------------------------------------------ */

static hid_t open_beside(const struct hdf5 *hdf5, const char *path, const char *name, uint64_t rows,
			 struct shape *ret)
{
	SCOPE(buf_release) struct buf beside = BUF_INIT;
	const char *slash = strrchr(path, '/');
	hid_t found;

	if (buf_addf(&beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < 0 ||
	    H5Lexists(hdf5->file, beside.data, H5P_DEFAULT) <= 0)
		return -1;
	found = H5Dopen2(hdf5->file, beside.data, H5P_DEFAULT);
	if (found >= 0 && find_shape(found, ret) == 0 && ret->dimensions == 1 && ret->rows == rows)
		return found;
	close_handle(&found);
	return -1;
}

static int read_labels(const struct hdf5 *hdf5, struct hdf5_source *source)
{
	static const char *const names[] = {"labels", "label", "targets", "target", "y"};
	struct shape shape;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		HANDLE found = open_beside(hdf5, source->path, names[i], source->count, &shape);

		if (found < 0 || shape.class != H5T_INTEGER)
			continue;
		source->labels = calloc(source->count + 1, sizeof(*source->labels));
		if (!source->labels)
			return -ENOMEM;
		return H5Dread(found, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT,
			       source->labels) < 0
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

static int read_names(const struct hdf5 *hdf5, struct hdf5_source *source)
{
	static const char *const names[] = {"names", "filenames", "file_names", "paths"};
	struct shape shape;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		HANDLE found = open_beside(hdf5, source->path, names[i], source->count, &shape);
		HANDLE type = found < 0 ? -1 : H5Dget_type(found);

		if (found >= 0 && shape.class == H5T_STRING && H5Tis_variable_str(type) > 0)
			return read_strings(found, source->count, &source->names);
	}
	return 0;
}

/* --- the walk ------------------------------------------------------------------------------- */

static int add_source(struct hdf5 *hdf5, const char *path, const struct shape *shape)
{
	struct hdf5_source source = {.rows = shape->class == H5T_VLEN,
				     .count = shape->class == H5T_VLEN ? shape->rows : 1};
	int r = 0;

	source.path = strdup(path);
	if (!source.path)
		return -ENOMEM;
	if (source.rows && source.count > ROWS_MAX)
		r = -EFBIG;
	if (r == 0 && source.rows)
		r = read_labels(hdf5, &source);
	if (r == 0 && source.rows)
		r = read_names(hdf5, &source);
	if (r == 0)
		r = buf_add(&hdf5->sources, &source, sizeof(source));
	if (r < 0) {
		free(source.path);
		free(source.labels);
		free_strings(source.names, source.count);
	}
	return r;
}

/* 1: the dataset holds images. */
static int has_images(hid_t dataset, const struct shape *shape)
{
	SCOPE(buf_release) struct buf bytes = BUF_INIT;
	int r;

	if (shape->class == H5T_VLEN && shape->of == H5T_INTEGER && shape->size == 1 &&
	    shape->dimensions == 1 && shape->rows > 0)
		r = read_row(dataset, 0, &bytes);
	else if ((shape->class == H5T_INTEGER && shape->size == 1 && shape->dimensions == 1) ||
		 (shape->class == H5T_OPAQUE && shape->dimensions == 0))
		r = read_whole(dataset, shape, HEAD, &bytes);
	else
		return 0;
	return r < 0 ? r : kind_of(&bytes) != IMAGE_UNKNOWN;
}

static herr_t look_at(hid_t root, const char *path, const H5O_info_t *info, void *context)
{
	struct hdf5 *hdf5 = context;
	struct shape shape;
	int r = 0;

	if (info->type != H5O_TYPE_DATASET)
		return 0;
	HANDLE dataset = H5Dopen2(root, path, H5P_DEFAULT);

	r = dataset < 0 ? -EBADMSG : find_shape(dataset, &shape);
	if (r == 0)
		r = has_images(dataset, &shape);
	if (r == 0)
		hdf5->pixels += shape.dimensions >= 3;
	if (r == 1)
		r = add_source(hdf5, path, &shape);
	if (r < 0)
		hdf5->error = err_set(hdf5->err, r, "%s: %s", path,
				      r == -EBADMSG ? "cannot be read by libhdf5" : strerror(-r));
	return r;
}

static int read_classes(struct hdf5 *hdf5, const char *path, struct err *err)
{
	SCOPE_FILE FILE *file = fopen(path, "re");
	SCOPE_FREE char *line = NULL;
	size_t room = 0, len;
	int r = file ? 0 : -errno;

	while (r == 0 && (r = io_line(file, &line, &room, &len)) == 0) {
		char **list = reallocarray(hdf5->classes, hdf5->class_count + 1, sizeof(*list));

		if (!list)
			return -ENOMEM;
		hdf5->classes = list;
		list[hdf5->class_count] = strndup(line, len);
		if (!list[hdf5->class_count++])
			return -ENOMEM;
	}
	return r < 0 ? err_set(err, r, "'%s': %s", path, strerror(-r)) : 0;
}

static int look_through(struct hdf5 *hdf5, const char *path, struct err *err)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	hdf5->err = err;
	hdf5->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (hdf5->file < 0)
		return err_set(err, -EBADMSG,
			       "damaged, or still being written: libhdf5 cannot open it");
	if (H5Ovisit(hdf5->file, H5_INDEX_NAME, H5_ITER_INC, look_at, hdf5) < 0)
		return hdf5->error ? hdf5->error
				   : err_set(err, -EBADMSG, "damaged: libhdf5 cannot list it");
	if (hdf5->sources.len)
		return 0;
	return err_set(err, -ENOMSG, "%s",
		       hdf5->pixels ? "holds arrays of pixels, not files of images"
				    : "holds no files of images in a layout known here");
}

int hdf5_open(const char *path, const char *classes, struct hdf5 **ret, struct err *err)
{
	struct hdf5 *hdf5 = calloc(1, sizeof(*hdf5));
	int r;

	if (!hdf5)
		return -ENOMEM;
	hdf5->file = -1;
	r = classes ? read_classes(hdf5, classes, err) : 0;
	if (r == 0)
		r = look_through(hdf5, path, err);
	hdf5->err = NULL;
	if (r < 0) {
		hdf5_free(hdf5);
		return r;
	}
	*ret = hdf5;
	return 0;
}

/* --- files ---------------------------------------------------------------------------------- */

static const char *suffix_of_kind(enum format_image kind)
{
	static const char *const suffixes[IMAGE_KINDS] = {
		[IMAGE_JPEG] = ".jpg",	[IMAGE_PNG] = ".png",	[IMAGE_GIF] = ".gif",
		[IMAGE_WEBP] = ".webp", [IMAGE_BMP] = ".bmp",	[IMAGE_TIFF] = ".tiff",
		[IMAGE_PNM] = ".ppm",	[IMAGE_AVIF] = ".avif", [IMAGE_JXL] = ".jxl",
	};

	return suffixes[kind] ? suffixes[kind] : ".bin";
}

static int add_class(const struct hdf5 *hdf5, int64_t label, struct buf *path, struct err *err)
{
	if (!hdf5->classes)
		return buf_addf(path, "%04" PRId64 "/", label);
	if (label < 0 || (uint64_t)label >= hdf5->class_count)
		return err_set(err, -EINVAL, "label %" PRId64 " has no line in --classes", label);
	return buf_addf(path, "%s/", hdf5->classes[label]);
}

/* The folder of the dataset, that of the class, and the name, or the number of the row. */
static int set_path(const struct hdf5 *hdf5, const struct hdf5_source *source, uint64_t row,
		    struct buf *path, struct err *err)
{
	const char *slash = strrchr(source->path, '/');
	const char *name = source->names ? source->names[row] : NULL;
	int r;

	path->len = 0;
	if (!source->rows)
		return buf_addf(path, "%s", source->path);
	r = buf_addf(path, "%.*s", slash ? (int)(slash + 1 - source->path) : 0, source->path);
	if (r == 0 && source->labels && !(name && strchr(name, '/')))
		r = add_class(hdf5, source->labels[row], path, err);
	else if (r == 0 && !name)
		r = buf_addf(path, "images/");
	if (r < 0)
		return r;
	return name && *name ? buf_addf(path, "%s", name) : buf_addf(path, "%08" PRIu64, row);
}

static int add_suffix(struct buf *path, const struct buf *bytes)
{
	if (image_named(path->data, path->len) != IMAGE_UNKNOWN)
		return 0;
	return buf_addf(path, "%s", suffix_of_kind(kind_of(bytes)));
}

static int read_source(const struct hdf5 *hdf5, const struct hdf5_source *source, uint64_t row,
		       struct buf *bytes, struct err *err)
{
	HANDLE dataset = H5Dopen2(hdf5->file, source->path, H5P_DEFAULT);
	struct shape shape;
	int r = dataset < 0 ? -EBADMSG : find_shape(dataset, &shape);

	if (r == 0)
		r = source->rows ? read_row(dataset, row, bytes)
				 : read_whole(dataset, &shape, UINT64_MAX, bytes);
	return r < 0 ? err_set(err, r, "%s, row %" PRIu64 ": %s", source->path, row,
			       r == -EBADMSG ? "cannot be read by libhdf5" : strerror(-r))
		     : 0;
}

int hdf5_next(struct hdf5 *hdf5, struct buf *path, struct buf *bytes, struct err *err)
{
	const struct hdf5_source *sources = (const void *)hdf5->sources.data;
	const struct hdf5_source *source = sources + hdf5->source;
	uint64_t row = hdf5->row;
	int r;

	if (hdf5->source == hdf5->sources.len / sizeof(*sources))
		return 1;
	r = read_source(hdf5, source, row, bytes, err);
	if (r == 0)
		r = set_path(hdf5, source, row, path, err);
	if (r < 0)
		return r;
	hdf5->row++;
	if (hdf5->row == source->count) {
		hdf5->source++;
		hdf5->row = 0;
	}
	return add_suffix(path, bytes);
}
