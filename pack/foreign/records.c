#include "pack/foreign/records.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"

#define RECORDS_MOST 4096 /* at once */
#define HEAD	     16	  /* bytes that tell what a value is */

static int add_record(struct buf *out, const struct walker_record *record)
{
	size_t head = record->value ? (size_t)min(record->size, HEAD) : 0;
	uint8_t numbers[20];

	le_put16(numbers, (uint16_t)record->key_len);
	le_put16(numbers + 2, (uint16_t)head);
	le_put64(numbers + 4, record->offset);
	le_put64(numbers + 12, record->size);
	buf_add(out, numbers, sizeof(numbers));
	buf_add(out, record->key, record->key_len);
	return buf_add(out, record->value ? record->value : numbers, head);
}

int records_next(struct foreign_source *source, const char *key, uint64_t count, struct buf *out,
		 struct err *err)
{
	struct walker *walker = source->walker;
	struct walker_record record;
	int r;

	if (!key)
		r = walker_next(walker, &record, err);
	else if (*key)
		r = walker_seek(walker, key, strlen(key), &record, err);
	else
		r = walker_first(walker, &record, err);
	for (uint64_t i = 1; r == 0; i++) {
		r = add_record(out, &record);
		if (r < 0 || i >= min(count, RECORDS_MOST))
			break;
		r = walker_next(walker, &record, err);
	}
	return r < 0 ? foreign_check_named(source, r, err) : 0;
}

/* What of the value is read. */
static struct records_ends cut(const struct records_ends *ends, uint64_t size)
{
	uint64_t head = min(ends->head, size);

	return (struct records_ends){head, min(ends->tail, size - head)};
}

static int add_bytes(struct foreign_source *source, uint64_t offset, uint64_t len, struct buf *out,
		     struct err *err)
{
	const uint8_t *bytes;
	int r = foreign_get(source, offset, (size_t)len, &bytes, err);

	return r < 0 ? r : buf_add(out, bytes, (size_t)len);
}

int records_read(struct foreign_source *source, const struct records_ends *ends, uint64_t offset,
		 uint64_t size, struct buf *out, struct err *err)
{
	struct records_ends own = cut(ends, size);
	int r = add_bytes(source, offset, own.head, out, err);

	return r < 0 ? r : add_bytes(source, offset + size - own.tail, own.tail, out, err);
}

/* A disk reads the head of the next value with the tail of this one. */
void records_ask_for(struct foreign_source *source, const struct records_ends *ends,
		     uint64_t offset, uint64_t size)
{
	struct records_ends own = cut(ends, size);
	uint64_t tail = offset + size - own.tail;

	if (source->window.far) {
		foreign_will_get(source, offset, (size_t)own.head);
		foreign_will_get(source, tail, (size_t)own.tail);
	} else {
		foreign_will_get(source, tail, (size_t)(own.tail + ends->head));
	}
}
