/* A record is a length, its CRC, a protobuf Example, its CRC. The Example has the fields of
 * TF-Slim's ImageNet, sorted by name as in a deterministic serialisation:
 *
 *	Example  { 1: Features }
 *	Features { 1: { 1: name, 2: Feature } ... }
 *	Feature  { 1: { 1: bytes } } or { 3: { 1: packed varints } } */
#include "base/crc32c.h"
#include "base/le.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/image_kind.h"
#include "pack/tool/export/format.h"
#include "pack/tool/image/image.h"
#include <inttypes.h>
#include <string.h>

#define FIELD(number) ((number) << 3 | 2) /* of bytes or a message: its length follows */
#define FRAMING	      12		  /* bytes before the Example */

/* A protobuf has at most 2 GiB. */
static const char *tfrecord_refuses(const struct samples *samples, const struct dataset_entry *file)
{
	(void)samples;
	return file->size > 2 * GIB - MIB ? "over 2 GiB" : NULL;
}

/* --- protobuf --------------------------------------------------------------------------- */

static size_t varint_len(uint64_t value)
{
	size_t len = 1;

	while (value >>= 7)
		len++;
	return len;
}

static void add_varint(struct buf *to, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		buf_add(to, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
	buf_add(to, &(uint8_t){(uint8_t)value}, 1);
}

/* The length of a field with `len` bytes: tag, length, bytes. */
static uint64_t field_len(uint64_t len)
{
	return 1 + varint_len(len) + len;
}

static void begin_field(struct buf *to, uint8_t number, uint64_t len)
{
	add_varint(to, FIELD((uint64_t)number));
	add_varint(to, len);
}

/* Writes an entry of the map up to its value, which has `len` bytes. `list` is the field of Feature
 * that holds it. */
static void begin_feature(struct buf *to, const char *name, uint8_t list, uint64_t len)
{
	uint64_t values = field_len(len), feature = field_len(values);

	begin_field(to, 1, field_len(strlen(name)) + field_len(feature));
	begin_field(to, 1, strlen(name));
	buf_add(to, name, strlen(name));
	begin_field(to, 2, feature);
	begin_field(to, list, values);
	begin_field(to, 1, len);
}

static void add_text(struct buf *to, const char *name, const char *data, size_t len)
{
	begin_feature(to, name, 1, len);
	buf_add(to, data, len);
}

static void add_int64(struct buf *to, const char *name, uint64_t value)
{
	begin_feature(to, name, 3, varint_len(value));
	add_varint(to, value);
}

/* --- the fields ------------------------------------------------------------------------- */

/* The kind by content, or by name if the content says nothing. */
static int find_kind(const struct export_source *source, uint32_t entry,
		     const struct dataset_entry *file, const char **ret)
{
	struct dataset_image image;
	int r = dataset_image(source->dataset, entry, &image);

	if (r < 0)
		return r;
	if (image.kind == IMAGE_UNKNOWN || image.kind >= IMAGE_KINDS)
		image.kind = image_named(file->name, file->name_len);
	*ret = image_kind(image.kind)->feature;
	return 0;
}

static int add_fields(const struct export_source *source, uint64_t number, struct buf *before,
		      struct buf *after)
{
	const struct sample *sample = &source->samples->list[number];
	struct dataset_entry file = dataset_entry(source->dataset, sample->entry);
	const struct dataset_entry class =
		dataset_entry(source->dataset, source->samples->classes[sample->class]);
	const char *kind;
	int r = find_kind(source, sample->entry, &file, &kind);

	if (r < 0)
		return r;
	/* TF-Slim keeps 0 for the background: what is in no class. */
	add_int64(before, "image/class/label",
		  (uint64_t)(samples_label(source->samples, number) + 1));
	add_text(before, "image/class/synset", class.name, class.name_len);
	add_text(before, "image/class/text", class.name, class.name_len);
	begin_feature(before, "image/encoded", 1, file.size);
	add_text(after, "image/filename", file.name, file.name_len);
	add_text(after, "image/format", kind, strlen(kind));
	return before->failed ? -ENOMEM : buf_error(after);
}

/* --- the record ------------------------------------------------------------------------- */

static int tfrecord_frame(const struct export_source *source, uint64_t number, struct buf *head,
			  struct buf *tail)
{
	SCOPE(buf_release) struct buf fields = BUF_INIT;
	uint8_t length[8], crc[4];
	uint64_t features;
	int r = add_fields(source, number, &fields, tail);

	if (r < 0)
		return r;
	features = fields.len +
		   dataset_entry(source->dataset, source->samples->list[number].entry).size +
		   tail->len;
	le_put64(length, field_len(features));
	le_put32(crc, crc32c_masked(length, sizeof(length)));
	buf_add(head, length, sizeof(length));
	buf_add(head, crc, sizeof(crc));
	begin_field(head, 1, features);
	buf_add(head, fields.data, fields.len);
	buf_add(tail, "\0\0\0", sizeof(crc));
	return head->failed ? -ENOMEM : buf_error(tail);
}

static void tfrecord_seal(uint8_t *record, uint64_t len)
{
	le_put32(record + len - 4, crc32c_masked(record + FRAMING, len - FRAMING - 4));
}

static int tfrecord_name(struct buf *name, const char *target, uint64_t shard, uint64_t shards)
{
	return buf_addf(name, "%s-%05" PRIu64 "-of-%05" PRIu64, target, shard, shards);
}

static int tfrecord_stem(struct buf *stem, const char *target)
{
	return buf_adds(stem, target);
}

static bool tfrecord_is_stray(const char *rest, uint64_t shards)
{
	uint64_t shard, of;
	int len = 0;

	return sscanf(rest, "-%" SCNu64 "-of-%" SCNu64 "%n", &shard, &of, &len) == 2 &&
	       rest[len] == '\0' && of != shards;
}

/* Not TARGET-*, which is how readers find shards. */
static int tfrecord_list_name(struct buf *name, const char *target, uint64_t shard, uint64_t shards)
{
	return buf_addf(name, "%s.tfindex-%05" PRIu64 "-of-%05" PRIu64, target, shard, shards);
}

const struct export_format export_tfrecord = {
	.parts = DATASET_IMAGES,
	.refuses = tfrecord_refuses,
	.frame = tfrecord_frame,
	.seal = tfrecord_seal,
	.name = tfrecord_name,
	.stem = tfrecord_stem,
	.is_stray = tfrecord_is_stray,
	.list_name = tfrecord_list_name,
};
