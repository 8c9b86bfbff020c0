/* A tar: a folder (pack/foreign/archive/tar_tree.h), or samples of WebDataset
 * (pack/foreign/archive/webdataset.h), read in place. */
#include "pack/foreign/archive/tar_header.h"
#include "pack/foreign/archive/tar_tree.h"
#include "pack/foreign/archive/webdataset.h"
#include "pack/foreign/format.h"
#include <string.h>

static int probe_tar(struct foreign_source *source)
{
	static const uint8_t end[2 * TAR_BLOCK];
	struct foreign_text name = {source->shown, strlen(source->shown)};
	const uint8_t *block;
	size_t len;
	int r = foreign_peek(source, 0, sizeof(end), &block, &len);

	if (r < 0 || len < TAR_BLOCK)
		return r < 0 ? r : 0;
	if (len == sizeof(end) && memcmp(block, end, len) == 0) /* one without members */
		return source->size % TAR_BLOCK == 0 && foreign_text_cut(&name, ".tar");
	return tar_header_sound(block);
}

static int scan_tar(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	const struct foreign_settings *settings = source->settings;
	int r = settings->layout == FOREIGN_CLASSES;

	if (settings->layout == FOREIGN_AUTO && !settings->strip)
		r = webdataset_has_classes(source, err);
	if (r < 0)
		return r;
	return r ? webdataset_scan(source, tree, err) : tar_tree_scan(source, tree, err);
}

const struct foreign_format tar_format = {
	.name = "tar",
	.takes = FOREIGN_TAKES_TREE | FOREIGN_TAKES_CLASSES,
	.archive = true,
	.streamed = true,
	.probe = probe_tar,
	.scan = scan_tar,
};
