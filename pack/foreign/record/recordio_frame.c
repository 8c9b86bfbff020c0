#include "pack/foreign/record/recordio_frame.h"
#include "base/le.h"
#include <inttypes.h>

#define MAGIC	    0xced7230au
#define HEAD	    8
#define LENGTH_MASK ((1u << 29) - 1)

int recordio_frame_probe(struct foreign_source *source)
{
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, HEAD, &head, &len);

	if (r < 0 || len < HEAD)
		return r;
	return le_get32(head) == MAGIC && le_get32(head + 4) >> 29 <= RECORDIO_FIRST;
}

static int check(const struct foreign_source *source, bool within,
		 const struct recordio_frame *frame, struct err *err)
{
	if (frame->length > source->size - frame->offset)
		return err_set(err, -EBADMSG,
			       "truncated: %" PRIu32 " bytes at byte %" PRIu64
			       " of a file of %" PRIu64,
			       frame->length, frame->offset, source->size);
	if (frame->part > RECORDIO_LAST || within != (frame->part >= RECORDIO_NEXT))
		return err_set(err, -EBADMSG, "part %u at byte %" PRIu64 " is out of order",
			       frame->part, frame->offset - HEAD);
	return 0;
}

int recordio_frame_next(struct foreign_source *source, bool within, struct recordio_frame *frame,
			struct err *err)
{
	struct recordio_frame next = {.offset = frame->end + HEAD};
	const uint8_t *head;
	uint32_t word;
	int r = foreign_get(source, frame->end, HEAD, &head, err);

	if (r < 0)
		return r;
	if (le_get32(head) != MAGIC)
		return err_set(err, -EBADMSG, "no magic number at byte %" PRIu64, frame->end);
	word = le_get32(head + 4);
	next.length = word & LENGTH_MASK;
	next.part = word >> 29;
	next.end = next.offset + (((uint64_t)next.length + 3) & ~UINT64_C(3));
	r = check(source, within, &next, err);
	if (r == 0)
		*frame = next;
	return r;
}
