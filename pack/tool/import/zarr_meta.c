#include "pack/tool/import/zarr_meta.h"

#include "pack/tool/import/zarr_codec.h"
#include <errno.h>
#include <string.h>

/* --- shapes ----------------------------------------------------------------------------------- */

/* Reads the length of each dimension. Returns how many there are; -1: they make no sense. */
static int lengths_of(json_object *list, int64_t least, uint64_t *ret)
{
	size_t rank = zarr_json_count(list);

	if (rank > ZARR_RANK || !json_object_is_type(list, json_type_array))
		return -1;
	for (size_t i = 0; i < rank; i++) {
		json_object *length = json_object_array_get_idx(list, i);
		int64_t value = json_object_get_int64(length);

		if (!json_object_is_type(length, json_type_int) || value < least ||
		    value == INT64_MAX)
			return -1;
		ret[i] = (uint64_t)value;
	}
	return (int)rank;
}

static void reverse(uint64_t *lengths, unsigned rank)
{
	for (unsigned i = 0; i < rank / 2; i++) {
		uint64_t length = lengths[i];

		lengths[i] = lengths[rank - 1 - i];
		lengths[rank - 1 - i] = length;
	}
}

static int set_shapes(struct zarr_array *array, json_object *shape, json_object *chunk,
		      struct err *err)
{
	int rank = lengths_of(shape, 0, array->shape);
	uint64_t count = 1;

	if (rank < 0 || lengths_of(chunk, 1, array->chunk) != rank)
		return err_set(err, -EBADMSG,
			       "the shapes of the array and of its chunks make no sense, or have "
			       "over %d dimensions",
			       ZARR_RANK);
	array->rank = (unsigned)rank;
	for (unsigned i = 0; i < array->rank; i++)
		if (__builtin_mul_overflow(count, zarr_chunks_along(array, i), &count))
			return err_set(err, -EBADMSG, "more chunks than can be counted");
	if (array->version == ZARR_N5) {
		reverse(array->shape, array->rank);
		reverse(array->chunk, array->rank);
	}
	return 0;
}

/* --- types and keys --------------------------------------------------------------------------- */

/* "<i8" of zarr 2, "int64" of the others. */
static void set_type(struct zarr_array *array, const char *type)
{
	static const struct {
		const char *name, *numpy;
		unsigned width;
	} types[] = {
		{"uint8", "u1", 1}, {"uint16", "u2", 2}, {"uint32", "u4", 4}, {"uint64", "u8", 8},
		{"int8", "i1", 1},  {"int16", "i2", 2},	 {"int32", "i4", 4},  {"int64", "i8", 8},
	};

	array->is_big = array->version == ZARR_N5 || *type == '>';
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(type, types[i].name) != 0 &&
		    (!*type || strcmp(type + 1, types[i].numpy) != 0))
			continue;
		array->width = types[i].width;
		array->is_signed = *types[i].name == 'i';
	}
}

static void set_keys(struct zarr_array *array, json_object *meta)
{
	json_object *keys = zarr_json_member(meta, "chunk_key_encoding");
	const char *separator =
		array->version == ZARR_3
			? zarr_json_text(zarr_json_member(keys, "configuration"), "separator")
			: zarr_json_text(meta, "dimension_separator");

	array->below_c =
		array->version == ZARR_3 && strcmp(zarr_json_text(keys, "name"), "v2") != 0;
	array->nested =
		array->version == ZARR_N5 || (*separator ? *separator == '/' : array->below_c);
}

/* --- metadata --------------------------------------------------------------------------------- */

static const struct {
	const char *file, *shape, *chunk, *type;
} layouts[] = {
	[ZARR_2] = {".zarray", "shape", "chunks", "dtype"},
	[ZARR_3] = {"zarr.json", "shape", "chunk_shape", "data_type"},
	[ZARR_N5] = {"attributes.json", "dimensions", "blockSize", "dataType"},
};

const char *zarr_meta_name(enum zarr_version version)
{
	return layouts[version].file;
}

/* A group of zarr 2 has another file. */
static enum zarr_node node_of(enum zarr_version version, json_object *meta)
{
	if (version == ZARR_2)
		return ZARR_ARRAY;
	if (version == ZARR_3)
		return strcmp(zarr_json_text(meta, "node_type"), "array") == 0 ? ZARR_ARRAY
									       : ZARR_GROUP;
	if (zarr_json_member(meta, "dimensions") && zarr_json_member(meta, "blockSize"))
		return ZARR_ARRAY;
	return zarr_json_member(meta, "n5") ? ZARR_GROUP : ZARR_NOTHING;
}

static int read_array(json_object *meta, struct zarr_array *array, struct err *err)
{
	enum zarr_version version = array->version;
	json_object *grid = meta;
	int r;

	if (version == ZARR_3)
		grid = zarr_json_member(zarr_json_member(meta, "chunk_grid"), "configuration");
	r = set_shapes(array, zarr_json_member(meta, layouts[version].shape),
		       zarr_json_member(grid, layouts[version].chunk), err);
	if (r < 0)
		return r;
	set_type(array, zarr_json_text(meta, layouts[version].type));
	set_keys(array, meta);
	array->fill = json_object_get_int64(zarr_json_member(meta, "fill_value"));
	r = zarr_codecs_read(array, meta, err);
	return r < 0 ? r : ZARR_ARRAY;
}

int zarr_meta_read(enum zarr_version version, const char *text, size_t len, struct zarr_array *ret,
		   struct err *err)
{
	json_tokener *tokener = json_tokener_new();
	json_object *meta = NULL;
	int r = tokener ? 0 : -ENOMEM;

	*ret = (struct zarr_array){.version = version};
	if (r == 0 && len <= INT32_MAX)
		meta = json_tokener_parse_ex(tokener, text, (int)len);
	if (r == 0 && !json_object_is_type(meta, json_type_object))
		r = err_set(err, -EBADMSG, "no JSON, or cut off");
	if (r == 0)
		r = (int)node_of(version, meta);
	if (r == ZARR_ARRAY)
		r = read_array(meta, ret, err);
	json_object_put(meta);
	if (tokener)
		json_tokener_free(tokener);
	return r;
}
