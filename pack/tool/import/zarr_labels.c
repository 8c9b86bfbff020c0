#include "pack/tool/import/zarr_labels.h"

#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/tree.h"
#include <inttypes.h>
#include <string.h>

#define CHUNK_MOST (512 * MIB)
#define LABEL_MOST 9999 /* in four digits */

void zarr_labels_release(struct zarr_labels *labels)
{
	buf_release(&labels->values);
}

/* Unpacks a chunk, of N5 perhaps a short one. */
static int unpack(struct zarr_labels *labels, const struct buf *packed, struct err *err)
{
	const struct zarr_array *array = &labels->images->labels->array;
	uint64_t count = array->chunk[0];
	size_t skip, len, rest;
	int r = zarr_chunk_head(array, (const uint8_t *)packed->data, packed->len, &skip, &count);

	if (r < 0 || count > array->chunk[0])
		return err_set(err, -EBADMSG, "its header is not that of such a chunk");
	len = (size_t)count * array->width;
	rest = packed->len - skip;
	r = buf_reserve(&labels->values, len + 1);
	if (r == 0 && array->codec != CODEC_NONE)
		r = codec_unpack(array->codec, packed->data + skip, rest, labels->values.data, len,
				 err);
	else if (r == 0 && rest != len)
		r = err_set(err, -EBADMSG, "has %zu bytes in place of %zu", rest, len);
	else if (r == 0)
		memcpy(labels->values.data, packed->data + skip, len);
	if (r == 0)
		labels->values.len = len;
	return r;
}

static int read_chunk(struct zarr_labels *labels, uint64_t number, struct err *err)
{
	const struct zarr_found *of = labels->images->labels;
	SCOPE(buf_release) struct buf path = BUF_INIT, packed = BUF_INIT;
	struct err why = {0};
	int r = zarr_chunk_path(of->path, &of->array, number, &path);

	labels->values.len = 0;
	labels->chunk = 0;
	if (r < 0)
		return r;
	r = of->array.chunk[0] > CHUNK_MOST / of->array.width ? -EFBIG : 0;
	if (r == 0)
		r = zarr_read_file(labels->root, path.data, CHUNK_MOST, &packed, &why);
	if (r == 0)
		r = unpack(labels, &packed, &why);
	if (r < 0 && r != -ENOENT)
		return err_set(err, r, "%s: %s", path.data, err_text(&why, r));
	labels->chunk = number + 1;
	return 0;
}

static int64_t value_of(const struct zarr_array *array, const char *bytes)
{
	unsigned unused = 64 - 8 * array->width;
	uint64_t value = 0;

	for (unsigned i = 0; i < array->width; i++)
		value = value << 8 | (uint8_t)bytes[array->is_big ? i : array->width - 1 - i];
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): width is 1 to 8 */
	return array->is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

static int label_at(struct zarr_labels *labels, uint64_t i, int64_t *ret, struct err *err)
{
	const struct zarr_found *of = labels->images->labels;
	uint64_t number = i / of->array.chunk[0];
	size_t at = (size_t)(i % of->array.chunk[0]) * of->array.width;
	int r = labels->chunk == number + 1 ? 0 : read_chunk(labels, number, err);

	if (r < 0)
		return r;
	if (labels->values.len && at >= labels->values.len)
		return err_set(err, -EBADMSG, "%s: has no label %" PRIu64, of->path, i);
	*ret = labels->values.len ? value_of(&of->array, labels->values.data + at) : of->array.fill;
	return 0;
}

int zarr_label(struct zarr_labels *labels, uint64_t number, int64_t *ret, struct err *err)
{
	const struct zarr_found *images = labels->images;
	int r;

	*ret = FOREIGN_NO_LABEL;
	if (!images->labels)
		return 0;
	for (unsigned i = 1; i < images->array.rank; i++)
		number /= zarr_chunks_along(&images->array, i);
	r = label_at(labels, number, ret, err);
	if (r < 0 || *ret <= LABEL_MOST || labels->named)
		return r;
	return err_set(err, -EOPNOTSUPP,
		       "%s: the label %" PRId64
		       " has over four digits: name the classes "
		       "(--classes)",
		       images->labels->path, *ret);
}
