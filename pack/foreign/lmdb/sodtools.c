/* LMDB of PySODToolBox's ForBigDataset, and of the mmsr that it comes from: values are pixels as
 * OpenCV has them, keys the names of the files that they were in. A pickle beside it,
 * meta_info.pkl, has the keys, and for each, or for all, channels, height and width: "3_480_640".
 */
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/encoding/pickle.h"
#include "pack/foreign/format.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHAPE_MAX 32
#define KEY_MAX	  512 /* bytes; LMDB has none of more than 511 */

struct meta {
	struct buf text;
	struct foreign_source source; /* of the text */
	struct pickle *pickle;
	const struct pickle_value *keys, *shapes; /* lists; NULL: it has none */
};

static void meta_release(struct meta *meta)
{
	pickle_free(meta->pickle);
	buf_release(&meta->text);
}

static const struct pickle_value *list_of(const struct pickle_value *dict, const char *key)
{
	const struct pickle_value *value = pickle_get(dict, key);

	return value && value->kind == PICKLE_LIST ? value : NULL;
}

/* err begins with the name of the file. */
static int meta_read(struct meta *meta, struct foreign_source *source, struct err *err)
{
	const struct pickle_value *root;
	int r = foreign_read_beside(source, "/meta_info.pkl", &meta->text, NULL);

	if (r < 0)
		return err_set(err, r, "meta_info.pkl: %s", strerror(-r));
	meta->source = foreign_source_of(&meta->text);
	r = pickle_new(&meta->pickle);
	if (r == 0)
		r = pickle_read(meta->pickle, &meta->source, 0, meta->text.len, &root, err);
	if (r)
		return err_set(err, r, "meta_info.pkl: %s", err_text(err, r));
	meta->keys = list_of(root, "keys");
	meta->shapes = list_of(root, "resolution");
	return 0;
}

static int sodtools_probe(struct foreign_source *source)
{
	SCOPE(meta_release) struct meta meta = {0};
	int r;

	if (!source->first.key)
		return 0;
	r = meta_read(&meta, source, NULL);
	if (r == -ENOMEM)
		return r;
	return r == 0 && meta.keys && meta.shapes;
}

/* --- images ----------------------------------------------------------------------------------- */

/* The text of a value, with a NUL. */
static bool take_text(const struct pickle_value *value, char *ret, size_t room)
{
	if (!value || value->kind != PICKLE_TEXT || !value->bytes.data || value->bytes.size >= room)
		return false;
	memcpy(ret, value->bytes.data, (size_t)value->bytes.size);
	ret[value->bytes.size] = '\0';
	return true;
}

static int take_shape(const struct pickle_value *value, struct foreign_pixels *ret, struct err *err)
{
	char text[SHAPE_MAX];
	unsigned channels, height, width;

	if (!take_text(value, text, sizeof(text)) ||
	    sscanf(text, "%5u_%5u_%5u", &channels, &height, &width) != 3)
		return err_set(err, -EBADMSG, "no shape as \"3_480_640\"");
	if (channels != 1 && channels != 3)
		return err_set(err, -EOPNOTSUPP, "pixels of %u channels", channels);
	*ret = (struct foreign_pixels){width, height, channels == 3 ? FOREIGN_BGR : FOREIGN_GRAY};
	return 0;
}

static struct foreign_text without_suffix(const char *key)
{
	const char *dot = strrchr(key, '.');

	return (struct foreign_text){key, dot && dot > key ? (size_t)(dot - key) : strlen(key)};
}

static int add(struct foreign_source *source, struct foreign_tree *tree,
	       const struct pickle_value *name, const struct pickle_value *shape, uint64_t number,
	       struct err *err)
{
	struct foreign_pixels pixels;
	struct walker_record record;
	struct foreign_file file = {.record = number, .plain = true, .pixels = &pixels};
	char key[KEY_MAX];
	int r = 0;

	if (!take_text(name, key, sizeof(key)))
		r = err_set(err, -EBADMSG, "no key in meta_info.pkl");
	if (r == 0)
		r = foreign_find(source, key, &record, err);
	if (r == -ENOENT)
		r = err_set(err, -EBADMSG, "'%s' of meta_info.pkl is not there", key);
	if (r == 0)
		r = take_shape(shape, &pixels, err);
	if (r < 0)
		return err_set(err, r, "record %" PRIu64 ": %s", number, err_text(err, r));
	file.path = without_suffix(key);
	file.offset = record.offset;
	file.size = record.size;
	return foreign_add(tree, &file, err);
}

static int check_counts(const struct meta *meta, struct err *err)
{
	if (!meta->keys || !meta->shapes)
		return err_set(err, -EBADMSG, "meta_info.pkl: no lists of keys and resolutions");
	if (meta->shapes->count != 1 && meta->shapes->count != meta->keys->count)
		return err_set(err, -EBADMSG,
			       "meta_info.pkl: %" PRIu32 " resolutions for %" PRIu32 " keys",
			       meta->shapes->count, meta->keys->count);
	return 0;
}

static int sodtools_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(meta_release) struct meta meta = {0};
	const struct pickle_item *key, *shape;
	uint64_t number = 0;
	int r = meta_read(&meta, source, err);

	if (r == 0)
		r = check_counts(&meta, err);
	if (r < 0)
		return r;
	shape = meta.shapes->items.first;
	for (key = meta.keys->items.first; r == 0 && key; key = key->next) {
		r = add(source, tree, key->value, shape->value, number++, err);
		if (shape->next)
			shape = shape->next;
	}
	return r < 0 ? r
		     : foreign_tree_note_count(
			       tree, sub_sat(walker_info(source->walker)->entries, number),
			       "%" PRIu64 " records that meta_info.pkl does not name are left out");
}

const struct foreign_format sodtools_format = {
	.name = "pysodtoolbox",
	.lmdb = true,
	.probe = sodtools_probe,
	.scan = sodtools_scan,
};
