#include "pack/foreign/lmdb/keyed.h"
#include "base/math.h"
#include "pack/format.h"
#include "pack/image_kind.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define HEAD	   64 /* bytes that tell what an image is */
#define SUFFIX_MAX 5  /* "jpeg2" */

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

int keyed_probe(struct foreign_source *source)
{
	const struct walker_record *first = &source->first;
	const uint8_t *head = NULL;
	size_t len;
	int r;

	if (!first->key || !is_path((const char *)first->key, first->key_len))
		return 0;
	r = foreign_peek(source, first->offset, (size_t)min(first->size, HEAD), &head, &len);
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

/* "__len__", "__keys__": what writers note for themselves. */
static bool is_note(const struct walker_record *record)
{
	const char *key = (const char *)record->key;

	return record->key_len > 4 && memcmp(key, "__", 2) == 0 &&
	       memcmp(key + record->key_len - 2, "__", 2) == 0;
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
				    .bytes = record->value};

	if (keyed->class.data) {
		file.class = keyed->class;
		file.name = key;
	} else {
		file.path = key;
	}
	return foreign_add(tree, &file, err);
}

int keyed_scan(struct foreign_source *source, struct foreign_tree *tree, const struct keyed *keyed,
	       struct err *err)
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
