#include "pack/foreign/record/tf_example.h"
#include "base/le.h"
#include "base/math.h"
#include "base/utf8.h"
#include "pack/foreign/encoding/protobuf.h"
#include "pack/foreign/tree.h"
#include <inttypes.h>
#include <string.h>

#define KEY_MAX	  256  /* bytes of keys that are compared */
#define NAME_MAX  255  /* of a label that may be a class */
#define TEXT_MAX  4096 /* bytes of names */
#define KEYS_TOLD 12
#define FLOAT_1	  0x3f800000u /* the bits of 1.0 */

/* If a record has two for one role, the first of this list wins. */
static const struct usual {
	enum tf_role role;
	const char *key;
} usual_keys[] = {
	{TF_IMAGE, "image/encoded"},
	{TF_IMAGE, "image"},
	{TF_LABEL, "image/class/label"},
	{TF_LABEL, "image/label"},
	{TF_LABEL, "label"},
	{TF_LABEL, "class"},
	{TF_NAME, "image/filename"},
	{TF_NAME, "file_name"},
	{TF_NAME, "filename"},
	{TF_SYNSET, "image/class/synset"},
	{TF_TEXT, "image/class/text"},
};

#define USUAL (sizeof(usual_keys) / sizeof(*usual_keys))
#define NAMED 0 /* rank of a key that the user named; that of usual_keys[i] is i + 1 */
#define NONE  SIZE_MAX

struct tf_value {
	enum { TF_NONE, TF_BYTES, TF_FLOAT, TF_INTEGER } kind; /* TF_NONE: the list is empty */
	uint64_t offset, size;				       /* of bytes, in the source */
	int64_t integer;
	bool has_more;	/* of these; of numbers, if they are a label, what all of them are: */
	bool all_01;	/* 0 or 1, */
	uint64_t ones;	/* so many 1, */
	uint64_t place; /* the last of them here */
	uint64_t count;
};

/* Values are read as they come: going back to them would read the file twice. */
struct parse {
	struct foreign_source *source;
	struct tf_value values[TF_ROLES];
	size_t ranks[TF_ROLES];
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

static void take_one_of_several(struct tf_value *value, bool is_0, bool is_1)
{
	value->all_01 &= is_0 || is_1;
	value->ones += is_1;
	value->place = is_1 ? value->count : value->place;
	value->count++;
}

/* Floats that are packed. */
static int take_floats(struct protobuf packed, struct tf_value *ret, struct err *err)
{
	int r = 0;

	for (; r == 0 && packed.end - packed.at >= sizeof(float); packed.at += sizeof(float)) {
		const uint8_t *bytes;

		r = foreign_get(packed.source, packed.at, sizeof(float), &bytes, err);
		if (r == 0)
			take_one_of_several(ret, (le_get32(bytes) & INT32_MAX) == 0,
					    le_get32(bytes) == FLOAT_1);
	}
	return r;
}

static int take_integers(struct protobuf packed, struct tf_value *ret, struct err *err)
{
	uint64_t number;
	int r;

	while ((r = protobuf_varint(&packed, &number, err)) == 0)
		take_one_of_several(ret, number == 0, number == 1);
	return r < 0 ? r : 0;
}

/* Looks at all numbers of a label: packed, as they are written today, or not. */
static int tf_feature_several(struct protobuf feature, struct tf_value *ret, struct err *err)
{
	bool floats = ret->kind == TF_FLOAT;
	struct protobuf_field list, field;
	struct protobuf numbers;
	int r = protobuf_next(&feature, &list, err);

	if (r != 0)
		return r < 0 ? r : 0;
	ret->all_01 = true;
	numbers = protobuf_in(&feature, &list);
	while ((r = protobuf_next(&numbers, &field, err)) == 0) {
		if (field.type == PROTOBUF_BYTES)
			r = (floats ? take_floats : take_integers)(protobuf_in(&numbers, &field),
								   ret, err);
		else
			take_one_of_several(ret, field.value == 0,
					    field.value == (floats ? FLOAT_1 : 1));
		if (r < 0)
			return r;
	}
	ret->has_more = ret->count > 1;
	return r < 0 ? r : 0;
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

static const char *named_key(const struct foreign_settings *settings, enum tf_role role)
{
	switch (role) {
	case TF_IMAGE:
		return settings->image_key;
	case TF_NAME:
		return settings->name_key;
	default:
		return settings->label_key;
	}
}

static size_t rank_of(const struct foreign_settings *settings, struct foreign_text key,
		      enum tf_role *ret)
{
	for (*ret = TF_IMAGE; *ret <= TF_NAME; ++*ret) {
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
static void take_number(struct parse *parse, enum tf_role role)
{
	struct tf_value *value = &parse->values[role];
	struct buf *text = &parse->texts[role];

	if (role != TF_LABEL ||
	    !foreign_text_label((struct foreign_text){text->data, text->len}, &value->integer))
		return;
	value->kind = TF_INTEGER;
	text->len = 0;
}

static int read_text(struct parse *parse, enum tf_role role, struct err *err)
{
	const struct tf_value *value = &parse->values[role];
	bool is_guessed = role == TF_LABEL && parse->ranks[role] != NAMED;
	const uint8_t *text;
	int r;

	parse->texts[role].len = 0;
	if (role == TF_IMAGE || value->kind != TF_BYTES || (is_guessed && value->size > NAME_MAX))
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
	enum tf_role role;
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
	if (r == 0 && role == TF_LABEL &&
	    (parse->values[role].kind == TF_FLOAT ||
	     (parse->values[role].kind == TF_INTEGER && parse->values[role].has_more)))
		r = tf_feature_several(*feature, &parse->values[role], err);
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

static struct foreign_text text_of(const struct parse *parse, enum tf_role role)
{
	const struct buf *text = &parse->texts[role];

	return (struct foreign_text){text->len ? text->data : NULL, text->len};
}

static struct foreign_text class_of(const struct parse *parse)
{
	static const enum tf_role roles[] = {TF_LABEL, TF_SYNSET, TF_TEXT};
	struct foreign_text text = {0};

	for (size_t i = 0; !text.data && i < sizeof(roles) / sizeof(*roles); i++)
		text = text_of(parse, roles[i]);
	return text;
}

/* Several numbers: the place of the only 1, where all others are 0, as of one class of many. */
static bool take_place(const struct tf_value *value, struct tf_example *example)
{
	bool several = value->has_more && value->count > 1 && !example->takes_first;

	example->is_place = several && value->all_01 && value->ones == 1;
	example->is_list = several && !value->all_01 && value->kind == TF_INTEGER;
	example->numbers = several && value->all_01 && value->ones != 1 ? value->count : 0;
	example->ones = value->ones;
	example->integers = value->kind != TF_INTEGER ? 0 : value->has_more ? value->count : 1;
	return example->is_place || example->numbers;
}

static int64_t label_of(const struct parse *parse, struct tf_example *example)
{
	bool from_one = !example->from_zero &&
			(parse->ranks[TF_SYNSET] != NONE || parse->ranks[TF_TEXT] != NONE);
	const struct tf_value *value = &parse->values[TF_LABEL];

	example->is_guess = example->is_zero = false;
	if (take_place(value, example))
		return example->is_place ? (int64_t)value->place : FOREIGN_NO_LABEL;
	/* With a synset, 0 is TF-Slim's background. */
	example->is_guess =
		from_one && parse->ranks[TF_SYNSET] == NONE && value->kind == TF_INTEGER;
	example->is_zero = example->is_guess && value->integer == 0;
	if (value->kind != TF_INTEGER || value->integer < from_one)
		return FOREIGN_NO_LABEL;
	return value->integer - from_one;
}

int tf_example_read(struct tf_example *example, struct foreign_source *source, uint64_t offset,
		    uint64_t size, struct err *err)
{
	struct parse parse = {
		.source = source, .ranks = {NONE, NONE, NONE, NONE, NONE}, .texts = example->texts};
	const struct tf_value *image = &parse.values[TF_IMAGE];
	struct protobuf map;
	int r = tf_map_open(source, offset, size, &map, err);

	for (size_t i = 0; i < TF_ROLES; i++)
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
			  parse.values[TF_LABEL].kind != TF_INTEGER &&
			  parse.values[TF_LABEL].kind != TF_NONE;
	example->more_labels = parse.values[TF_LABEL].has_more && !example->is_place &&
			       parse.values[TF_LABEL].kind != TF_FLOAT;
	example->more_images = image->has_more;
	example->name = text_of(&parse, TF_NAME);
	return 0;
}

int tf_example_keys(struct foreign_source *source, uint64_t offset, uint64_t size, struct buf *ret,
		    struct err *err)
{
	struct protobuf_field key;
	struct protobuf map, feature;
	const uint8_t *text;
	enum tf_role role;
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
