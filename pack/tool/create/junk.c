#include "pack/tool/create/junk.h"

#include "pack/tool/image/image.h"
#include <string.h>

static bool is_junk_folder(const char *name)
{
	static const char *const names[] = {"__MACOSX", "@eaDir", "lost+found"};
	bool found = name[0] == '.';

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
		found = strcmp(name, names[i]) == 0;
	return found;
}

/* Only those that a loader would open. */
static bool is_junk_file(const char *name)
{
	return name[0] == '.' && name[1] == '_' && image_named(name, strlen(name)) != IMAGE_UNKNOWN;
}

struct junk junk_find(const struct builder *builder, uint64_t entries)
{
	struct junk junk = {0};
	char name[FORMAT_NAME_MAX + 1];

	for (uint32_t id = 1; id < entries; id++) {
		bool folder = builder_kind(builder, id) == FORMAT_DIRECTORY;

		if (builder_is_dropped(builder, id))
			continue;
		builder_name(builder, id, name);
		if (folder ? !is_junk_folder(name) : !is_junk_file(name))
			continue;
		if (junk.folders + junk.files == 0)
			junk.first = id;
		junk.folders += folder;
		junk.files += !folder;
	}
	return junk;
}
