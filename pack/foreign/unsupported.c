#include "pack/foreign/unsupported.h"
#include "base/le.h"
#include "pack/foreign/source.h"
#include "pack/foreign/text.h"
#include <string.h>

#define ZIP_HEADER   30 /* bytes of a local header, which the name follows */
#define SKIPPED_HEAD 8

/* What a file begins with. */
struct magic {
	const char *bytes, *name, *way_out;
};

static const struct magic *find_magic(const struct magic *magics, const void *head, size_t len)
{
	for (; magics->bytes; magics++) {
		size_t size = strlen(magics->bytes);

		if (len >= size && memcmp(head, magics->bytes, size) == 0)
			return magics;
	}
	return NULL;
}

const char *compression_of(const void *head, size_t len)
{
	static const struct magic magics[] = {
		{"\x1f\x8b", "gzip", NULL},	   {"\x28\xb5\x2f\xfd", "zstd", NULL},
		{"\xfd\x37zXZ", "xz", NULL},	   {"BZh", "bzip2", NULL},
		{"\x04\x22\x4d\x18", "lz4", NULL}, {NULL, NULL, NULL}};
	const struct magic *found = find_magic(magics, head, len);

	if (!found && compression_skips(head, len))
		return "zstd";
	return found ? found->name : NULL;
}

uint64_t compression_skips(const void *head, size_t len)
{
	if (len < SKIPPED_HEAD || le_get32(head) >> 4 != 0x184d2a5)
		return 0;
	return SKIPPED_HEAD + (uint64_t)le_get32((const uint8_t *)head + 4);
}

const char *script_of(const void *head, size_t len)
{
	static const struct magic magics[] = {
		{"\x89HDF\r\n\x1a\n", "hdf5", NULL},
		{"\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19", "torch", NULL},
		{NULL, NULL, NULL}};
	const struct magic *found = find_magic(magics, head, len);
	struct foreign_text name = {(const char *)head + ZIP_HEADER, 0};

	if (found)
		return found->name;
	/* torch.save() writes a zip, first NAME/data.pkl; before 1.6, a pickle of a number. */
	if (len < ZIP_HEADER || memcmp(head, "PK\3\4", 4) != 0)
		return NULL;
	name.len = le_get16((const uint8_t *)head + 26);
	return name.len <= len - ZIP_HEADER && foreign_text_ends(name, "/data.pkl") ? "torch"
										    : NULL;
}

/* --- the way out ------------------------------------------------------------------------------ */

int unsupported_tell(struct foreign_source *source, struct err *err)
{
	static const struct magic pointers[] = {
		{"version https://git-lfs.github.com/spec/", "Git LFS", "git lfs pull"},
		{"version https://hawser.github.com/spec/", "Git LFS", "git lfs pull"},
		{"/annex/objects/", "git-annex", "git annex get"},
		{NULL, NULL, NULL}};
	const struct magic *pointer;
	const uint8_t *head = NULL;
	const char *name;
	size_t len;
	int r = foreign_peek(source, 0, UNSUPPORTED_HEAD, &head, &len);

	if (r < 0)
		return r;
	pointer = find_magic(pointers, head, len);
	if (pointer)
		return err_set(err, -EOPNOTSUPP,
			       "a pointer of %s, not the file itself: '%s' in its folder fetches "
			       "that",
			       pointer->name, pointer->way_out);
	name = compression_of(head, len);
	if (name && !strstr(source->path, "tfrec") && !strstr(source->path, ".record"))
		return source->decompressed
			       ? err_set(err, -EOPNOTSUPP,
					 "compressed twice, then with %s: decompress it", name)
			       : err_set(err, -EOPNOTSUPP,
					 "compressed with %s, so that there is nothing to read in "
					 "place: decompress it, or let 'foldpack create' make a "
					 "pack of it",
					 name);
	name = script_of(head, len);
	return name ? err_set(err, -EOPNOTSUPP,
			      "%s, which is not read in place: 'foldpack create FILE PACK' makes a "
			      "pack of one on this machine",
			      strcmp(name, "hdf5") == 0 ? "an HDF5 file" : "a .pth of torch.save()")
		    : 0;
}
