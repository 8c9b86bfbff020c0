/* What an LMDB has of an index: the superblock, then the sections, which follow it. */
#include "pack/index.h"
#include <errno.h>
#include <stdlib.h>

int index_find_super(struct walker *walker, struct walker_record *ret, struct err *err)
{
	struct walker_record record;
	struct format_key key;
	int r;

	format_key_super(&key);
	r = walker_seek(walker, key.data, key.len, &record, err);
	if (r < 0 && !walker_info(walker)->named)
		return r;
	if (r != 0 || format_key_classify(record.key, record.key_len) != KEY_SUPER)
		return err_set(err, -ENOMSG, "an LMDB file, but not a foldfs pack");
	*ret = record;
	return 0;
}

static int take_super(struct reader *reader, uint64_t offset, struct format_super *ret,
		      struct err *err)
{
	uint8_t data[FORMAT_SUPER_BYTES];
	int r = reader_get_full(reader_origin(reader), data, sizeof(data), offset);

	if (r < 0)
		return r;
	r = format_super_decode(data, sizeof(data), ret, err);
	if (r == 0)
		r = index_check_shape(ret, err);
	/* Its checksums cover all sections, and those of the sections all files. */
	if (r == 0)
		reader_known(reader, data, sizeof(data));
	return r;
}

int index_read_super(struct reader *reader, struct walker *walker, struct format_super *ret,
		     struct err *err)
{
	struct walker_record record;
	int r = index_find_super(walker, &record, err);

	if (r < 0)
		return r;
	if (record.size != FORMAT_SUPER_BYTES)
		return err_set(err, -EBADMSG, "damaged superblock: %llu bytes",
			       (unsigned long long)record.size);
	return take_super(reader, record.offset, ret, err);
}

/* After the meta pages, the first page of the tree and a page header. */
int index_guess_super(struct reader *reader, uint32_t page_size, struct format_super *ret,
		      struct err *err)
{
	return take_super(reader, 3 * (uint64_t)page_size + 16, ret, err);
}

int index_find_sections(struct walker *walker, struct format_super *super, bool *ret_moved,
			struct err *err)
{
	bool found[SECTION_COUNT] = {false}, moved = false;
	struct walker_record record;
	int r;

	while ((r = walker_next(walker, &record, err)) == 0 &&
	       format_key_classify(record.key, record.key_len) == KEY_SECTION) {
		enum format_section section = format_key_to_section(record.key, record.key_len);
		struct format_section_ref *ref = &super->sections[section];

		if (section == SECTION_COUNT)
			continue; /* of a later version, and not needed */
		found[section] = record.size == ref->bytes;
		moved |= ref->offset != record.offset;
		ref->offset = record.offset;
	}
	for (unsigned i = 0; r >= 0 && i < SECTION_COUNT; i++)
		if (!found[i])
			return err_set(err, -EBADMSG, "damaged index: section %s is missing or cut",
				       format_section_name((enum format_section)i));
	if (r < 0)
		return r;
	*ret_moved = moved;
	return 0;
}

int index_load_section(struct reader *reader, const struct format_super *super,
		       enum format_section section, struct index_section *ret, struct err *err)
{
	const struct format_section_ref *ref = &super->sections[section];
	struct index_section loaded;
	int r = index_section_alloc(&loaded, ref->width ? ref->count : ref->bytes, ref->width);

	if (r < 0)
		return r;
	r = reader_get_full(reader, loaded.data, loaded.bytes, ref->offset);
	if (r == -ENODATA)
		r = err_set(err, -EBADMSG, "truncated: section %s lies beyond the end",
			    format_section_name(section));
	if (r < 0) {
		free(loaded.data);
		return r;
	}
	*ret = loaded;
	return 0;
}
