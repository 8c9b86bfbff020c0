#include "pack/tool/create/junk.h"

#include "pack/foreign/text.h"
#include <string.h>

static bool is_our_remnant(struct foreign_text name)
{
	return foreign_text_ends(name, ".partial.journal") ||
	       (foreign_text_ends(name, ".foldfs-index") && name.data[0] == '.');
}

static bool is_container(struct foreign_text name)
{
	static const char *const ends[] = {
		".tar",	 ".tar.gz", ".tgz",	".tar.zst",  ".tar.xz", ".tar.bz2",   ".zip",
		".lmdb", ".mdb",    ".parquet", ".tfrecord", ".rec",	".tfrecords", ".beton"};
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(ends) / sizeof(*ends); i++)
		found = foreign_text_ends(name, ends[i]);
	return found;
}

static void count_container(struct junk *junk, uint32_t id, struct foreign_text name)
{
	if (!is_container(name))
		junk->others++;
	else if (junk->containers++ == 0)
		junk->first_container = id;
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
		if (format_is_file(builder_kind(builder, id)))
			count_container(&junk, id, text);
		if (!foreign_text_is_junk(text, folder))
			continue;
		if (junk.folders + junk.files == 0)
			junk.first = id;
		junk.folders += folder;
		junk.files += !folder;
	}
	return junk;
}
