#include "pack/foreign/encoding/arrow_batch.h"
#include "base/le.h"
#include "pack/foreign/encoding/flatbuffer.h"

#define METADATA_MOST (64u << 10) /* bytes: twenty times what is usual */
#define DEPTH	      8u	  /* of columns in columns */
#define VERSION_4     3u	  /* as it is stored: Arrow 0.8 */
#define VERSION_5     4u

static int cut_off(struct err *err)
{
	return err_set(err, -EBADMSG, "Arrow that is cut off");
}

static int wrong(struct err *err)
{
	return err_set(err, -EBADMSG, "Arrow with an offset that leads outside");
}

/* --- messages --------------------------------------------------------------------------------- */

/* Before 0.15 a message began with the size of its metadata; since then with 0xffffffff, and then
 * it. A size of 0 ends the stream. */
static int take_size(struct foreign_source *source, uint64_t *at, uint64_t end, uint32_t *ret,
		     struct err *err)
{
	const uint8_t *bytes;
	int r = 0;

	*ret = UINT32_MAX;
	for (unsigned i = 0; r == 0 && i < 2 && *ret == UINT32_MAX; i++) {
		if (end - *at < 4)
			return cut_off(err);
		r = foreign_get(source, *at, 4, &bytes, err);
		if (r < 0)
			return r;
		*ret = le_get32(bytes);
		*at += 4;
	}
	return 0;
}

static int read_message(struct flatbuffer *buffer, struct arrow_message *message, struct err *err)
{
	size_t root = flatbuffer_follow(buffer, 0);

	message->version = (unsigned)flatbuffer_get(buffer, root, 0, 2, 0);
	message->kind = (enum arrow_kind)flatbuffer_get(buffer, root, 1, 1, ARROW_END);
	message->header = flatbuffer_table(buffer, root, 2);
	message->body_size = flatbuffer_get(buffer, root, 3, 8, 0);
	if (buffer->bad || message->header == 0)
		return wrong(err);
	if (message->version != VERSION_4 && message->version != VERSION_5)
		return err_set(err, -EOPNOTSUPP, "Arrow with metadata of version %u",
			       message->version + 1);
	return 0;
}

int arrow_message(struct foreign_source *source, uint64_t *at, uint64_t end,
		  struct arrow_message *ret, struct err *err)
{
	struct flatbuffer buffer = {0};
	uint32_t size;
	int r = take_size(source, at, end, &size, err);

	*ret = (struct arrow_message){0};
	if (r < 0 || size == 0)
		return r;
	if (size > METADATA_MOST || size > end - *at)
		return cut_off(err);
	r = foreign_get(source, *at, size, &buffer.data, err);
	if (r < 0)
		return r;
	*at += size;
	buffer.len = ret->len = size;
	ret->metadata = buffer.data;
	r = read_message(&buffer, ret, err);
	if (r < 0)
		return r;
	if (ret->body_size > end - *at)
		return cut_off(err);
	ret->body = *at;
	*at += ret->body_size;
	return 0;
}

/* --- the schema ------------------------------------------------------------------------------- */

static int read_type(struct flatbuffer *buffer, size_t field, struct arrow_column *column,
		     struct err *err)
{
	size_t type = flatbuffer_table(buffer, field, 3);

	column->type = (enum arrow_type)flatbuffer_get(buffer, field, 2, 1, 0);
	if (type == 0)
		return wrong(err);
	if (column->type == ARROW_INT)
		column->bits = (unsigned)flatbuffer_get(buffer, type, 0, 4, 0);
	if (column->type == ARROW_UNION && flatbuffer_get(buffer, type, 0, 2, 0) != 1)
		return err_set(err, -EOPNOTSUPP, "Arrow with a sparse union");
	return 0;
}

/* A field, and those below it; depth bounds how far down. */
static int read_field(struct flatbuffer *buffer, size_t field, unsigned depth,
		      struct arrow_batch *batch, unsigned *ret, struct err *err)
{
	struct arrow_column *column = &batch->column[batch->columns];
	uint32_t count;
	size_t children = flatbuffer_vector(buffer, field, 5, 4, &count);
	int r;

	if (batch->columns == ARROW_COLUMNS || depth == DEPTH || count > ARROW_CHILDREN)
		return err_set(err, -EOPNOTSUPP, "Arrow with too many columns");
	*ret = batch->columns++;
	column->children = count;
	r = read_type(buffer, field, column, err);
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = read_field(buffer, flatbuffer_follow(buffer, children + 4 * i), depth + 1,
			       batch, &column->child[i], err);
	return r;
}

int arrow_schema(const struct arrow_message *message, struct arrow_batch *ret, struct err *err)
{
	struct flatbuffer buffer = {.data = message->metadata, .len = message->len};
	uint32_t count;
	unsigned column;
	size_t fields;
	int r;

	if (message->kind != ARROW_SCHEMA)
		return err_set(err, -EBADMSG, "Arrow without a schema");
	fields = flatbuffer_vector(&buffer, message->header, 1, 4, &count);
	if (count != 1)
		return err_set(err, -EOPNOTSUPP, "Arrow with %u columns", count);
	r = read_field(&buffer, flatbuffer_follow(&buffer, fields), 0, ret, &column, err);
	return r == 0 && buffer.bad ? wrong(err) : r;
}

/* --- the record batch ------------------------------------------------------------------------- */

/* How many buffers a column has; 0xff: it is of a type that no image or label has. */
static unsigned buffers_of(enum arrow_type type, unsigned of_union, unsigned of_null)
{
	switch (type) {
	case ARROW_NULL:
		return of_null;
	case ARROW_INT:
	case ARROW_FLOAT:
	case ARROW_BOOL:
	case ARROW_DATE:
	case ARROW_LIST:
		return 2;
	case ARROW_BINARY:
	case ARROW_TEXT:
		return 3;
	case ARROW_STRUCT:
		return 1;
	case ARROW_UNION:
		return of_union;
	default:
		return ARROW_BUFFERS + 1;
	}
}

/* Numbers the buffers. Whether there are as many as the batch has. */
static bool number_buffers(struct arrow_batch *batch, unsigned of_union, unsigned of_null)
{
	unsigned buffers = 0;

	for (unsigned i = 0; i < batch->columns; i++) {
		batch->column[i].first_buffer = buffers;
		buffers += buffers_of(batch->column[i].type, of_union, of_null);
	}
	return buffers == batch->buffers;
}

/* Before 0.15 a column of nulls had a buffer; before 1.0 a union had a validity buffer. */
static int place_columns(struct arrow_batch *batch, struct err *err)
{
	unsigned of_union = batch->version >= VERSION_5 ? 2 : 3;

	if (number_buffers(batch, of_union, 0) || number_buffers(batch, of_union, 1))
		return 0;
	return err_set(err, -EOPNOTSUPP, "Arrow with %u buffers for %u columns", batch->buffers,
		       batch->columns);
}

int arrow_records(const struct arrow_message *message, struct arrow_batch *ret, struct err *err)
{
	struct flatbuffer buffer = {.data = message->metadata, .len = message->len};
	uint32_t count;
	size_t places;

	if (message->kind != ARROW_RECORDS)
		return err_set(err, -EBADMSG, "Arrow without a record batch");
	if (flatbuffer_field(&buffer, message->header, 3) > 0)
		return err_set(err, -EOPNOTSUPP, "compressed Arrow");
	places = flatbuffer_vector(&buffer, message->header, 2, 16, &count);
	if (count > ARROW_BUFFERS)
		return err_set(err, -EOPNOTSUPP, "Arrow with too many buffers");
	ret->version = message->version;
	ret->rows = flatbuffer_get(&buffer, message->header, 0, 8, 0);
	ret->buffers = count;
	for (unsigned i = 0; i < count; i++) {
		uint64_t offset = flatbuffer_number(&buffer, places + 16 * i, 8);
		uint64_t size = flatbuffer_number(&buffer, places + 16 * i + 8, 8);

		if (offset > message->body_size || size > message->body_size - offset)
			return wrong(err);
		ret->buffer[i] = (struct arrow_place){message->body + offset, size};
	}
	return buffer.bad ? wrong(err) : place_columns(ret, err);
}
