#include "pack/foreign/lmdb/records.h"
#include "base/math.h"
#include "pack/format.h"
#include <string.h>

#define AHEAD 512

struct record_kept {
	uint64_t offset, size;
	size_t key_len;
	uint8_t key[FORMAT_KEY_MAX];
};

struct records records_of(struct foreign_source *source, size_t head, size_t tail)
{
	return (struct records){.source = source, .head = head, .tail = tail};
}

void records_release(struct records *records)
{
	buf_release(&records->ring);
	buf_release(&records->key);
}

static int walk_one(struct records *records, struct walker_record *ret, struct err *err)
{
	struct walker *walker = records->source->walker;

	return records->walked ? walker_next(walker, ret, err) : walker_first(walker, ret, err);
}

static struct record_kept *kept_at(const struct records *records, uint64_t number)
{
	return BUF_ITEMS(&records->ring, struct record_kept) + number % AHEAD;
}

static int keep(struct records *records, const struct walker_record *record)
{
	struct record_kept *kept = kept_at(records, records->walked);
	uint64_t tail = min(record->size, records->tail);

	if (record->key_len > sizeof(kept->key))
		return err_set(&records->why, -EBADMSG, "a key of %zu bytes", record->key_len);
	kept->offset = record->offset;
	kept->size = record->size;
	kept->key_len = record->key_len;
	memcpy(kept->key, record->key, record->key_len);
	foreign_will_get(records->source, record->offset, (size_t)min(record->size, records->head));
	foreign_will_get(records->source, record->offset + record->size - tail, (size_t)tail);
	return 0;
}

static void walk_ahead(struct records *records)
{
	while (records->end == 0 && records->walked < records->taken + AHEAD) {
		struct walker_record record;

		records->end = walk_one(records, &record, &records->why);
		if (records->end == 0)
			records->end = keep(records, &record);
		records->walked += records->end == 0;
	}
}

static int take_kept(struct records *records, struct walker_record *ret)
{
	const struct record_kept *kept = kept_at(records, records->taken++);

	records->key.len = 0;
	if (buf_add(&records->key, kept->key, kept->key_len) < 0)
		return -ENOMEM;
	*ret = (struct walker_record){.key = (const uint8_t *)records->key.data,
				      .key_len = kept->key_len,
				      .offset = kept->offset,
				      .size = kept->size};
	return 0;
}

int records_next(struct records *records, struct walker_record *ret, struct err *err)
{
	int r;

	if (!records->source->window.far) {
		r = walk_one(records, ret, err);
		records->walked += r == 0;
		return r;
	}
	if (!records->ring.data && buf_reserve(&records->ring, AHEAD * sizeof(struct record_kept)))
		return -ENOMEM;
	walk_ahead(records);
	if (records->taken < records->walked)
		return take_kept(records, ret);
	return records->end < 0 ? err_set(err, records->end, "%s", records->why.text) : 1;
}
