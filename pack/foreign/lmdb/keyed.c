/* LMDB files whose keys are names of files, and whose values are these files:
 *
 *	lsun	  one environment a category, in a folder as bedroom_train_lmdb, with images by
 *		  names that say nothing. The class is the folder's name without _train_lmdb,
 *		  _val_lmdb or _test_lmdb; the test set, test_lmdb, has none.
 *	basicsr	  keys are paths without suffix, values PNG files. A list lies beside it, as text:
 *		  "baboon.png (480,500,3) 1", the name, the shape and how hard it was compressed.
 *	paths	  any LMDB of files by their paths, as mmcv and mmengine read them. Comes after the
 *		  other formats of LMDB, whose keys may be paths as well. */
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/format.h"
#include "pack/format.h"
#include "pack/image_kind.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEAD	   64 /* bytes that tell what an image is */
#define SUFFIX_MAX 5  /* "jpeg2" */
#define LINE_MAX   1024

struct keyed {
	struct foreign_text class; /* of all files, whose keys are their names; data NULL: the keys
				      are paths */
	bool plain; /* no key has a suffix: what looks like one belongs to the name */
};

/* As in the tree, parts that are empty or "." do not count. */
static bool is_path(const char *text, size_t len)
{
	while (len) {
		const char *slash = memchr(text, '/', len);
		size_t part = slash ? (size_t)(slash - text) : len;

		if (part && !(part == 1 && *text == '.') && !format_name_valid(text, part))
			return false;
		part += slash != NULL;
		text += part;
		len -= part;
	}
	return true;
}

/* "__len__", "__keys__": what writers note for themselves. */
static bool is_note(const struct walker_record *record)
{
	const char *key = (const char *)record->key;

	return record->key_len > 4 && memcmp(key, "__", 2) == 0 &&
	       memcmp(key + record->key_len - 2, "__", 2) == 0;
}

/* The first that is no note. Returns 0, 1 (there is none) or the error of a read. */
static int first_file(const struct foreign_source *source, struct walker_record *ret)
{
	int r = source->first.key ? 0 : 1;

	*ret = source->first;
	while (r == 0 && is_note(ret))
		r = walker_next(source->walker, ret, NULL);
	return r;
}

/* Whether the first file is a name and an image. 1, 0, or the error of a read. */
static int keyed_probe(struct foreign_source *source)
{
	const uint8_t *head = NULL;
	struct walker_record first;
	size_t len;
	int r = first_file(source, &first);

	if (r != 0 || !is_path((const char *)first.key, first.key_len))
		return r < 0 ? r : 0;
	r = foreign_peek(source, first.offset, (size_t)min(first.size, HEAD), &head, &len);
	return r < 0 ? r : image_suffix(head, len) != NULL;
}

/* "a.jpg", but neither "frame.0001" nor "v1.2 final". */
static bool has_suffix(const char *key, size_t len)
{
	size_t suffix = 0;

	while (suffix < len && suffix < SUFFIX_MAX && isalnum((unsigned char)key[len - 1 - suffix]))
		suffix++;
	return suffix && suffix + 1 < len && key[len - 1 - suffix] == '.' &&
	       key[len - 2 - suffix] != '/' && isalpha((unsigned char)key[len - suffix]);
}

static int add(struct foreign_tree *tree, const struct walker_record *record, uint64_t number,
	       const struct keyed *keyed, struct err *err)
{
	struct foreign_text key = {(const char *)record->key, record->key_len};
	struct foreign_file file = {.record = number,
				    .label = FOREIGN_NO_LABEL,
				    .plain = keyed->plain || !has_suffix(key.data, key.len),
				    .offset = record->offset,
				    .size = record->size,
				    .head = {(const char *)record->value, record->size},
				    .in_memory = record->value != NULL};

	if (keyed->class.data) {
		file.class = keyed->class;
		file.name = key;
	} else {
		file.path = key;
	}
	return foreign_add(tree, &file, err);
}

/* What has no suffix gets one by content; keys as "__len__" are left out, with a note. */
static int keyed_scan(struct foreign_source *source, struct foreign_tree *tree,
		      const struct keyed *keyed, struct err *err)
{
	struct walker_record record;
	uint64_t notes = 0;
	int r = walker_first(source->walker, &record, err);

	for (uint64_t number = 0; r == 0; number++) {
		if (is_note(&record))
			notes++;
		else
			r = add(tree, &record, number, keyed, err);
		if (r == 0)
			r = walker_next(source->walker, &record, err);
	}
	return r < 0 ? r
		     : foreign_tree_note_count(tree, notes,
					       "%" PRIu64
					       " records with keys as __len__ are left out");
}

/* --- LSUN ------------------------------------------------------------------------------------- */

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
	struct foreign_text class;

	if (!source->first.key || memchr(source->first.key, '/', source->first.key_len) ||
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

/* --- BasicSR ---------------------------------------------------------------------------------- */

static bool is_list(const struct buf *text)
{
	char line[LINE_MAX];
	size_t len = text->len < LINE_MAX ? text->len : LINE_MAX - 1;
	unsigned height, width, channels, level;
	const char *shape;

	if (len == 0)
		return false;
	memcpy(line, text->data, len);
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	shape = strrchr(line, '(');
	return shape && sscanf(shape, "(%5u,%5u,%2u) %2u", &height, &width, &channels, &level) == 4;
}

static int basicsr_probe(struct foreign_source *source)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r;

	if (!source->first.key)
		return 0;
	r = foreign_read_beside(source, "/meta_info.txt", &text, NULL);
	if (r == -ENOMEM)
		return r;
	return r == 0 && is_list(&text) ? keyed_probe(source) : 0;
}

static int basicsr_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	return keyed_scan(source, tree, &(struct keyed){.plain = true}, err);
}

const struct foreign_format basicsr_format = {
	.name = "basicsr",
	.lmdb = true,
	.probe = basicsr_probe,
	.scan = basicsr_scan,
};

/* --- paths ------------------------------------------------------------------------------------ */

static int paths_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	return keyed_scan(source, tree, &(struct keyed){0}, err);
}

const struct foreign_format paths_format = {
	.name = "paths",
	.lmdb = true,
	.probe = keyed_probe,
	.scan = paths_scan,
};
