#include "pack/tool/create/lustre.h"

#include "base/le.h"
#include <sys/statfs.h>
#include <sys/xattr.h>

#define LUSTRE_MAGIC 0x0bd00bd0 /* of statfs(2) */
#define LAYOUT_V1    0x0bd10bd0
#define LAYOUT_V3    0x0bd30bd0
#define STRIPES_AT   28 /* after magic, pattern, 16 bytes of object id, and stripe size */
#define LAYOUT_ROOM  4096

unsigned lustre_stripes(const uint8_t *layout, size_t len)
{
	uint32_t magic = len >= STRIPES_AT + 2 ? le_get32(layout) : 0;

	return magic == LAYOUT_V1 || magic == LAYOUT_V3 ? le_get16(layout + STRIPES_AT) : 0;
}

unsigned lustre_stripes_of(const char *path)
{
	uint8_t layout[LAYOUT_ROOM];
	struct statfs fs;
	ssize_t len;

	if (statfs(path, &fs) < 0 || (uint32_t)fs.f_type != LUSTRE_MAGIC)
		return 0;
	len = getxattr(path, "lustre.lov", layout, sizeof(layout));
	return len > 0 ? lustre_stripes(layout, (size_t)len) : 0;
}
