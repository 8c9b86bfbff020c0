#include "pack/foreign/lmdb/sample.h"
#include "base/le.h"
#include "pack/image_kind.h"
#include <string.h>

static int is_more(struct err *err)
{
	return err_set(err, -EOPNOTSUPP, "more than an image and its label");
}

int sample_add_bytes(struct sample *sample, uint64_t offset, uint64_t size, struct err *err)
{
	if (sample->bytes)
		return is_more(err);
	sample->bytes = true;
	sample->offset = offset;
	sample->size = size;
	return 0;
}

int sample_add_array(struct sample *sample, uint64_t offset, uint64_t size, unsigned dimensions,
		     const uint64_t *shape, struct err *err)
{
	uint64_t elements = 1;

	if (dimensions < 1 || dimensions > SAMPLE_SHAPE)
		return err_set(err, -EOPNOTSUPP, "an array of %u dimensions", dimensions);
	for (unsigned i = 0; i < dimensions; i++) {
		sample->shape[i] = shape[i];
		if (__builtin_mul_overflow(elements, shape[i], &elements))
			elements = UINT64_MAX;
	}
	if (elements != size)
		return err_set(err, -EBADMSG, "an array that has not as many bytes as it says");
	sample->dimensions = dimensions;
	return sample_add_bytes(sample, offset, size, err);
}

int sample_add_text(struct sample *sample, struct foreign_text text, struct err *err)
{
	bool path = memchr(text.data, '.', text.len) && image_is_named(text.data, text.len);
	struct foreign_text *place = path ? &sample->path : &sample->class;
	uint64_t number;

	if (!path && text.len && foreign_text_number(text, &number) == text.len &&
	    number <= INT64_MAX)
		return sample_add_number(sample, (int64_t)number, err);
	if (place->data || (!path && sample->label != FOREIGN_NO_LABEL))
		return is_more(err);
	*place = text;
	return 0;
}

int sample_add_number(struct sample *sample, int64_t number, struct err *err)
{
	if (!sample->bytes)
		return err_set(err, -EOPNOTSUPP, "a number, where an image is expected");
	if (sample->label != FOREIGN_NO_LABEL || sample->class.data)
		return is_more(err);
	sample->label = number;
	return 0;
}

int sample_add_other(const char *kind, struct err *err)
{
	return err_set(err, -EOPNOTSUPP, "%s, where an image and its label are expected", kind);
}

bool sample_pixels(const struct sample *sample, struct foreign_pixels *ret)
{
	const uint64_t *shape = sample->shape;
	bool color = sample->dimensions == 3 && shape[2] == 3;

	if (sample->dimensions != 2 && !color && !(sample->dimensions == 3 && shape[2] == 1))
		return false;
	if (shape[0] < 1 || shape[0] > UINT16_MAX || shape[1] < 1 || shape[1] > UINT16_MAX)
		return false;
	*ret = (struct foreign_pixels){.width = (uint32_t)shape[1],
				       .height = (uint32_t)shape[0],
				       .layout = color ? FOREIGN_BGR : FOREIGN_GRAY};
	return true;
}

/* --- encodings -------------------------------------------------------------------------------- */

/* Counts of what follows the stream of Arrow: at most one array. Then its first message. */
static bool is_arrow(const uint8_t *head)
{
	for (unsigned i = 0; i < 8; i += 4)
		if (le_get32(head + i) > 1)
			return false;
	return le_get32(head + 8) > 1 || le_get32(head + 12) <= 1;
}

enum sample_encoding sample_encoding(const uint8_t *head, size_t len)
{
	if (len >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
		return SAMPLE_PICKLE;
	/* Protocols 0 and 1: a tuple that begins with bytes, a dict or a list. */
	if (len >= 2 && head[0] == '(' && memchr("cSTUdl", head[1], 6))
		return SAMPLE_PICKLE;
	if (len >= 1 && (head[0] == 0x91 || head[0] == 0x92))
		return SAMPLE_MSGPACK;
	return len >= 16 && is_arrow(head) ? SAMPLE_ARROW : SAMPLE_UNKNOWN;
}

int sample_read(struct pickle *pickle, struct foreign_source *source, uint64_t offset, uint64_t len,
		struct sample *ret, struct err *err)
{
	struct sample sample = {.label = FOREIGN_NO_LABEL};
	const uint8_t *head;
	size_t n;
	int r = foreign_peek(source, offset, len < 16 ? (size_t)len : 16, &head, &n);

	if (r < 0)
		return r;
	switch (sample_encoding(head, n)) {
	case SAMPLE_PICKLE:
		r = sample_from_pickle(pickle, source, offset, len, &sample, err);
		break;
	case SAMPLE_ARROW:
		r = arrow_read(source, offset, len, &sample, err);
		break;
	case SAMPLE_MSGPACK:
		r = msgpack_read(source, offset, len, &sample, err);
		break;
	default:
		return err_set(err, -EOPNOTSUPP, "neither a pickle, nor Arrow, nor msgpack");
	}
	if (r == 0 && !sample.bytes)
		r = err_set(err, -EOPNOTSUPP, "no image");
	if (r == 0)
		*ret = sample;
	return r;
}
