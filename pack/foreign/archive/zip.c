/* A zip whose files are stored, as by `zip -0`, as the folder that it is of:
 * pack/foreign/archive/archive_tree.h. Compressed files have no bytes that could be read in place.
 */
#include "base/scope.h"
#include "pack/foreign/archive/zip_directory.h"
#include "pack/foreign/format.h"
#include <inttypes.h>

#define TARGET_MOST 4095 /* bytes of a symbolic link */
#define AHEAD	    512	 /* local headers asked for ahead */

static int read_zip_target(const struct zip_directory *zip, struct archive_member *member,
			   struct err *err)
{
	const uint8_t *target;
	int r;

	if (member->size > TARGET_MOST)
		return err_set(err, -EBADMSG,
			       "entry %" PRIu64 ": a symbolic link of %" PRIu64 " bytes",
			       member->number, member->size);
	r = foreign_get(zip->source, member->offset, (size_t)member->size, &target, err);
	member->target = (struct foreign_text){(const char *)target, (size_t)member->size};
	return r;
}

static int add_zip_entry(const struct zip_directory *zip, struct archive_tree *archive, size_t i,
			 struct err *err)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);
	struct archive_member member = {.number = i,
					.kind = entry->kind,
					.path = zip_name(zip, entry),
					.target = {"", 0},
					.size = entry->size,
					.mode = entry->mode,
					.mtime = entry->mtime};
	int r = zip_check_stored(zip, i, err);

	if (r == 0)
		r = zip_place(zip, i, &member.offset, err);
	if (r == 0 && entry->kind == ARCHIVE_SYMLINK)
		r = read_zip_target(zip, &member, err);
	return r < 0 ? r : archive_add(archive, &member, err);
}

static int note_around(const struct zip_directory *zip, struct foreign_tree *tree)
{
	int r = foreign_tree_note_count(
		tree, zip->front, "in front of the zip are %" PRIu64 " bytes that are not shown");

	return r < 0 ? r
		     : foreign_tree_note_count(tree, zip->behind,
					       "behind the end of the zip are %" PRIu64
					       " bytes that are not shown");
}

static int scan_zip(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(zip_directory_release) struct zip_directory zip = {0};
	SCOPE(archive_tree_release)
	struct archive_tree archive = {
		.tree = tree, .settings = source->settings, .passes_dots = true};
	size_t asked = 0;
	int r = zip_directory_read(source, &zip, err);

	for (size_t i = 0; r == 0 && i < zip_count(&zip); i++) {
		for (; asked < zip_count(&zip) && asked < i + AHEAD; asked++)
			zip_will_place(&zip, asked);
		r = add_zip_entry(&zip, &archive, i, err);
	}
	if (r == 0)
		r = archive_note(&archive);
	return r < 0 ? r : note_around(&zip, tree);
}

const struct foreign_format zip_format = {
	.name = "zip",
	.archive = true,
	.probe = zip_probe,
	.scan = scan_zip,
};
