/* A pack for targets whose input is not a pack: two folders, with names of several kinds, links
 * inside and out, an empty file and one of two extents. */
#pragma once

#define SMALL_PACK_NAMES 7 /* files in each folder; then come two links */

/* `path` ends in XXXXXX; the file that it names afterwards is the caller's. */
void small_pack_make(char *path);
