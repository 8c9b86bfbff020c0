/* The index of a foreign file, as a file of its own: what a pack has, without LMDB.
 *
 *	superblock | sections, one after the other | text | pictures
 *
 * `text` is the bytes of files that are in no record; `pictures` the table of foreign_pixels_reader().
 * It is kept beside the container, as NAME.foldfs-index, or, where that folder cannot be written to,
 * below $XDG_CACHE_HOME/foldfs/index; where neither can, it is in memory. One that does not belong to
 * the container as it is now, or to these settings, is made anew; a damaged one too. It appears under
 * its name when it is whole.
 *
 * What it holds of the container, in the section of options, as "name=value\n" lines:
 *
 *	format        name of the adapter, and its version
 *	container     size, version (reader_identity.written) and a hash of the first and last 64 KiB
 *	settings      a hash of what was asked for, with the files of --classes and --names
 *	parts         offset and bytes of the text, offset and bytes of the pictures */
#ifndef PACK_FOREIGN_INDEX_FILE_H
#define PACK_FOREIGN_INDEX_FILE_H

#endif
