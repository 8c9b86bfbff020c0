#include "pack/tool/import/zarr_codec.h"

#include <errno.h>
#include <string.h>

static const char *without(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(name, prefix, len) == 0 ? name + len : name;
}

/* Takes the next codec, by the names of n5-jpeg ("jpeg"), of the package imagecodecs
 * ("imagecodecs_jpeg"), and as zarr 3 calls those of zarr 2 ("numcodecs.zlib"). What follows one
 * that makes an image, or compresses, is not known here. */
static int add_codec(struct zarr_array *array, const char *name, json_object *parameters,
		     struct err *err)
{
	static const struct {
		const char *name;
		enum zarr_chunks chunks;
		enum codec codec;
	} codecs[] = {
		{"raw", 0, CODEC_NONE},	      {"bytes", 0, CODEC_NONE},
		{"transpose", 0, CODEC_NONE}, {"gzip", 0, CODEC_GZIP},
		{"zlib", 0, CODEC_GZIP},      {"zstd", 0, CODEC_ZSTD},
		{"blosc", 0, CODEC_BLOSC},    {"apng", ZARR_IMAGE, 0},
		{"avif", ZARR_IMAGE, 0},      {"bmp", ZARR_IMAGE, 0},
		{"gif", ZARR_IMAGE, 0},	      {"htj2k", ZARR_IMAGE, 0},
		{"jpeg", ZARR_IMAGE, 0},      {"jpeg2k", ZARR_IMAGE, 0},
		{"jpegxl", ZARR_IMAGE, 0},    {"png", ZARR_IMAGE, 0},
		{"spng", ZARR_IMAGE, 0},      {"tiff", ZARR_IMAGE, 0},
		{"ultrahdr", ZARR_IMAGE, 0},  {"webp", ZARR_IMAGE, 0},
	};
	bool ends = array->chunks != ZARR_VALUES || array->codec != CODEC_NONE;

	name = without(without(name, "numcodecs."), "imagecodecs_");
	array->chunks = ZARR_OTHER;
	for (size_t i = 0; !ends && i < sizeof(codecs) / sizeof(*codecs); i++) {
		if (strcmp(name, codecs[i].name) != 0)
			continue;
		array->chunks = codecs[i].chunks;
		array->codec = codecs[i].codec;
	}
	if (strcmp(zarr_json_text(parameters, "endian"), "big") == 0)
		array->is_big = true;
	if (array->chunks != ZARR_IMAGE ||
	    (!zarr_json_member(parameters, "tables") && !zarr_json_member(parameters, "header")))
		return 0;
	return err_set(err, -EOPNOTSUPP,
		       "its JPEGs have their tables in the metadata, so that they are not whole");
}

int zarr_codecs_read(struct zarr_array *array, json_object *meta, struct err *err)
{
	static const char *const keys[] = {"compressor", "codecs", "compression"};
	json_object *codecs = zarr_json_member(meta, keys[array->version]);
	int r = 0;

	if (array->version == ZARR_2 && codecs)
		r = add_codec(array, zarr_json_text(codecs, "id"), codecs, err);
	else if (array->version == ZARR_N5)
		r = add_codec(array, zarr_json_text(codecs, "type"), codecs, err);
	for (size_t i = 0; r == 0 && i < zarr_json_count(codecs); i++) {
		json_object *codec = json_object_array_get_idx(codecs, i);

		r = add_codec(array, zarr_json_text(codec, "name"),
			      zarr_json_member(codec, "configuration"), err);
	}
	if (zarr_json_count(zarr_json_member(meta, "filters")) > 0 ||
	    (array->chunks == ZARR_IMAGE &&
	     (array->rank == 0 || array->is_signed || !array->width || array->width > 2)))
		array->chunks = ZARR_OTHER;
	return r;
}
