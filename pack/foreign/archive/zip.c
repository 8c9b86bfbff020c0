/* A zip whose files are stored, as by `zip -0`. Compressed files have no bytes that could be read
 * in place. */
#include "base/scope.h"
#include "pack/foreign/archive/zip_directory.h"
#include "pack/foreign/format.h"
#include <inttypes.h>

#define TARGET_MOST 4095 /* bytes of a symbolic link */
#define AHEAD	    512	 /* local headers asked for ahead */

static int add_zip_link(const struct zip_directory *zip, struct foreign_tree *tree,
			struct foreign_file *file, struct err *err)
{
	const uint8_t *target;
	int r;

	if (file->size == 0 || file->size > TARGET_MOST)
		return err_set(err, -EBADMSG,
			       "entry %" PRIu64 ": a symbolic link of %" PRIu64 " bytes",
			       file->record, file->size);
	r = foreign_get(zip->source, file->offset, (size_t)file->size, &target, err);
	if (r < 0)
		return r;
	file->target = (struct foreign_text){(const char *)target, (size_t)file->size};
	return foreign_add(tree, file, err);
}

static int add_zip_entry(const struct zip_directory *zip, struct foreign_tree *tree, size_t i,
			 struct err *err)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);
	struct foreign_file file = {.record = i,
				    .path = zip_name(zip, entry),
				    .size = entry->size,
				    .directory = entry->kind == ZIP_FOLDER,
				    .mode = entry->mode,
				    .mtime = entry->mtime};
	int r = zip_place(zip, i, &file.offset, err);

	if (r < 0)
		return r;
	return entry->kind == ZIP_LINK ? add_zip_link(zip, tree, &file, err)
				       : foreign_add(tree, &file, err);
}

static int scan_zip(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(zip_directory_release) struct zip_directory zip = {0};
	uint64_t others = 0;
	size_t asked = 0;
	int r = zip_directory_read(source, &zip, err);

	for (size_t i = 0; r == 0 && i < zip_count(&zip); i++) {
		for (; asked < zip_count(&zip) && asked < i + AHEAD; asked++)
			zip_will_place(&zip, asked);
		if (zip_entry_at(&zip, i)->kind == ZIP_OTHER)
			others++;
		else
			r = add_zip_entry(&zip, tree, i, err);
	}
	return r < 0 ? r
		     : foreign_tree_note_count(tree, others,
					       "left out: %" PRIu64 " devices and their like");
}

const struct foreign_format zip_format = {
	.name = "zip",
	.probe = zip_probe,
	.scan = scan_zip,
};
