/* A zip whose files are stored, as by `zip -0`, as the folder that it is of:
 * pack/foreign/archive/archive_tree.h. Compressed files have no bytes that could be read in place;
 * foreign_watch.unpack() makes some. */
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/archive/zip_directory.h"
#include "pack/foreign/format.h"
#include <inttypes.h>
#include <string.h>

#define TARGET_MOST 4095 /* bytes of a symbolic link */
#define AHEAD	    512	 /* local headers asked for ahead */

static int read_zip_target(const struct zip_directory *zip, struct foreign_tree *tree,
			   struct archive_member *member, char target[TARGET_MOST], struct err *err)
{
	const uint8_t *bytes;
	int r;

	if (member->size > TARGET_MOST)
		return err_set(err, -EBADMSG,
			       "entry %" PRIu64 ": a symbolic link of %" PRIu64 " bytes",
			       member->number, member->size);
	member->target = (struct foreign_text){target, (size_t)member->size};
	if (member->unpacked)
		return reader_get_full(*foreign_tree_unpacked(tree), target, member->size,
				       member->offset);
	r = foreign_get(zip->source, member->offset, (size_t)member->size, &bytes, err);
	if (r == 0)
		memcpy(target, bytes, member->size);
	return r;
}

static int unpack_entry(const struct zip_directory *zip, struct foreign_tree *tree,
			struct archive_member *member, struct err *err)
{
	const struct foreign_watch *watch = zip->source->settings->watch;
	const struct zip_entry *entry = zip_entry_at(zip, member->number);
	const struct foreign_compressed from = {.reader = zip->source->reader,
						.offset = member->offset,
						.len = entry->packed,
						.method = entry->method,
						.ends = entry->ends,
						.size = entry->size,
						.crc = entry->crc};
	struct err why = {0};
	int r = watch->unpack(watch->context, &from, foreign_tree_unpacked(tree), &member->offset,
			      &member->size, &why);

	member->unpacked = true;
	return r < 0 ? err_set(err, r, "entry %" PRIu64 " ('%.*s'): %s", member->number,
			       (int)min(member->path.len, 200), member->path.data,
			       err_text(&why, r))
		     : 0;
}

static int add_zip_entry(const struct zip_directory *zip, struct archive_tree *archive, size_t i,
			 struct err *err)
{
	const struct foreign_watch *watch = zip->source->settings->watch;
	const struct zip_entry *entry = zip_entry_at(zip, i);
	struct archive_member member = {.number = i,
					.kind = entry->kind,
					.path = zip_name(zip, entry),
					.target = {"", 0},
					.size = entry->size,
					.mode = entry->mode,
					.mtime = entry->mtime};
	bool packed = zip_check_stored(zip, i, NULL) < 0;
	bool unpacks = packed && !entry->encrypted && watch && watch->unpack;
	char target[TARGET_MOST];
	int r = packed && !unpacks ? zip_check_stored(zip, i, err)
				   : zip_place(zip, i, &member.offset, err);

	if (r == 0 && unpacks)
		r = unpack_entry(zip, archive->tree, &member, err);
	if (r == 0 && entry->kind == ARCHIVE_SYMLINK)
		r = read_zip_target(zip, archive->tree, &member, target, err);
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
	.takes = FOREIGN_TAKES_TREE,
	.archive = true,
	.probe = zip_probe,
	.scan = scan_zip,
};
