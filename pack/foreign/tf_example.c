#include "pack/foreign/tf_example.h"

#include "base/math.h"
#include "pack/foreign/tf_feature.h"
#include <inttypes.h>
#include <string.h>

#define KEY_MAX	  256  /* bytes of keys that are compared */
#define TEXT_MAX  4096 /* bytes of names */
#define KEYS_TOLD 12

enum role { IMAGE, LABEL, NAME, SYNSET, TEXT, ROLES };

/* Of two in one record, the first here counts. */
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

struct parse {
	struct foreign_source *source;
	struct protobuf features[ROLES];
	size_t ranks[ROLES];
};

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

static bool is_key(const char *key, const uint8_t *text, size_t len)
{
	return strlen(key) == len && memcmp(key, text, len) == 0;
}

static size_t rank_of(const struct foreign_settings *settings, const uint8_t *key, size_t len,
		      enum role *ret)
{
	for (*ret = IMAGE; *ret <= NAME; ++*ret) {
		const char *named = named_key(settings, *ret);

		if (named && is_key(named, key, len))
			return NAMED;
	}
	for (size_t i = 0; i < USUAL; i++) {
		*ret = usual_keys[i].role;
		if (is_key(usual_keys[i].key, key, len))
			return named_key(settings, *ret) ? NONE : i + 1;
	}
	return NONE;
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
	rank = rank_of(parse->source->settings, text, (size_t)key->size, &role);
	if (rank < parse->ranks[role]) {
		parse->ranks[role] = rank;
		parse->features[role] = *feature;
	}
	return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

static int value_of(const struct parse *parse, enum role role, struct tf_value *ret,
		    struct err *err)
{
	*ret = (struct tf_value){.kind = TF_NONE};
	return parse->ranks[role] == NONE ? 0 : tf_feature_first(parse->features[role], ret, err);
}

static int read_image(const struct parse *parse, struct tf_example *example, struct err *err)
{
	struct tf_value value;
	int r = value_of(parse, IMAGE, &value, err);

	if (r < 0 || value.kind == TF_NONE)
		return r;
	if (value.kind != TF_BYTES)
		return err_set(err, -EOPNOTSUPP, "its image is numbers, and no image file");
	example->offset = value.offset;
	example->size = value.size;
	return 0;
}

static int add_text(const struct parse *parse, const struct tf_value *value, struct buf *ret,
		    struct err *err)
{
	const uint8_t *text;
	int r;

	if (value->kind != TF_BYTES || value->size == 0)
		return 0;
	if (value->size > TEXT_MAX)
		return err_set(err, -EBADMSG, "a name of %" PRIu64 " bytes", value->size);
	r = foreign_get(parse->source, value->offset, (size_t)value->size, &text, err);
	return r < 0 ? r : buf_add(ret, text, (size_t)value->size);
}

static int read_text(const struct parse *parse, enum role role, struct buf *ret, struct err *err)
{
	struct tf_value value;
	int r = value_of(parse, role, &value, err);

	return r < 0 ? r : add_text(parse, &value, ret, err);
}

static int read_label(const struct parse *parse, struct tf_example *example, struct err *err)
{
	bool from_one = parse->ranks[SYNSET] != NONE || parse->ranks[TEXT] != NONE;
	struct tf_value value;
	int r = value_of(parse, LABEL, &value, err);

	if (r < 0 || value.kind != TF_INTEGER)
		return r < 0 ? r : add_text(parse, &value, &example->class, err);
	example->label = value.integer - (from_one && value.integer > INT64_MIN + 1);
	return 0;
}

static int read_class(const struct parse *parse, struct tf_example *example, struct err *err)
{
	int r = read_label(parse, example, err);

	if (r == 0 && example->class.len == 0)
		r = read_text(parse, SYNSET, &example->class, err);
	if (r == 0 && example->class.len == 0)
		r = read_text(parse, TEXT, &example->class, err);
	return r;
}

/* --- face ------------------------------------------------------------------------------------- */

int tf_example_read(struct tf_example *example, struct foreign_source *source, uint64_t offset,
		    uint64_t size, struct err *err)
{
	struct parse parse = {source, .ranks = {NONE, NONE, NONE, NONE, NONE}};
	struct protobuf_field key;
	struct protobuf map, feature;
	int r = tf_map_open(source, offset, size, &map, err);

	while (r == 0) {
		r = tf_map_next(&map, &key, &feature, err);
		if (r == 0)
			r = take_entry(&parse, &key, &feature, err);
	}
	example->offset = example->size = 0;
	example->label = FOREIGN_NO_LABEL;
	example->class.len = example->name.len = 0;
	if (r > 0)
		r = read_image(&parse, example, err);
	if (r == 0)
		r = read_class(&parse, example, err);
	return r < 0 ? r : read_text(&parse, NAME, &example->name, err);
}

void tf_example_release(struct tf_example *example)
{
	buf_release(&example->class);
	buf_release(&example->name);
}

int tf_example_keys(struct foreign_source *source, uint64_t offset, uint64_t size, struct buf *ret,
		    struct err *err)
{
	struct protobuf_field key;
	struct protobuf map, feature;
	const uint8_t *text;
	int r = tf_map_open(source, offset, size, &map, err);

	for (int i = 0; r == 0 && i < KEYS_TOLD; i++) {
		r = tf_map_next(&map, &key, &feature, err);
		if (r == 0)
			r = foreign_get(source, key.offset, (size_t)min(key.size, KEY_MAX), &text,
					err);
		if (r == 0)
			r = buf_addf(ret, "%s%.*s", i ? ", " : "", (int)min(key.size, KEY_MAX),
				     (const char *)text);
	}
	return r < 0 ? r : 0;
}
