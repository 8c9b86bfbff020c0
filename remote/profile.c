#include "remote/profile.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/scope.h"
#include "base/size.h"
#include "remote/environment.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define FILE_MAX MIB

/* --- files ------------------------------------------------------------------------------------ */

/* A file of sections with names and values:
 *
 *	[profile here]
 *	region = eu-west-1		profile here / region
 *	s3 =
 *	  addressing_style = path	profile here / s3.addressing_style
 *
 * A line that begins with # or ; is a comment, and so is what follows a space and one of these, but
 * not between quotes. The name of a section may end with a part in quotes, which are left out. If
 * a name is given twice, the last counts. All other lines are skipped, as the AWS tools do. */

/* All point into the text of the file. */
struct ini_entry {
	const char *section;
	const char *parent; /* the name that an indented one belongs to; NULL: it is not indented */
	const char *name;   /* NULL: the section itself */
	const char *value;
};

struct ini {
	struct buf text;    /* NUL-ended */
	struct buf entries; /* struct ini_entry */
};

static char *trimmed(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

/* Where a comment begins. `quotes`: not between quotes, as commands have them. Returns its '#' or
 * ';', or the end; NULL: quotes are left open. */
static char *find_comment(char *text, bool quotes)
{
	char open = '\0', *c;

	for (c = text; *c; c++) {
		if (open || (quotes && (*c == '"' || *c == '\'')))
			open = open == *c ? '\0' : open ? open : *c;
		else if ((*c == '#' || *c == ';') && (c == text || isspace((unsigned char)c[-1])))
			break;
	}
	return open ? NULL : c;
}

static void cut_comment(char *text)
{
	char *at = find_comment(text, true);

	*(at ? at : find_comment(text, false)) = '\0';
}

/* [profile "with space"] */
static void unquote(char *section)
{
	char *first = strpbrk(section, "\"'"), *last = section + strlen(section) - 1;

	if (!first || first == last || *first != *last)
		return;
	*last = '\0';
	memmove(first, first + 1, strlen(first));
}

/* Reads one line. `at` carries on from line to line: the section, and the name that indented lines
 * belong to. */
static int parse_line(struct ini *ini, char *line, struct ini_entry *at)
{
	bool indented = isspace((unsigned char)*line);
	char *equals, *end;

	cut_comment(line);
	line = trimmed(line);
	end = line + strlen(line);
	if (*line == '[' && end[-1] == ']') {
		end[-1] = '\0';
		line = trimmed(line + 1);
		unquote(line);
		*at = (struct ini_entry){.section = line, .value = ""};
		return buf_add(&ini->entries, at, sizeof(*at));
	}
	equals = strchr(line, '=');
	if (!equals || !at->section)
		return 0;
	*equals = '\0';
	if (!indented)
		at->parent = NULL;
	at->name = trimmed(line);
	at->value = trimmed(equals + 1);
	if (buf_add(&ini->entries, at, sizeof(*at)) < 0)
		return -ENOMEM;
	if (!indented)
		at->parent = at->name;
	return 0;
}

static int load(const char *path, struct buf *text, struct err *err)
{
	SCOPE_CLOSE int fd = io_open_given(path, err);
	ssize_t n;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? buf_adds(text, "") : fd;
	if (buf_reserve(text, FILE_MAX + 1) < 0)
		return -ENOMEM;
	n = io_read(fd, text->data, FILE_MAX + 1);
	if (n < 0)
		return (int)n;
	if ((size_t)n > FILE_MAX)
		return -EFBIG;
	text->len = (size_t)n;
	text->data[n] = '\0';
	return 0;
}

static void ini_release(struct ini *ini)
{
	buf_release(&ini->text);
	buf_release(&ini->entries);
}

/* A missing file is an empty one. */
static int ini_read(struct ini *ini, const char *path, struct err *err)
{
	struct ini_entry at = {0};
	struct err reason = {0};
	int r = load(path, &ini->text, &reason);
	char *line, *rest = r == 0 ? ini->text.data : NULL;

	while (r == 0 && (line = strsep(&rest, "\n")))
		r = parse_line(ini, line, &at);
	return r < 0 ? err_set(err, r, "%s: %s", path, err_text(&reason, r)) : 0;
}

static bool named(const struct ini_entry *entry, const char *name)
{
	size_t len = entry->parent ? strlen(entry->parent) : 0;

	if (!name || !entry->name)
		return name == entry->name;
	if (!entry->parent)
		return strcmp(entry->name, name) == 0;
	return strncmp(name, entry->parent, len) == 0 && name[len] == '.' &&
	       strcmp(name + len + 1, entry->name) == 0;
}

/* The value, or NULL. With `name` NULL: "" if there is such a section. */
static const char *ini_get(const struct ini *ini, const char *section, const char *name)
{
	const struct ini_entry *entries = (const struct ini_entry *)ini->entries.data;
	const char *value = NULL;

	for (size_t i = 0; i < BUF_COUNT(&ini->entries, *entries); i++)
		if (strcmp(entries[i].section, section) == 0 && named(&entries[i], name))
			value = entries[i].value;
	return value;
}

/* --- profiles --------------------------------------------------------------------------------- */

struct profile {
	char *name, *files;
	struct ini credentials, config;
	char *section; /* of the config file */
};

static const char *filled(const char *value)
{
	return value && *value ? value : NULL;
}

static char *joined(const char *a, const char *between, const char *b)
{
	char *text;

	return asprintf(&text, "%s%s%s", a, between, b) < 0 ? NULL : text;
}

/* The path of one of the two files; "": without a home, there is none. The caller frees it. */
static char *file_path(const char *variable, const char *name)
{
	const char *path = environment_get(variable), *home = environment_get("HOME");

	if (path && strncmp(path, "~/", 2) != 0)
		return strdup(path);
	return home ? joined(home, "/", path ? path + 2 : name) : strdup("");
}

static int open_files(struct profile *profile, struct err *err)
{
	SCOPE_FREE char *credentials = file_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
	SCOPE_FREE char *config = file_path("AWS_CONFIG_FILE", ".aws/config");
	int r;

	if (!credentials || !config)
		return -ENOMEM;
	profile->files = *credentials && *config   ? joined(credentials, " and ", config)
			 : *credentials || *config ? strdup(*credentials ? credentials : config)
						   : strdup("any file, as HOME is not set");
	if (!profile->files)
		return -ENOMEM;
	r = ini_read(&profile->credentials, credentials, err);
	return r < 0 ? r : ini_read(&profile->config, config, err);
}

int profile_open(const char *name, struct profile **ret, struct err *err)
{
	SCOPE(profile_release) struct profile *profile = calloc(1, sizeof(*profile));
	bool plain;
	int r;

	if (!profile)
		return -ENOMEM;
	name = name ?: environment_get("AWS_PROFILE");
	profile->name = strdup(name ?: "default");
	if (!profile->name)
		return -ENOMEM;
	r = open_files(profile, err);
	if (r < 0)
		return r;
	/* The section of "default" may also be called "profile default". */
	plain = strcmp(profile->name, "default") == 0 &&
		!ini_get(&profile->config, "profile default", NULL);
	profile->section = plain ? strdup(profile->name) : joined("profile", " ", profile->name);
	if (!profile->section)
		return -ENOMEM;
	if (name && !ini_get(&profile->credentials, profile->name, NULL) &&
	    !ini_get(&profile->config, profile->section, NULL))
		return err_set(err, -ENOENT, "there is no profile '%s' in %s", name,
			       profile->files);
	*ret = steal_ptr(&profile);
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	ini_release(&profile->credentials);
	ini_release(&profile->config);
	free(profile->name);
	free(profile->files);
	free(profile->section);
	free(profile);
}

const char *profile_name(const struct profile *profile)
{
	return profile->name;
}

const char *profile_files(const struct profile *profile)
{
	return profile->files;
}

const char *profile_get(const struct profile *profile, const char *name)
{
	return filled(ini_get(&profile->credentials, profile->name, name))
		       ?: filled(ini_get(&profile->config, profile->section, name));
}

const char *profile_service(const struct profile *profile, const char *service, const char *name)
{
	const char *services = profile_get(profile, "services");
	SCOPE_FREE char *section = services ? joined("services", " ", services) : NULL;
	SCOPE_FREE char *nested = joined(service, ".", name);

	return section && nested ? filled(ini_get(&profile->config, section, nested)) : NULL;
}

static bool keys_in(const struct ini *file, const char *section, struct profile_keys *ret)
{
	struct profile_keys keys = {
		.access = filled(ini_get(file, section, "aws_access_key_id")),
		.secret = filled(ini_get(file, section, "aws_secret_access_key")),
		.token = filled(ini_get(file, section, "aws_session_token")),
	};

	if (keys.access)
		*ret = keys;
	return keys.access;
}

bool profile_keys(const struct profile *profile, struct profile_keys *ret)
{
	return keys_in(&profile->credentials, profile->name, ret) ||
	       keys_in(&profile->config, profile->section, ret);
}
