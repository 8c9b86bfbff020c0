#include "pack/tool/hdf5/hdf5.h"

#include "pack/tool/hdf5/report.h"
#include "pack/tool/hdf5/rows.h"
#include "pack/tool/image/image.h"
#include <inttypes.h>
#include <string.h>

#define HEAD   256     /* bytes by which an image is known */
#define GROUPS 1000000 /* that are looked through: of links to groups, each may double them */

/* A dataset with images. */
struct hdf5_source {
	char *path;
	bool has_rows; /* each row is an image; else all of it is one */
	struct hdf5_rows rows;
};

struct hdf5 {
	hid_t file;
	struct buf sources; /* struct hdf5_source */
	size_t source;	    /* the next one, and its row */
	uint64_t row;
	uint64_t pixels; /* arrays of pixels */
	uint64_t groups;
	int error; /* of the walk */
	struct err *err;
};

void hdf5_free(struct hdf5 *hdf5)
{
	struct hdf5_source *sources;

	if (!hdf5)
		return;
	sources = BUF_ITEMS(&hdf5->sources, struct hdf5_source);
	for (size_t i = 0; i < BUF_COUNT(&hdf5->sources, *sources); i++) {
		free(sources[i].path);
		hdf5_rows_release(&sources[i].rows);
	}
	buf_release(&hdf5->sources);
	hdf5_close(&hdf5->file);
	free(hdf5);
}

static enum format_image kind_of(const struct buf *bytes)
{
	struct dataset_image image;

	image_inspect((const uint8_t *)bytes->data, bytes->len, &image);
	return image.kind;
}

/* --- the walk ------------------------------------------------------------------------------- */

static int add_source(struct hdf5 *hdf5, const char *path, const struct hdf5_shape *shape)
{
	struct hdf5_source source = {.has_rows = hdf5_has_rows(shape)};
	int r = 0;

	source.path = strdup(path);
	if (!source.path)
		return -ENOMEM;
	if (source.has_rows)
		r = hdf5_rows_init(hdf5->file, path, shape->rows, &source.rows);
	if (r == 0)
		r = buf_add(&hdf5->sources, &source, sizeof(source));
	if (r < 0) {
		free(source.path);
		hdf5_rows_release(&source.rows);
	}
	return r;
}

/* 1: the dataset holds images. */
static int has_images(hid_t dataset, const struct hdf5_shape *shape)
{
	SCOPE(buf_release) struct buf bytes = BUF_INIT;
	int r;

	if (hdf5_has_rows(shape))
		r = hdf5_read_row(dataset, 0, &bytes);
	else if ((shape->class == H5T_INTEGER && shape->size == 1 && shape->dimensions == 1) ||
		 (shape->class == H5T_OPAQUE && shape->dimensions == 0))
		r = hdf5_read_whole(dataset, shape, HEAD, &bytes);
	else
		return 0;
	return r < 0 ? r : kind_of(&bytes) != IMAGE_UNKNOWN;
}

static int look_at_dataset(struct hdf5 *hdf5, const char *path)
{
	HANDLE dataset = H5Dopen2(hdf5->file, path, H5P_DEFAULT);
	struct hdf5_shape shape;
	int r = dataset < 0 ? -EBADMSG : hdf5_shape_find(dataset, &shape);

	if (r == 0)
		r = has_images(dataset, &shape);
	if (r == 0)
		hdf5->pixels += shape.dimensions >= 3;
	if (r == 1)
		r = add_source(hdf5, path, &shape);
	if (r < 0)
		hdf5->error = err_set(hdf5->err, r, "%s: %s", path,
				      r == -EBADMSG ? "cannot be read by libhdf5"
				      : r == -EFBIG ? "more rows than the file can have"
						    : strerror(-r));
	return r;
}

/* A group on the way to what is looked at. */
struct place {
	struct hdf5 *hdf5;
	const struct place *above; /* NULL: this is the root */
	const char *path;
	haddr_t address;
};

static bool leads_back(const struct place *place, haddr_t address)
{
	while (place && place->address != address)
		place = place->above;
	return place != NULL;
}

static herr_t look_at(hid_t group, const char *name, const H5L_info_t *link, void *context);

static int look_into(const struct place *place, hid_t group)
{
	if (++place->hdf5->groups > GROUPS)
		return place->hdf5->error = err_set(place->hdf5->err, -EFBIG,
						    "%s: links lead to more than %d groups",
						    place->path, GROUPS);
	return H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, look_at, (void *)place);
}

/* What several hard links name is there under each name, as in a filesystem. */
static herr_t look_at(hid_t group, const char *name, const H5L_info_t *link, void *context)
{
	const struct place *place = context;
	SCOPE_FREE char *path = NULL;
	H5O_info_t info;

	if (link->type != H5L_TYPE_HARD)
		return 0;
	if (asprintf(&path, "%s%s%s", place->path, *place->path ? "/" : "", name) < 0)
		return place->hdf5->error = -ENOMEM;
	if (H5Oget_info_by_name(group, name, &info, H5P_DEFAULT) < 0)
		return -1;
	if (info.type == H5O_TYPE_DATASET)
		return look_at_dataset(place->hdf5, path);
	if (info.type != H5O_TYPE_GROUP || leads_back(place, info.addr))
		return 0;
	HANDLE below = H5Gopen2(group, name, H5P_DEFAULT);

	return below < 0 ? -1
			 : look_into(&(struct place){.hdf5 = place->hdf5,
						     .above = place,
						     .path = path,
						     .address = info.addr},
				     below);
}

static herr_t look_at_all(struct hdf5 *hdf5)
{
	struct place root = {.hdf5 = hdf5, .path = ""};
	H5O_info_t info;

	if (H5Oget_info(hdf5->file, &info) < 0)
		return -1;
	root.address = info.addr;
	return look_into(&root, hdf5->file);
}

static int look_through(struct hdf5 *hdf5, const char *path, struct err *err)
{
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	hdf5->err = err;
	hdf5->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (hdf5->file < 0)
		return err_set(err, -EBADMSG,
			       "damaged, or still being written: libhdf5 cannot open it");
	if (look_at_all(hdf5) < 0)
		return hdf5->error ? hdf5->error
				   : err_set(err, -EBADMSG, "damaged: libhdf5 cannot list it");
	if (hdf5->sources.len)
		return 0;
	return err_set(err, -ENOMSG, "%s",
		       hdf5->pixels ? "holds arrays of pixels, not files of images"
				    : "holds no files of images in a layout known here");
}

int hdf5_open(const char *path, struct hdf5 **ret, struct err *err)
{
	struct hdf5 *hdf5 = calloc(1, sizeof(*hdf5));
	int r;

	if (!hdf5)
		return -ENOMEM;
	hdf5->file = -1;
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

/* The path is the folder of the dataset, the label (report.h), and the name or the number of the
 * row. */
static int set_path(const struct hdf5_source *source, uint64_t row, struct buf *path)
{
	const char *slash = strrchr(source->path, '/');
	const char *name = source->rows.names ? source->rows.names[row] : NULL;
	int r;

	path->len = 0;
	if (!source->has_rows)
		return buf_addf(path, "%s", source->path);
	r = buf_addf(path, "%.*s", slash ? (int)(slash + 1 - source->path) : 0, source->path);
	if (r == 0 && source->rows.labels)
		r = buf_addf(path, "%c%" PRId64 "/", HDF5_LABEL, source->rows.labels[row]);
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
	struct hdf5_shape shape;
	int r = dataset < 0 ? -EBADMSG : hdf5_shape_find(dataset, &shape);

	if (r == 0)
		r = source->has_rows ? hdf5_read_row(dataset, row, bytes)
				     : hdf5_read_whole(dataset, &shape, UINT64_MAX, bytes);
	return r < 0 ? err_set(err, r, "%s, row %" PRIu64 ": %s", source->path, row,
			       r == -EBADMSG ? "cannot be read by libhdf5" : strerror(-r))
		     : 0;
}

int hdf5_next(struct hdf5 *hdf5, struct buf *path, struct buf *bytes, struct err *err)
{
	const struct hdf5_source *sources = BUF_ITEMS(&hdf5->sources, const struct hdf5_source);
	const struct hdf5_source *source = sources + hdf5->source;
	uint64_t row = hdf5->row;
	int r;

	if (hdf5->source == BUF_COUNT(&hdf5->sources, *sources))
		return 1;
	r = read_source(hdf5, source, row, bytes, err);
	if (r == 0)
		r = set_path(source, row, path);
	if (r < 0)
		return r;
	hdf5->row++;
	if (!source->has_rows || hdf5->row == source->rows.count) {
		hdf5->source++;
		hdf5->row = 0;
	}
	return add_suffix(path, bytes);
}
