#include "base/name.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

size_t name_scheme(const char *name)
{
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) ||
	       (len > 0 && name[len] && strchr("+-.", name[len])))
		len++;
	return strncmp(name + len, "://", 3) == 0 ? len : 0;
}

bool name_has_scheme(const char *name, const char *scheme)
{
	size_t len = strlen(scheme);

	return name_scheme(name) == len && strncasecmp(name, scheme, len) == 0;
}

size_t name_query(const char *name)
{
	bool is_key = name_has_scheme(name, "s3") || name_has_scheme(name, "gs") ||
		      name_has_scheme(name, "hf");

	return name_scheme(name) && !is_key ? strcspn(name, "?#") : strlen(name);
}

size_t name_common_folder(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t len = 0;

	while (len < a_len && len < b_len && a[len] == b[len])
		len++;
	while (len && a[len - 1] != '/')
		len--;
	return len;
}

bool name_is_index(const char *name)
{
	size_t len = strlen(name), end = strlen(NAME_INDEX);

	return len > end && strcmp(name + len - end, NAME_INDEX) == 0;
}

char *name_of_word(char *word)
{
	char *below = name_scheme(word) ? NULL : strstr(word, "/=");

	if (below)
		word = below + 2;
	return word + (*word == '@');
}

int name_percent_byte(const char *text)
{
	char digits[3] = "";

	if (*text == '%' && text[1])
		memcpy(digits, text + 1, 2);
	if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]))
		return -1;
	return (int)strtoul(digits, NULL, 16) ?: -1;
}

/* Where the path of file://HOST/PATH begins; NULL: it is none of this machine. */
static char *find_path(char *name)
{
	char *host, *path;
	size_t len;

	if (!name_has_scheme(name, "file"))
		return NULL;
	host = name + strlen("file://");
	path = host + strcspn(host, "/");
	len = (size_t)(path - host);
	if (!*path ||
	    (len && (len != strlen("localhost") || strncasecmp(host, "localhost", len) != 0)))
		return NULL;
	for (const char *at = path; (at = strchr(at, '%')); at++)
		if (name_percent_byte(at) < 0)
			return NULL;
	return path;
}

void name_take_file(char *word)
{
	char *to = name_of_word(word), *from = find_path(to);

	for (; from && *from; from++) {
		*to++ = (char)(*from == '%' ? name_percent_byte(from) : *from);
		from += *from == '%' ? 2 : 0;
	}
	if (from)
		*to = '\0';
}

const char *name_first_url(char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = name_of_word(words[i]);

		if (name_has_scheme(name, "http") || name_has_scheme(name, "https") ||
		    name_has_scheme(name, "gs") || name_has_scheme(name, "hf"))
			return name;
	}
	return NULL;
}

void name_hide_secrets(char *word)
{
	char *name = name_of_word(word);
	size_t len = strlen(name), shown = name_query(name), scheme = name_scheme(name), host;
	const char *user;

	if (!scheme)
		return;
	host = scheme + strlen("://");
	user = memrchr(name + host, '@', strcspn(name + host, "/?#"));
	if (user) {
		size_t secret = (size_t)(user + 1 - name) - host;

		memmove(name + host, user + 1, shown - host - secret);
		shown -= secret;
	}
	explicit_bzero(name + shown, len - shown);
}

/* Wherever URLs are in the word, as in --classes=URL; the last one first. */
static void hide_all(char *word)
{
	char *at = strstr(word, "://");

	if (!at)
		return;
	hide_all(at + strlen("://"));
	while (at > word && isalnum((unsigned char)at[-1]))
		at--;
	name_hide_secrets(at);
}

int name_hide_argv(char **argv, char **ret)
{
	size_t size = 0, len;
	char *at;

	for (char **word = argv; *word; word++)
		size += strstr(*word, "://") ? strlen(*word) + 1 : 0;
	at = *ret = size ? malloc(size) : NULL;
	if (size && !at)
		return -ENOMEM;
	for (; *argv; argv++) {
		char *seen = *argv;

		if (!strstr(seen, "://"))
			continue;
		len = strlen(seen) + 1;
		*argv = memcpy(at, seen, len);
		at += len;
		hide_all(seen);
	}
	return 0;
}

char *name_shown(const char *name)
{
	char *shown = strdup(name);

	if (shown)
		name_hide_secrets(shown);
	return shown;
}
