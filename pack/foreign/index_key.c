#include "pack/foreign/index_key.h"
#include "base/name.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <string.h>

#define HASHED (64 * KIB) /* of the container's start, and of its end */
#define SCANS  8	  /* plus 1 whenever an adapter finds other files than before */

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

const char *index_container(const struct foreign_tree *tree)
{
	const struct foreign_source *source = tree->source;

	return name_scheme(source->path) ? source->shown : source->path;
}

/* The last two parts of a path: some formats take names of classes from them. */
static const char *last_two(const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash && slash > path && slash[-1] != '/')
		slash--;
	return slash ? slash : path;
}

static uint64_t hash_settings(const struct foreign_tree *tree)
{
	const struct foreign_settings *settings = tree->source->settings;
	const uint8_t choices[] = {(uint8_t)settings->layout, (uint8_t)settings->class_folders,
				   settings->empty_classes};
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	hash_text(&state, last_two(index_container(tree)));
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

int index_key_make(const struct foreign_tree *tree, struct index_key *ret)
{
	struct reader *reader = tree->source->reader;
	const char *name = index_container(tree);
	struct reader_identity identity;
	char object[32] = "";
	XXH3_state_t state;
	int r = reader_identity(reader, &identity);

	/* `written` of a URL says nothing, and that of a copy is not the server's. */
	if (name_scheme(name))
		identity.written = 0;
	XXH3_64bits_reset(&state);
	if (r == 0)
		r = hash_range(reader, 0, &state);
	if (r == 0 && identity.size > HASHED)
		r = hash_range(reader, identity.size - HASHED, &state);
	if (r < 0)
		return r;
	/* Last, since a lone copy has none: then any index of these bytes is taken. */
	if (identity.object)
		snprintf(object, sizeof(object), "object=%016" PRIx64 "\n", identity.object);
	snprintf(ret->text, sizeof(ret->text),
		 "container=%" PRIu64 " %" PRIu64 " %016" PRIx64 "\nscans=%d\nsettings=%016" PRIx64
		 "\n%s",
		 identity.size, identity.written, XXH3_64bits_digest(&state), SCANS,
		 hash_settings(tree), object);
	snprintf(ret->copy, sizeof(ret->copy),
		 "foreign %" PRIu64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64, identity.written,
		 XXH3_64bits_digest(&state), XXH3_64bits(name, strlen(name)), identity.object);
	return 0;
}
