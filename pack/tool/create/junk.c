#include "pack/tool/create/junk.h"

#include "pack/foreign/text.h"
#include <string.h>

static bool is_our_remnant(struct foreign_text name)
{
	return foreign_text_ends(name, ".partial.journal") ||
	       (foreign_text_ends(name, ".foldfs-index") && name.data[0] == '.');
}

struct junk junk_find(const struct builder *builder, uint64_t entries)
{
	struct junk junk = {0};
	char name[FORMAT_NAME_MAX + 1];

	for (uint32_t id = 1; id < entries; id++) {
		bool folder = builder_kind(builder, id) == FORMAT_DIRECTORY;
		struct foreign_text text;

		if (builder_is_dropped(builder, id))
			continue;
		builder_name(builder, id, name);
		text = (struct foreign_text){name, strlen(name)};
		if (!folder && is_our_remnant(text) && junk.ours++ == 0)
			junk.first_ours = id;
		if (!foreign_text_is_junk(text, folder))
			continue;
		if (junk.folders + junk.files == 0)
			junk.first = id;
		junk.folders += folder;
		junk.files += !folder;
	}
	return junk;
}
