#include "base/le.h"
#include "base/math.h"
#include "pack/foreign/encoding/arrow_batch.h"
#include "pack/foreign/encoding/flatbuffer.h"
#include "pack/foreign/encoding/numpy_integer.h"
#include "pack/foreign/lmdb/sample.h"

/* What pyarrow.serialize(value) makes:
 *
 *	4 counts, int32       of what comes last; from 0.15 on tensors, sparse tensors, ndarrays,
 *			      buffers; in 0.12 to 0.14 tensors, ndarrays, buffers, 0; in 0.8 to
 *			      0.11 only two, tensors (these are the ndarrays) and buffers
 *	a stream of Arrow     a schema, a record batch, an end
 *	from a multiple of 64 a tensor of Arrow for each ndarray
 *
 * The record batch has one column, the list [value]. It is a union of all types of values: of
 * numbers, of binaries, of int32 numbers of ndarrays, and, for tuples and lists, of lists of such a
 * union. These were once within a struct. A value is found by its type and its place among those of
 * that type. */
#define DEPTH 8u /* of values in values */
#define ITEMS 2u /* of a sequence: an image and a label */

struct reading {
	struct foreign_source *source;
	uint64_t start, end; /* of the value, in the file */
	unsigned arrays;
	struct arrow_batch batch;
	uint64_t after; /* the end of the stream */
	struct sample *sample;
};

/* --- arrays ----------------------------------------------------------------------------------- */

/* Rows one after the other, as C has them. */
static bool is_contiguous(struct flatbuffer *buffer, size_t table, const uint64_t *shape,
			  unsigned dimensions)
{
	uint32_t count;
	size_t strides = flatbuffer_vector(buffer, table, 3, 8, &count);
	uint64_t expected = 1;

	if (count != 0 && count != dimensions)
		return false;
	for (unsigned i = count; i > 0; i--) {
		if (flatbuffer_number(buffer, strides + 8 * (i - 1), 8) != expected)
			return false;
		expected *= shape[i - 1];
	}
	return true;
}

/* An array of one element may be a label. */
static int read_element(struct reading *reading, uint64_t offset, uint64_t size, bool is_signed,
			struct err *err)
{
	const char type[] = {is_signed ? 'i' : 'u', (char)('0' + size), '\0'};
	const uint8_t *bytes;
	int64_t number;
	int r = foreign_get(reading->source, offset, size, &bytes, err);

	if (r < 0)
		return r;
	if (!numpy_integer(type, bytes, size, &number))
		return sample_add_other("a number of more than 63 bits", err);
	return sample_add_number(reading->sample, number, err);
}

static int read_tensor(struct reading *reading, const struct arrow_message *message,
		       struct err *err)
{
	struct flatbuffer buffer = {.data = message->metadata, .len = message->len};
	size_t table = message->header, type = flatbuffer_table(&buffer, table, 1);
	bool is_int = flatbuffer_get(&buffer, table, 0, 1, 0) == ARROW_INT;
	uint64_t width = is_int ? flatbuffer_get(&buffer, type, 0, 4, 0) / 8 : 0;
	bool is_signed = is_int && flatbuffer_get(&buffer, type, 1, 1, 0);
	uint64_t shape[SAMPLE_SHAPE] = {0}, most = 1;
	uint32_t count;
	size_t dimensions = flatbuffer_vector(&buffer, table, 2, 4, &count);
	size_t data = flatbuffer_field(&buffer, table, 4);
	uint64_t offset = flatbuffer_number(&buffer, data, 8);
	uint64_t size = flatbuffer_number(&buffer, data + 8, 8);

	for (unsigned i = 0; i < count && i < SAMPLE_SHAPE; i++) {
		shape[i] = flatbuffer_get(&buffer, flatbuffer_follow(&buffer, dimensions + 4 * i),
					  0, 8, 0);
		most = max(most, shape[i]);
	}
	if (buffer.bad || data == 0 || offset > message->body_size ||
	    size > message->body_size - offset)
		return err_set(err, -EBADMSG, "Arrow with an offset that leads outside");
	if (most == 1 && width > 0 && width <= 8 && size == width)
		return read_element(reading, message->body + offset, size, is_signed, err);
	if (width != 1)
		return sample_add_other("an array of another type than uint8", err);
	if (count > SAMPLE_SHAPE || !is_contiguous(&buffer, table, shape, count))
		return sample_add_other("an array of another shape", err);
	return sample_add_array(reading->sample, message->body + offset, size, count, shape, err);
}

/* Bytes up to the next multiple of 64 in the value. */
static uint64_t padding(const struct reading *reading, uint64_t at)
{
	return -(at - reading->start) % 64;
}

/* 0.8 and 0.9 do not align what comes after the metadata, and end with it. 0.10 aligns it, but does
 * not count the bytes in between. Later ones count them. */
static int find_body(const struct reading *reading, struct arrow_message *message, struct err *err)
{
	uint64_t left = reading->end - message->body - message->body_size;

	if (left == 0)
		return 0;
	if (left < padding(reading, message->body))
		return err_set(err, -EBADMSG, "Arrow that is cut off");
	message->body += padding(reading, message->body);
	return 0;
}

static int read_array(struct reading *reading, uint64_t number, struct err *err)
{
	uint64_t at = reading->after + padding(reading, reading->after);
	struct arrow_message message;
	int r;

	if (number >= reading->arrays || at > reading->end)
		return err_set(err, -EBADMSG, "Arrow without the array that it names");
	r = arrow_message(reading->source, &at, reading->end, &message, err);
	if (r < 0)
		return r;
	if (message.kind != ARROW_TENSOR)
		return sample_add_other("another tensor", err);
	r = find_body(reading, &message, err);
	return r < 0 ? r : read_tensor(reading, &message, err);
}

/* --- values ----------------------------------------------------------------------------------- */

/* The number i of buffer n of a column. */
static int number_at(struct reading *reading, const struct arrow_column *column, unsigned n,
		     uint64_t i, unsigned width, uint64_t *ret, struct err *err)
{
	const struct arrow_place *place = &reading->batch.buffer[column->first_buffer + n];
	const uint8_t *bytes;
	int r;

	if (i >= place->size / width)
		return err_set(err, -EBADMSG, "Arrow with a buffer that is cut off");
	r = foreign_get(reading->source, place->offset + i * width, width, &bytes, err);
	if (r < 0)
		return r;
	*ret = 0;
	memcpy(ret, bytes, width);
	*ret = le64toh(*ret);
	return 0;
}

/* Where item i of a column of offsets begins and ends. */
static int range_at(struct reading *reading, const struct arrow_column *column, uint64_t i,
		    uint64_t *ret_start, uint64_t *ret_end, struct err *err)
{
	int r = number_at(reading, column, 1, i, 4, ret_start, err);

	if (r == 0)
		r = number_at(reading, column, 1, i + 1, 4, ret_end, err);
	if (r == 0 && *ret_start > *ret_end)
		r = err_set(err, -EBADMSG, "Arrow with offsets that go back");
	return r;
}

static int read_binary(struct reading *reading, const struct arrow_column *column, uint64_t i,
		       struct err *err)
{
	const struct arrow_place *data = &reading->batch.buffer[column->first_buffer + 2];
	uint64_t start, end;
	int r = range_at(reading, column, i, &start, &end, err);

	if (r == 0 && end > data->size)
		r = err_set(err, -EBADMSG, "Arrow with a buffer that is cut off");
	if (r)
		return r;
	return sample_add_bytes(reading->sample, data->offset + start, end - start, err);
}

static int read_int(struct reading *reading, const struct arrow_column *column, uint64_t i,
		    struct err *err)
{
	uint64_t number;
	int r;

	if (column->bits != 64 && column->bits != 32)
		return sample_add_other("another number", err);
	r = number_at(reading, column, 1, i, column->bits / 8, &number, err);
	if (r)
		return r;
	if (column->bits == 32)
		return read_array(reading, number, err);
	return sample_add_number(reading->sample, (int64_t)number, err);
}

/* The child that has value i of a union, and which value of that child it is. A type is the number
 * of a child: before 0.13 the ids of the schema were in another order than the children, and
 * pyarrow.deserialize() never looked at them. */
static int choose(struct reading *reading, const struct arrow_column *column, uint64_t i,
		  const struct arrow_column **ret_child, uint64_t *ret_i, struct err *err)
{
	unsigned types = reading->batch.version >= 4 ? 0 : 1;
	uint64_t id;
	int r = number_at(reading, column, types, i, 1, &id, err);

	if (r == 0)
		r = number_at(reading, column, types + 1, i, 4, ret_i, err);
	if (r < 0)
		return r;
	if (id >= column->children)
		return err_set(err, -EBADMSG, "Arrow with a value of the unknown type %u",
			       (unsigned)id);
	*ret_child = &reading->batch.column[column->child[id]];
	return 0;
}

static int read_value(struct reading *reading, const struct arrow_column *column, uint64_t i,
		      unsigned depth, struct err *err);

static int read_items(struct reading *reading, const struct arrow_column *column, uint64_t i,
		      unsigned depth, struct err *err)
{
	const struct arrow_column *items = &reading->batch.column[column->child[0]];
	uint64_t start, end;
	int r = range_at(reading, column, i, &start, &end, err);

	if (r == 0 && end - start > ITEMS)
		r = err_set(err, -EOPNOTSUPP, "more than an image and its label");
	if (r)
		return r;
	for (i = start; r == 0 && i < end; i++)
		r = read_value(reading, items, i, depth + 1, err);
	return r;
}

static int read_value(struct reading *reading, const struct arrow_column *column, uint64_t i,
		      unsigned depth, struct err *err)
{
	int r;

	if (depth == DEPTH)
		return sample_add_other("a list in a list", err);
	switch (column->type) {
	case ARROW_BINARY:
		return read_binary(reading, column, i, err);
	case ARROW_INT:
		return read_int(reading, column, i, err);
	case ARROW_UNION:
		r = choose(reading, column, i, &column, &i, err);
		return r < 0 ? r : read_value(reading, column, i, depth + 1, err);
	case ARROW_STRUCT:
		if (column->children != 1)
			return sample_add_other("a dict", err);
		return read_value(reading, &reading->batch.column[column->child[0]], i, depth + 1,
				  err);
	case ARROW_LIST:
		if (column->children != 1)
			return err_set(err, -EBADMSG, "Arrow with a list of nothing");
		return read_items(reading, column, i, depth, err);
	default:
		return sample_add_other("text, a float, a bool or None", err);
	}
}

/* --- the whole -------------------------------------------------------------------------------- */

static int read_counts(struct reading *reading, uint64_t *ret_stream, struct err *err)
{
	const uint8_t *head;
	uint32_t counts[4];
	int r;

	if (reading->end - reading->start < 16)
		return err_set(err, -EBADMSG, "Arrow that is cut off");
	r = foreign_get(reading->source, reading->start, 16, &head, err);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < 4; i++)
		counts[i] = le_get32(head + 4 * i);
	*ret_stream = reading->start + 16;
	if (counts[2] > 1) {
		*ret_stream = reading->start + 8;
		counts[3] = counts[1];
		counts[1] = counts[0];
		counts[0] = counts[2] = 0;
	}
	if (counts[0] || counts[3] || counts[1] + counts[2] > 1)
		return sample_add_other("tensors or buffers", err);
	reading->arrays = counts[1] + counts[2];
	return 0;
}

static int read_stream(struct reading *reading, uint64_t at, struct err *err)
{
	struct arrow_message message;
	int r = arrow_message(reading->source, &at, reading->end, &message, err);

	if (r == 0)
		r = arrow_schema(&message, &reading->batch, err);
	if (r == 0)
		r = arrow_message(reading->source, &at, reading->end, &message, err);
	if (r == 0)
		r = arrow_records(&message, &reading->batch, err);
	if (r == 0)
		r = arrow_message(reading->source, &at, reading->end, &message, err);
	if (r == 0 && (message.kind != ARROW_END || reading->batch.rows != 1))
		r = sample_add_other("more than one value", err);
	reading->after = at;
	return r;
}

int arrow_read(struct foreign_source *source, uint64_t offset, uint64_t len, struct sample *ret,
	       struct err *err)
{
	struct reading reading = {
		.source = source, .start = offset, .end = offset + len, .sample = ret};
	uint64_t stream = 0;
	int r;

	if (offset > source->size || len > source->size - offset)
		return err_set(err, -EBADMSG, "Arrow that is cut off");
	r = read_counts(&reading, &stream, err);
	if (r == 0)
		r = read_stream(&reading, stream, err);
	return r < 0 ? r : read_value(&reading, &reading.batch.column[0], 0, 0, err);
}
