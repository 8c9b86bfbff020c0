/* LMDB of LSUN: one environment a category, in a folder as bedroom_train_lmdb, with images by names
 * that say nothing. The class is the folder's name without _train_lmdb, _val_lmdb or _test_lmdb;
 * the test set, test_lmdb, has none. */
#include "pack/foreign/lmdb/keyed.h"
#include <string.h>

/* The folder that the environment is: of "a/church_val_lmdb/data.mdb" and of "a/church_val_lmdb/".
 */
static struct foreign_text folder_of(const char *path)
{
	struct foreign_text text = {path, strlen(path)};

	foreign_text_cut(&text, "/data.mdb");
	while (foreign_text_cut(&text, "/"))
		;
	return foreign_text_after(text, '/');
}

/* Whether the folder is named as LSUN's are. */
static bool category_of(const char *path, struct foreign_text *ret)
{
	static const char *const splits[] = {"train", "val", "test"};
	struct foreign_text name = folder_of(path);

	if (!foreign_text_cut(&name, "_lmdb"))
		return false;
	for (size_t i = 0; i < sizeof(splits) / sizeof(*splits); i++) {
		if (!foreign_text_cut(&name, splits[i]))
			continue;
		*ret = foreign_text_cut(&name, "_") ? name : (struct foreign_text){"images", 6};
		return ret->len > 0 && (ret->data == name.data || name.len == 0);
	}
	return false;
}

static int lsun_probe(struct foreign_source *source)
{
	const struct walker_record *first = &source->first;
	struct foreign_text class;

	if (!first->key || memchr(first->key, '/', first->key_len) ||
	    !category_of(source->path, &class))
		return 0;
	return keyed_probe(source);
}

static int lsun_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	struct keyed keyed = {.plain = true};

	if (!category_of(source->path, &keyed.class))
		keyed.class = folder_of(source->path);
	if (keyed.class.len == 0 || keyed.class.data[0] == '.')
		keyed.class = (struct foreign_text){"images", 6};
	return keyed_scan(source, tree, &keyed, err);
}

const struct foreign_format lsun_format = {
	.name = "lsun",
	.lmdb = true,
	.probe = lsun_probe,
	.scan = lsun_scan,
};
