#include "pack/foreign/text.h"
#include "pack/image_kind.h"
#include <string.h>

bool foreign_text_is(struct foreign_text text, const char *other)
{
	return text.data && text.len == strlen(other) && memcmp(text.data, other, text.len) == 0;
}

struct foreign_text foreign_text_after(struct foreign_text text, char mark)
{
	const char *last = text.data ? memrchr(text.data, mark, text.len) : NULL;

	if (last) {
		text.len -= (size_t)(last + 1 - text.data);
		text.data = last + 1;
	}
	return text;
}

bool foreign_text_is_junk(struct foreign_text name, bool folder)
{
	if (!folder)
		return name.len > 2 && memcmp(name.data, "._", 2) == 0 &&
		       image_is_named(name.data, name.len);
	return (name.len > 0 && name.data[0] == '.') || foreign_text_is(name, "__MACOSX") ||
	       foreign_text_is(name, "@eaDir") || foreign_text_is(name, "lost+found");
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
