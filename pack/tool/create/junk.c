#include "pack/tool/create/junk.h"

#include "pack/foreign/text.h"
#include <string.h>

struct junk junk_find(const struct builder *builder, uint64_t entries)
{
	struct junk junk = {0};
	char name[FORMAT_NAME_MAX + 1];

	for (uint32_t id = 1; id < entries; id++) {
		bool folder = builder_kind(builder, id) == FORMAT_DIRECTORY;

		if (builder_is_dropped(builder, id))
			continue;
		builder_name(builder, id, name);
		if (!foreign_text_is_junk((struct foreign_text){name, strlen(name)}, folder))
			continue;
		if (junk.folders + junk.files == 0)
			junk.first = id;
		junk.folders += folder;
		junk.files += !folder;
	}
	return junk;
}
