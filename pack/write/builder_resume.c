/* What the journal knows of each file: recorded when it is stored, read when the pack is resumed.
 */
#include "base/scope.h"
#include "pack/write/builder_internal.h"

/* --- recording -------------------------------------------------------------------------------- */

int builder_mark(struct builder *builder, uint64_t fingerprint, const char *note, size_t note_len)
{
	builder->fingerprint = fingerprint;
	builder->note.len = 0;
	return note_len ? buf_add(&builder->note, note,
				  note_len < UINT16_MAX ? note_len : UINT16_MAX)
			: 0;
}

void builder_record(struct builder *builder, enum journal_kind kind, uint64_t size, uint64_t first)
{
	struct journal_record part = {
		.kind = kind,
		.fingerprint = builder->fingerprint,
		.size = size,
		.checksums = builder_checksums(builder) + first,
		.checksum_count = (uint32_t)(builder_checksum_count(builder) - first),
	};

	journal_add(builder->journal, &part);
}

/* The records of parts have the checksums of parts; the record of its holder has those of an alias.
 */
void builder_record_file(struct builder *builder, uint32_t id)
{
	const struct builder_node *node = builder_node(builder, id);
	struct journal_record file = {
		.kind = node->state != NODE_DONE     ? JOURNAL_DROPPED
			: node->kind == FORMAT_ALIAS ? JOURNAL_ALIAS
			: node->kind == FORMAT_BASE  ? JOURNAL_BASE
						     : JOURNAL_STORED,
		.fingerprint = builder->fingerprint,
		.size = node->kind == FORMAT_ALIAS  ? node->start
			: node->kind == FORMAT_BASE ? builder_based(builder, node)
						    : node->size,
		.image.kind = (enum format_image)node->image,
		.image.width = node->width,
		.image.height = node->height,
		.note = builder->note.data,
		.note_len = (uint16_t)builder->note.len,
	};

	if (file.kind == JOURNAL_STORED && node->kind != FORMAT_SPLIT) {
		file.checksums = builder_file_checksums(builder, node);
		file.checksum_count = (uint32_t)format_extents(node->size);
	}
	journal_add(builder->journal, &file);
	builder->now.files++;
	builder->now.bytes += node->state == NODE_DONE ? node->size : 0;
	builder->fingerprint = 0;
	builder->note.len = 0;
}

/* --- resuming -------------------------------------------------------------------------------- */

/* Entries that came into the source since, also directories and links, shift the ids. No record of
 * the journal shows that, so the stored record decides, which names the file with the bytes. */
static int take_alias(struct builder *builder, uint32_t id, uint64_t to)
{
	SCOPE(buf_release) struct buf value = BUF_INIT;
	struct format_key key;
	const void *stored;
	uint64_t len;
	int r;

	if (to >= builder_count(builder) || !builder_is_stored(builder, (uint32_t)to))
		return -ESTALE;
	builder_make_alias(builder, id, (uint32_t)to);
	r = builder_make_reference(builder, id, &key, &value);
	if (r == 0)
		r = store_get(builder->store, key.data, key.len, &stored, &len);
	if (r < 0)
		return r;
	return len == value.len && memcmp(stored, value.data, len) == 0 ? 0 : -ESTALE;
}

static int take_past_file(struct builder *builder, uint32_t id, const struct journal_record *record,
			  uint64_t first)
{
	struct builder_node *node = builder_node(builder, id);

	if (record->kind == JOURNAL_ALIAS)
		return take_alias(builder, id, record->size);
	if (record->kind == JOURNAL_BASE)
		return record->size <= UINT32_MAX
			       ? builder_make_based(builder, id, (uint32_t)record->size)
			       : -EBADMSG;
	if (record->kind == JOURNAL_DROPPED) {
		builder_set_dropped(node);
		return 0;
	}
	if (builder_checksum_count(builder) - first != format_extents(record->size))
		return -EBADMSG;
	builder_set_stored(builder, node, first, record->size);
	node->image = record->image.kind & 15;
	node->width = record->image.width;
	node->height = record->image.height;
	return 0;
}

/* Reads records up to the one that says what became of the file. The records of its parts come
 * first. */
static int replay(struct builder *builder, uint64_t fingerprint, struct journal_record *record)
{
	uint64_t first = builder_checksum_count(builder);
	int r;

	builder->parts = 0;
	while ((r = journal_next(builder->journal, record)) == 0) {
		if (record->fingerprint != fingerprint)
			return -ESTALE;
		if (record->checksum_count)
			r = buf_add(&builder->checksums, record->checksums,
				    record->checksum_count * sizeof(*record->checksums));
		if (r < 0 || (record->kind != JOURNAL_PART && record->kind != JOURNAL_UNDONE))
			return r;
		builder->parts++;
		if (record->kind == JOURNAL_UNDONE) {
			builder->parts = 0;
			builder->checksums.len = first * sizeof(uint64_t);
		}
	}
	return r;
}

int builder_resumed(struct builder *builder, uint32_t id, uint64_t fingerprint,
		    struct builder_past *ret, struct err *err)
{
	uint64_t first = builder_checksum_count(builder);
	struct journal_record record;
	int r;

	if (!builder->resuming)
		return 0;
	r = replay(builder, fingerprint, &record);
	if (r == 1)
		builder->resuming = false;
	if (r == -ESTALE)
		return builder_fault(builder, id, r, "",
				     " is not the file that was packed in this place before the "
				     "interruption, or has changed since",
				     err);
	if (r != 0)
		return r < 0 ? r : 0;
	builder->parts = 0;
	r = take_past_file(builder, id, &record, first);
	if (r == -ESTALE)
		return builder_fault(builder, id, r,
				     "folders or links were added or removed since the "
				     "interruption, so that the file with the bytes of ",
				     " cannot be told", err);
	if (r < 0)
		return r;
	*ret = (struct builder_past){.dropped = record.kind == JOURNAL_DROPPED,
				     .stored = builder_is_stored(builder, id),
				     .note = record.note,
				     .note_len = record.note_len};
	return 1;
}

int builder_resumed_all(struct builder *builder, struct err *err)
{
	struct journal_record record;
	int r = builder->resuming ? journal_next(builder->journal, &record) : 1;

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ESTALE,
			       "files are gone that were packed before the "
			       "interruption");
	builder->resuming = false;
	return 0;
}
