/* A tar: a folder (pack/foreign/archive/tar_tree.h), or samples of WebDataset
 * (pack/foreign/archive/tar_samples.h).
 */
#include "pack/foreign/archive/tar_header.h"
#include "pack/foreign/archive/tar_samples.h"
#include "pack/foreign/archive/tar_tree.h"
#include "pack/foreign/format.h"

static int probe_tar(struct foreign_source *source)
{
	const uint8_t *block;
	size_t len;
	int r = foreign_peek(source, 0, TAR_BLOCK, &block, &len);

	return r < 0 ? r : len == TAR_BLOCK && tar_header_sound(block);
}

static int scan_tar(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	int layout = source->settings->layout, r = layout == FOREIGN_CLASSES;

	if (layout == FOREIGN_AUTO)
		r = tar_samples_have_classes(source, err);
	if (r < 0)
		return r;
	return r ? tar_samples_scan(source, tree, err) : tar_tree_scan(source, tree, err);
}

const struct foreign_format tar_format = {
	.name = "tar",
	.about = "a tar, of files or of WebDataset samples",
	.probe = probe_tar,
	.scan = scan_tar,
};
