#include "pack/foreign/index_whole.h"
#include "base/math.h"
#include "pack/index.h"
#include "pack/xxh3.h"
#include <string.h>

static bool section_is_right(const struct index_whole *whole, const struct format_section_ref *ref)
{
	const struct buf *bytes = &whole->bytes;

	return ref->offset <= bytes->len && ref->bytes <= bytes->len - ref->offset &&
	       XXH3_64bits(bytes->data + ref->offset, ref->bytes) == ref->checksum;
}

/* The superblock says how long the file is: what is something else may be of any length. */
static int read_super(struct reader *reader, struct format_super *ret)
{
	uint8_t data[FORMAT_SUPER_BYTES];
	struct reader_identity identity;
	uint64_t end = 0;
	int r = reader_get_full(reader, data, sizeof(data), 0);

	if (r == 0)
		r = format_super_decode(data, sizeof(data), ret, NULL);
	if (r == 0)
		r = index_check_shape(ret, NULL);
	if (r == 0)
		r = reader_identity(reader, &identity);
	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++)
		end = max(end, ret->sections[i].offset + ret->sections[i].bytes);
	return r == -ENODATA || (r == 0 && identity.size != end) ? -EBADMSG : r;
}

int index_whole_read(struct reader *reader, uint64_t most, struct index_whole *ret)
{
	int r = read_super(reader, &ret->super);

	if (r == 0)
		r = reader_get_all(reader, most, &ret->bytes);
	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++)
		if (!section_is_right(ret, &ret->super.sections[i]))
			r = -EBADMSG;
	return r;
}

void index_whole_release(struct index_whole *whole)
{
	buf_release(&whole->bytes);
}

char *index_whole_section(struct index_whole *whole, enum format_section section)
{
	return whole->bytes.data + whole->super.sections[section].offset;
}

void index_whole_changed(struct index_whole *whole, enum format_section section)
{
	struct format_section_ref *ref = &whole->super.sections[section];

	ref->checksum = XXH3_64bits(index_whole_section(whole, section), ref->bytes);
}

int index_whole_options(struct index_whole *whole, struct buf *ret)
{
	buf_add(ret, index_whole_section(whole, SECTION_OPTIONS),
		whole->super.sections[SECTION_OPTIONS].bytes);
	return buf_add(ret, "", 1);
}

int index_whole_put_options(struct index_whole *whole, const struct buf *options)
{
	struct format_section_ref *ref = &whole->super.sections[SECTION_OPTIONS];
	int r;

	/* They are the last section. */
	if (ref->offset + ref->bytes == whole->bytes.len)
		whole->bytes.len = ref->offset;
	ref->offset = whole->bytes.len;
	ref->bytes = options->len;
	r = buf_add(&whole->bytes, options->data, options->len);
	if (r == 0)
		index_whole_changed(whole, SECTION_OPTIONS);
	return r;
}

void index_make_id(struct format_super *super)
{
	XXH128_canonical_t made;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		XXH3_128bits_update(&state, &super->sections[i].checksum, sizeof(uint64_t));
	XXH128_canonicalFromHash(&made, XXH3_128bits_digest(&state));
	memcpy(super->id, made.digest, FORMAT_ID_BYTES);
}

void index_whole_seal(struct index_whole *whole)
{
	index_make_id(&whole->super);
	format_super_encode(&whole->super, (uint8_t *)whole->bytes.data);
}
