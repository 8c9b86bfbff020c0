#include "pack/foreign/record/parquet_runs.h"
#include "pack/foreign/encoding/varint.h"

int parquet_runs_begin(struct parquet_runs *runs, struct buf *copy, const uint8_t *p, uint64_t len,
		       unsigned width)
{
	int r;

	copy->len = 0;
	r = buf_add(copy, p, len);
	*runs = (struct parquet_runs){.at = (const uint8_t *)copy->data,
				      .end = (const uint8_t *)copy->data + copy->len,
				      .width = width};
	return r;
}

static bool run_begin(struct parquet_runs *runs)
{
	unsigned bytes = (runs->width + 7) / 8;
	uint64_t head;
	int n = varint_get(runs->at, (size_t)(runs->end - runs->at), &head);

	if (n <= 0 || head > UINT32_MAX)
		return false;
	runs->at += n;
	runs->packed = head & 1;
	runs->left = runs->packed ? (head >> 1) * 8 : head >> 1;
	runs->bit = 0;
	if (runs->packed)
		return runs->left > 0;
	if (bytes > (size_t)(runs->end - runs->at) || runs->left == 0)
		return false;
	runs->value = 0;
	for (unsigned i = 0; i < bytes; i++)
		runs->value |= (uint32_t)*runs->at++ << 8 * i;
	return true;
}

static bool look_at_bits(const struct parquet_runs *runs, uint32_t *ret)
{
	unsigned bit = runs->bit;
	const uint8_t *at = runs->at;

	*ret = 0;
	for (unsigned i = 0; i < runs->width; i++) {
		if (at == runs->end)
			return false;
		*ret |= (uint32_t)(*at >> bit & 1) << i;
		bit = (bit + 1) % 8;
		at += bit == 0;
	}
	return true;
}

uint64_t parquet_runs_look(struct parquet_runs *runs, uint32_t *ret)
{
	*ret = 0;
	if (runs->width == 0)
		return UINT64_MAX;
	if (runs->left == 0 && !run_begin(runs))
		return 0;
	if (runs->packed)
		return look_at_bits(runs, ret);
	*ret = runs->value;
	return runs->left;
}

void parquet_runs_pass(struct parquet_runs *runs, uint64_t count)
{
	if (runs->width == 0)
		return;
	runs->left -= count;
	if (!runs->packed)
		return;
	runs->at += (runs->bit + runs->width * count) / 8;
	runs->bit = (runs->bit + runs->width * (unsigned)count) % 8;
}
