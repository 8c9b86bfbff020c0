/* TFRecord of Examples (vahidk/tfrecord's writer.py; TensorFlow's example.proto, feature.proto). Of
 * a record:
 *
 *	u64 length | u32 crc of these 8 bytes | bytes | u32 crc of the bytes
 *
 * The crc is a masked CRC-32C. That of the bytes is not looked at: a scan does not read them all.
 */
#include "base/crc32c.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "pack/foreign/encoding/protobuf.h"
#include "pack/foreign/format.h"
#include <inttypes.h>
#include <string.h>

#define KEY_MAX	  256  /* bytes of keys that are compared */
#define NAME_MAX  255  /* of a label that may be a class */
#define TEXT_MAX  4096 /* bytes of names */
#define KEYS_TOLD 12

#define TF_IMAGE_KEYS "image/encoded or image" /* where no other is named */

enum role { IMAGE, LABEL, NAME, SYNSET, TEXT, ROLES };

/* Finds the image, and what names it. */
struct tf_example {
	bool from_zero; /* set by the caller: a label beside a class counts from 0, not from 1 */
	bool is_zero;	/* the label is 0, beside a text alone: then the file's count from 0 */
	bool is_odd;	/* there is a label that is neither a number nor a name */
	bool more_labels, more_images;	 /* behind the first */
	uint64_t offset, size;		 /* of the image; size 0: there is none */
	int64_t label;			 /* from 0 on, or FOREIGN_NO_LABEL */
	struct foreign_text class, name; /* data NULL: there is none */
	struct buf texts[ROLES];	 /* what these point to */
};

/* If a record has two for one role, the first of this list wins. */
static const struct usual {
	enum role role;
	const char *key;
} usual_keys[] = {
	{IMAGE, "image/encoded"},	{IMAGE, "image"},	    {LABEL, "image/class/label"},
	{LABEL, "image/label"},		{LABEL, "label"},	    {LABEL, "class"},
	{NAME, "image/filename"},	{NAME, "file_name"},	    {NAME, "filename"},
	{SYNSET, "image/class/synset"}, {TEXT, "image/class/text"},
};

#define USUAL (sizeof(usual_keys) / sizeof(*usual_keys))
#define NAMED 0 /* rank of a key that the user named; that of usual_keys[i] is i + 1 */
#define NONE  SIZE_MAX

struct tf_value {
	enum { TF_NONE, TF_BYTES, TF_FLOAT, TF_INTEGER } kind; /* TF_NONE: the list is empty */
	uint64_t offset, size;				       /* of bytes, in the source */
	int64_t integer;
	bool has_more; /* of these */
};

/* Values are read as they come: going back to them would read the file twice. */
struct parse {
	struct foreign_source *source;
	struct tf_value values[ROLES];
	size_t ranks[ROLES];
	struct buf *texts; /* by role */
};

/* --- features ---------------------------------------------------------------------------------
 *
 * An Example is a map from names to Features, each one of three lists, of which the first value is
 * what counts here. */

/* The first field of this number, which has a length. 0, 1 (there is none), or an error. */
static int find_field(struct protobuf message, uint32_t number, struct protobuf_field *ret,
		      struct err *err)
{
	int r;

	while ((r = protobuf_next(&message, ret, err)) == 0)
		if (ret->number == number && ret->type == PROTOBUF_BYTES)
			return 0;
	return r;
}

/* Integers are packed, as they are written today, or not. */
static int first_integer(struct protobuf list, struct tf_value *ret, struct err *err)
{
	struct protobuf_field field = {0};
	int r = protobuf_next(&list, &field, err);
	bool has_more = list.at < list.end;

	if (r == 0 && field.type == PROTOBUF_BYTES) {
		struct protobuf packed = protobuf_in(&list, &field);

		r = protobuf_varint(&packed, &field.value, err);
		has_more |= packed.at < packed.end;
	}
	if (r != 0)
		return r;
	*ret = (struct tf_value){
		.kind = TF_INTEGER, .integer = (int64_t)field.value, .has_more = has_more};
	return 0;
}

static int first_bytes(struct protobuf list, struct tf_value *ret, struct err *err)
{
	struct protobuf_field field;
	int r = find_field(list, 1, &field, err);

	if (r == 0)
		*ret = (struct tf_value){.kind = TF_BYTES,
					 .offset = field.offset,
					 .size = field.size,
					 .has_more = field.offset + field.size < list.end};
	return r;
}

static int tf_feature_first(struct protobuf feature, struct tf_value *ret, struct err *err)
{
	struct protobuf_field list;
	int r = protobuf_next(&feature, &list, err);

	*ret = (struct tf_value){.kind = TF_NONE};
	if (r != 0)
		return r < 0 ? r : 0;
	if (list.type != PROTOBUF_BYTES || list.number > TF_INTEGER)
		return err_set(err, -EBADMSG, "no Example: a feature that is no list");
	if (list.number == TF_INTEGER)
		r = first_integer(protobuf_in(&feature, &list), ret, err);
	else if (list.number == TF_BYTES)
		r = first_bytes(protobuf_in(&feature, &list), ret, err);
	else
		ret->kind = list.size ? TF_FLOAT : TF_NONE;
	return r < 0 ? r : 0;
}

/* An entry: { 1: key, 2: Feature }. */
static int tf_map_next(struct protobuf *map, struct protobuf_field *key, struct protobuf *feature,
		       struct err *err)
{
	struct protobuf_field field, value;
	struct protobuf entry;
	int r = protobuf_next(map, &field, err);

	if (r != 0)
		return r;
	if (field.number != 1 || field.type != PROTOBUF_BYTES)
		return err_set(err, -EBADMSG, "no Example: field %u in its map", field.number);
	entry = protobuf_in(map, &field);
	r = find_field(entry, 1, key, err);
	if (r == 0)
		r = find_field(entry, 2, &value, err);
	if (r == 0)
		*feature = protobuf_in(map, &value);
	return r > 0 ? err_set(err, -EBADMSG, "no Example: a key or a value is missing") : r;
}

static int tf_map_open(struct foreign_source *source, uint64_t offset, uint64_t size,
		       struct protobuf *ret, struct err *err)
{
	struct protobuf example = protobuf_at(source, offset, size);
	struct protobuf_field features;
	int r = find_field(example, 1, &features, err);

	if (r == 0)
		*ret = protobuf_in(&example, &features);
	return r > 0 ? err_set(err, -EBADMSG, "no Example: it has no features") : r;
}

/* --- the map ---------------------------------------------------------------------------------- */

static const char *named_key(const struct foreign_settings *settings, enum role role)
{
	switch (role) {
	case IMAGE:
		return settings->image_key;
	case NAME:
		return settings->name_key;
	default:
		return settings->label_key;
	}
}

static size_t rank_of(const struct foreign_settings *settings, struct foreign_text key,
		      enum role *ret)
{
	for (*ret = IMAGE; *ret <= NAME; ++*ret) {
		const char *named = named_key(settings, *ret);

		if (named && foreign_text_is(key, named))
			return NAMED;
	}
	for (size_t i = 0; i < USUAL; i++) {
		*ret = usual_keys[i].role;
		if (foreign_text_is(key, usual_keys[i].key))
			return named_key(settings, *ret) ? NONE : i + 1;
	}
	return NONE;
}

/* A label may be a mask. */
static bool can_be_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (utf8_is_control(text, len, i))
			return false;
	return true;
}

/* A label may be written as a text: "7" is 7, as in a WebDataset. */
static void take_number(struct parse *parse, enum role role)
{
	struct tf_value *value = &parse->values[role];
	struct buf *text = &parse->texts[role];

	if (role != LABEL ||
	    !foreign_text_label((struct foreign_text){text->data, text->len}, &value->integer))
		return;
	value->kind = TF_INTEGER;
	text->len = 0;
}

static int read_text(struct parse *parse, enum role role, struct err *err)
{
	const struct tf_value *value = &parse->values[role];
	bool is_guessed = role == LABEL && parse->ranks[role] != NAMED;
	const uint8_t *text;
	int r;

	parse->texts[role].len = 0;
	if (role == IMAGE || value->kind != TF_BYTES || (is_guessed && value->size > NAME_MAX))
		return 0;
	if (value->size > TEXT_MAX)
		return err_set(err, -EBADMSG, "a name of %" PRIu64 " bytes", value->size);
	r = foreign_get(parse->source, value->offset, (size_t)value->size, &text, err);
	if (r < 0 || (is_guessed && !can_be_name((const char *)text, (size_t)value->size)))
		return r;
	r = buf_add(&parse->texts[role], text, (size_t)value->size);
	if (r == 0)
		take_number(parse, role);
	return r;
}

static int take_entry(struct parse *parse, const struct protobuf_field *key,
		      const struct protobuf *feature, struct err *err)
{
	const uint8_t *text;
	enum role role;
	size_t rank;
	int r;

	if (key->size > KEY_MAX)
		return 0;
	r = foreign_get(parse->source, key->offset, (size_t)key->size, &text, err);
	if (r < 0)
		return r;
	rank = rank_of(parse->source->settings,
		       (struct foreign_text){(const char *)text, (size_t)key->size}, &role);
	if (rank >= parse->ranks[role])
		return 0;
	parse->ranks[role] = rank;
	r = tf_feature_first(*feature, &parse->values[role], err);
	return r < 0 ? r : read_text(parse, role, err);
}

static int take_map(struct parse *parse, struct protobuf *map, struct err *err)
{
	struct protobuf_field key;
	struct protobuf feature;
	int r = 0;

	while (r == 0) {
		r = tf_map_next(map, &key, &feature, err);
		if (r == 0)
			r = take_entry(parse, &key, &feature, err);
	}
	return r < 0 ? r : 0;
}

/* --- what it means ---------------------------------------------------------------------------- */

static struct foreign_text text_of(const struct parse *parse, enum role role)
{
	const struct buf *text = &parse->texts[role];

	return (struct foreign_text){text->len ? text->data : NULL, text->len};
}

static struct foreign_text class_of(const struct parse *parse)
{
	static const enum role roles[] = {LABEL, SYNSET, TEXT};
	struct foreign_text text = {0};

	for (size_t i = 0; !text.data && i < sizeof(roles) / sizeof(*roles); i++)
		text = text_of(parse, roles[i]);
	return text;
}

static int64_t label_of(const struct parse *parse, struct tf_example *example)
{
	bool from_one =
		!example->from_zero && (parse->ranks[SYNSET] != NONE || parse->ranks[TEXT] != NONE);
	const struct tf_value *value = &parse->values[LABEL];

	/* With a synset, 0 is TF-Slim's background. */
	example->is_zero = from_one && parse->ranks[SYNSET] == NONE && value->kind == TF_INTEGER &&
			   value->integer == 0;
	if (value->kind != TF_INTEGER || value->integer < from_one)
		return FOREIGN_NO_LABEL;
	return value->integer - from_one;
}

/* Reads the Example of `size` bytes at `offset`, by the keys of the settings or the usual ones:
 * image/encoded, image/class/label, image/filename (TF-Slim), image, label, file_name (TFDS) and a
 * few more. Of a class the synset counts, else its text; a label beside these counts from 1 on, as
 * in build_imagenet_data.py, unless one is 0. A label that is bytes is a class where the user named
 * its key, or where they can be a name, not a mask. Returns 0; -EBADMSG (no Example, or damaged);
 * -EOPNOTSUPP (an image of numbers); -ENOMEM; or the error of the read. */
static int tf_example_read(struct tf_example *example, struct foreign_source *source,
			   uint64_t offset, uint64_t size, struct err *err)
{
	struct parse parse = {
		.source = source, .ranks = {NONE, NONE, NONE, NONE, NONE}, .texts = example->texts};
	const struct tf_value *image = &parse.values[IMAGE];
	struct protobuf map;
	int r = tf_map_open(source, offset, size, &map, err);

	for (size_t i = 0; i < ROLES; i++)
		example->texts[i].len = 0;
	if (r == 0)
		r = take_map(&parse, &map, err);
	if (r == 0 && image->kind != TF_NONE && image->kind != TF_BYTES)
		r = err_set(err, -EOPNOTSUPP, "its image is numbers, and no image file");
	if (r < 0)
		return r;
	example->offset = image->offset;
	example->size = image->size;
	example->label = label_of(&parse, example);
	example->class = class_of(&parse);
	example->is_odd = example->label == FOREIGN_NO_LABEL && !example->class.data &&
			  parse.values[LABEL].kind != TF_INTEGER &&
			  parse.values[LABEL].kind != TF_NONE;
	example->more_labels = parse.values[LABEL].has_more;
	example->more_images = image->has_more;
	example->name = text_of(&parse, NAME);
	return 0;
}

/* Appends the keys of its first fields that have no other use, for a message. As above. */
static int tf_example_keys(struct foreign_source *source, uint64_t offset, uint64_t size,
			   struct buf *ret, struct err *err)
{
	struct protobuf_field key;
	struct protobuf map, feature;
	const uint8_t *text;
	enum role role;
	int r = tf_map_open(source, offset, size, &map, err);

	for (int i = 0; r == 0 && i < KEYS_TOLD; i++) {
		struct foreign_text name;

		r = tf_map_next(&map, &key, &feature, err);
		if (r == 0)
			r = foreign_get(source, key.offset, (size_t)min(key.size, KEY_MAX), &text,
					err);
		if (r != 0)
			break;
		name = (struct foreign_text){(const char *)text, (size_t)min(key.size, KEY_MAX)};
		if (rank_of(source->settings, name, &role) == NONE)
			r = buf_addf(ret, "%s%.*s", ret->len ? ", " : "", (int)name.len, name.data);
	}
	return r < 0 ? r : 0;
}

/* --- the file --------------------------------------------------------------------------------- */

#define HEAD 12
#define FOOT 4

#define FROM_ZERO 1 /* of take_all(): a label is 0 */

struct scan {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct tf_example example;
	uint64_t number;	  /* of the record */
	uint64_t images, classed; /* of these: with a label or a class */
	uint64_t odd_labels, more_labels, more_images;
};

static void scan_release(struct scan *scan)
{
	for (size_t i = 0; i < ROLES; i++)
		buf_release(&scan->example.texts[i]);
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool length_holds(const uint8_t *head)
{
	return crc32c_masked(head, 8) == le_get32(head + 8);
}

static int get_frame(struct foreign_source *source, uint64_t at, uint64_t *ret, struct err *err)
{
	const uint8_t *head;
	int r = foreign_get(source, at, HEAD, &head, err);

	if (r < 0)
		return r;
	if (!length_holds(head))
		return err_set(err, -EBADMSG,
			       "the checksum of its length, at byte %" PRIu64 ", does not hold",
			       at);
	*ret = le_get64(head);
	if (source->size - at < HEAD + FOOT || *ret > source->size - at - HEAD - FOOT)
		return err_set(err, -EBADMSG,
			       "truncated: %" PRIu64 " bytes at byte %" PRIu64
			       " of a file of %" PRIu64,
			       *ret, at + HEAD, source->size);
	return 0;
}

/* --- compressed ------------------------------------------------------------------------------- */

/* gzip (RFC 1952), or zlib (RFC 1950) of a usual level, and named as a TFRecord. */
static bool is_compressed(struct foreign_source *source, const uint8_t *head)
{
	bool gzip = head[0] == 0x1f && head[1] == 0x8b;
	bool zlib = head[0] == 0x78 && (head[0] << 8 | head[1]) % 31 == 0;

	return (gzip || zlib) && (strstr(source->path, "tfrec") || strstr(source->path, ".record"));
}

static int tfrecord_probe(struct foreign_source *source)
{
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, HEAD, &head, &len);

	if (r < 0 || len < HEAD)
		return r;
	return length_holds(head) || is_compressed(source, head);
}

/* --- records ---------------------------------------------------------------------------------- */

static int add(struct scan *scan, struct err *err)
{
	const struct tf_example *example = &scan->example;
	struct foreign_file file = {.record = scan->number,
				    .label = example->label,
				    .class = example->class,
				    .name = foreign_text_after(example->name, '/'),
				    .offset = example->offset,
				    .size = example->size};

	if (file.name.len == 0)
		file.name.data = NULL;
	file.plain = file.name.data && !memchr(file.name.data, '.', file.name.len);
	if (scan->source->settings->classes && example->label != FOREIGN_NO_LABEL)
		file.class = (struct foreign_text){0};
	scan->images++;
	scan->classed += example->label != FOREIGN_NO_LABEL || example->class.data;
	scan->odd_labels += example->is_odd;
	scan->more_labels += example->more_labels;
	scan->more_images += example->more_images;
	return foreign_add(scan->tree, &file, err);
}

static int take_all(struct scan *scan, struct err *err)
{
	uint64_t len;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < scan->source->size; at += HEAD + len + FOOT) {
		r = get_frame(scan->source, at, &len, err);
		if (r == 0)
			r = tf_example_read(&scan->example, scan->source, at + HEAD, len, err);
		if (r < 0)
			return err_set(err, r, "record %" PRIu64 ": %s", scan->number,
				       err_text(err, r));
		if (scan->example.is_zero)
			return FROM_ZERO;
		if (scan->example.size > 0)
			r = add(scan, err);
		scan->number++;
	}
	return r;
}

/* Begins anew where labels prove to count from 0. */
static int take_as_counted(struct scan *scan, struct err *err)
{
	int r = take_all(scan, err);

	if (r != FROM_ZERO)
		return r;
	scan->example.from_zero = true;
	scan->number = scan->images = scan->classed = 0;
	scan->odd_labels = scan->more_labels = scan->more_images = 0;
	r = foreign_tree_restart(scan->tree, err);
	if (r == 0)
		r = foreign_tree_prefix(scan->tree);
	return r < 0 ? r : take_all(scan, err);
}

/* Names the fields of the first record. */
static int get_keys(struct foreign_source *source, struct buf *ret, struct err *err)
{
	uint64_t len;
	int r = get_frame(source, 0, &len, err);

	return r < 0 ? r : tf_example_keys(source, HEAD, len, ret, err);
}

static int lack_image(struct foreign_source *source, struct err *err)
{
	SCOPE(buf_release) struct buf keys = BUF_INIT;
	const char *key = source->settings->image_key;
	int r = get_keys(source, &keys, err);

	return r < 0 ? r
		     : err_set(err, -EOPNOTSUPP,
			       "no record has an image as %s; --image-key names another of: %s",
			       key ? key : TF_IMAGE_KEYS, keys.len ? keys.data : "none");
}

static int lack_label(struct scan *scan, struct err *err)
{
	SCOPE(buf_release) struct buf keys = BUF_INIT;
	const char *key = scan->source->settings->label_key;
	int r = get_keys(scan->source, &keys, err);

	return r < 0 || keys.len == 0
		       ? r
		       : foreign_tree_note(scan->tree,
					   "no record has a label as %s, so that all images are in "
					   "images: --label-key names another of: %s",
					   key ? key : "image/class/label or label", keys.data);
}

static int note_counts(struct scan *scan, struct err *err)
{
	static const char *const texts[] = {
		"%" PRIu64 " records without an image are left out",
		"%" PRIu64
		" records have a label that is neither an integer nor a name, which is "
		"taken as none",
		"%" PRIu64 " records have several labels, of which the first counts",
		"%" PRIu64 " records have several images, of which the first is shown"};
	const uint64_t counts[] = {scan->number - scan->images, scan->odd_labels, scan->more_labels,
				   scan->more_images};
	int r = scan->classed || scan->odd_labels ? 0 : lack_label(scan, err);

	return r < 0 ? r : foreign_tree_note_counts(scan->tree, counts, texts, 4);
}

static int tfrecord_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(scan_release) struct scan scan = {.source = source, .tree = tree};
	const uint8_t *head;
	int r = foreign_get(source, 0, HEAD, &head, err);

	if (r == 0 && is_compressed(source, head))
		return err_set(err, -EOPNOTSUPP,
			       "a compressed TFRecord cannot be read in place: decompress it");
	if (r == 0)
		r = foreign_tree_prefix(tree);
	if (r == 0)
		r = take_as_counted(&scan, err);
	if (r == 0 && scan.images == 0)
		r = lack_image(source, err);
	return r < 0 ? r : note_counts(&scan, err);
}

const struct foreign_format tfrecord_format = {
	.name = "tfrecord",
	.streamed = true,
	.probe = tfrecord_probe,
	.scan = tfrecord_scan,
};
