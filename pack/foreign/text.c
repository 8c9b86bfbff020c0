#include "pack/foreign/text.h"
#include "pack/image_kind.h"
#include <string.h>

static bool text_is(struct foreign_text text, const char *other)
{
	return text.data && text.len == strlen(other) && memcmp(text.data, other, text.len) == 0;
}

bool foreign_text_is_junk(struct foreign_text name, bool folder)
{
	if (!folder)
		return name.len > 2 && memcmp(name.data, "._", 2) == 0 &&
		       image_is_named(name.data, name.len);
	return (name.len > 0 && name.data[0] == '.') || text_is(name, "__MACOSX") ||
	       text_is(name, "@eaDir") || text_is(name, "lost+found");
}

void foreign_text_flatten(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '/' || text[i] == '\0')
			text[i] = '_';
}

bool foreign_text_ends(struct foreign_text text, const char *end)
{
	size_t len = strlen(end);

	return text.len >= len && memcmp(text.data + text.len - len, end, len) == 0;
}
