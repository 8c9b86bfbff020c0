#include "base/mountinfo.h"
#include "base/io.h"
#include <string.h>
#include <sys/sysmacros.h>

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void mountinfo_unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && is_octal(text[1]) && is_octal(text[2]) &&
		    is_octal(text[3])) {
			*out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* Cuts a field off, which may be empty. Returns false if there is none. */
static bool take_field(char **line, char *ret, size_t room)
{
	const char *field = strsep(line, " ");

	return field && snprintf(ret, room, "%s", field) >= 0;
}

/* Returns false if it is not a line of such a table. Cuts it. */
static bool parse_mount(char *line, struct mountinfo *ret)
{
	char *tail = strstr(line, " - ");
	unsigned major_number, minor_number;

	if (!tail ||
	    sscanf(line, "%*d %*d %u:%u %*s %4095s", &major_number, &minor_number, ret->path) != 3)
		return false;
	tail += strlen(" - ");
	if (!take_field(&tail, ret->type, sizeof(ret->type)) ||
	    !take_field(&tail, ret->source, sizeof(ret->source)) ||
	    !take_field(&tail, ret->options, sizeof(ret->options)))
		return false;
	ret->device = makedev(major_number, minor_number);
	mountinfo_unescape(ret->path);
	mountinfo_unescape(ret->source);
	return true;
}

int mountinfo_next(FILE *table, char **line, size_t *room, struct mountinfo *ret)
{
	size_t len;
	int r;

	do
		r = io_line(table, line, room, &len);
	while (r == 0 && !parse_mount(*line, ret));
	return r;
}

bool mountinfo_is_foldfs(const struct mountinfo *mount)
{
	return strcmp(mount->type, "fuse.foldfs") == 0;
}

bool mountinfo_is_foldfs_of(const struct mountinfo *mount, uid_t uid)
{
	const char *option = strstr(mount->options, "user_id=");
	uintmax_t maker;

	return mountinfo_is_foldfs(mount) && option && sscanf(option, "user_id=%ju", &maker) == 1 &&
	       maker == uid;
}
