#include "pack/foreign/index_key.h"
#include "base/name.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <string.h>

#define HASHED (64 * KIB) /* of the container's start, and of its end */
#define SCANS  10	  /* plus 1 whenever a script finds other files than before */

static int hash_range(struct reader *reader, uint64_t offset, XXH3_state_t *state)
{
	SCOPE_FREE void *buf = malloc(HASHED);
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	n = reader_get(reader, buf, HASHED, offset);
	if (n < 0)
		return (int)n;
	XXH3_64bits_update(state, buf, (size_t)n);
	return 0;
}

static void hash_text(XXH3_state_t *state, const char *text)
{
	XXH3_64bits_update(state, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* What formats take names from: that of the file; and of its folder, where all files of that kind
 * have one name. */
static const char *named_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || strcmp(slash, "/data.mdb") != 0)
		return slash ? slash + 1 : path;
	while (slash > path && slash[-1] != '/')
		slash--;
	return slash;
}

static uint64_t hash_settings(const struct foreign_tree *tree)
{
	const struct foreign_settings *settings = tree->source->settings;
	const uint8_t choices[] = {(uint8_t)settings->layout, (uint8_t)settings->class_folders,
				   settings->empty_classes};
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	hash_text(&state, named_part(tree->source->path));
	hash_text(&state, settings->schema);
	hash_text(&state, settings->image_key);
	hash_text(&state, settings->label_key);
	hash_text(&state, settings->name_key);
	hash_text(&state, tree->classes.name ? "classes" : NULL);
	hash_text(&state, tree->names.name ? "names" : NULL);
	XXH3_64bits_update(&state, choices, sizeof(choices));
	XXH3_64bits_update(&state, &settings->strip, sizeof(settings->strip));
	XXH3_64bits_update(&state, tree->classes.text.data, tree->classes.text.len);
	XXH3_64bits_update(&state, tree->names.text.data, tree->names.text.len);
	return XXH3_64bits_digest(&state);
}

static void put_key(const struct foreign_tree *tree, uint64_t size, uint64_t written, uint64_t ends,
		    const char *object, char *ret, size_t room)
{
	snprintf(ret, room,
		 "container=%" PRIu64 " %" PRIu64 " %016" PRIx64 "\nscans=%d\nsettings=%016" PRIx64
		 "\n%s",
		 size, written, ends, SCANS, hash_settings(tree), object);
}

int index_key_make(const struct foreign_tree *tree, struct index_key *ret)
{
	struct reader *reader = tree->source->reader;
	struct reader_identity identity;
	XXH3_state_t state;
	uint64_t ends;
	int r = reader_identity(reader, &identity);

	/* `written` of a URL says nothing, and that of a copy is not the server's. */
	if (name_scheme(tree->source->path))
		identity.written = 0;
	XXH3_64bits_reset(&state);
	if (r == 0)
		r = hash_range(reader, 0, &state);
	if (r == 0 && identity.size > HASHED)
		r = hash_range(reader, identity.size - HASHED, &state);
	if (r < 0)
		return r;
	ends = XXH3_64bits_digest(&state);
	*ret = (struct index_key){0};
	/* Last, since a lone copy has none: then any index of these bytes is taken. */
	if (identity.object)
		snprintf(ret->object, sizeof(ret->object), "object=%016" PRIx64 "\n",
			 identity.object);
	put_key(tree, identity.size, 0, ends, "", ret->published, sizeof(ret->published));
	put_key(tree, identity.size, identity.written, ends, ret->object, ret->text,
		sizeof(ret->text));
	snprintf(ret->copy, sizeof(ret->copy), "foreign %016" PRIx64 " %016" PRIx64, ends,
		 identity.object);
	return 0;
}
