#include "remote/open.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "remote/bearer.h"
#include "remote/fetch.h"
#include "remote/reader_remote.h"
#include "remote/s3.h"
#include <errno.h>
#include <string.h>
#include <strings.h>

static bool has_scheme(const char *name, const char *scheme)
{
	size_t len = strlen(scheme);

	return strncasecmp(name, scheme, len) == 0 && strncmp(name + len, "://", 3) == 0;
}

bool name_is_url(const char *name)
{
	return has_scheme(name, "http") || has_scheme(name, "https") || has_scheme(name, "s3");
}

bool name_needs_programs(const char *name, const struct remote_settings *settings)
{
	return has_scheme(name, "s3") && !settings->anonymous;
}

/* Where the URL begins in NAME/=URL and @URL; otherwise the word itself. */
static char *skip_marks(char *word)
{
	char *below = name_is_url(word) ? NULL : strstr(word, "/=");

	if (below)
		word = below + 2;
	return word + (*word == '@');
}

void name_hide_secrets(char *word)
{
	char *name = skip_marks(word);
	size_t len = strlen(name), shown, host;
	const char *user;

	if (!has_scheme(name, "http") && !has_scheme(name, "https"))
		return;
	shown = strcspn(name, "?#");
	host = (size_t)(strstr(name, "://") + 3 - name);
	user = memrchr(name + host, '@', strcspn(name + host, "/?#"));
	if (user) {
		size_t secret = (size_t)(user + 1 - name) - host;

		memmove(name + host, user + 1, shown - host - secret);
		shown -= secret;
	}
	explicit_bzero(name + shown, len - shown);
}

char *name_absolute(const char *name)
{
	return name_is_url(name) ? strdup(name) : realpath(name, NULL);
}

char *name_shown(const char *name)
{
	char *shown = strdup(name);

	if (shown)
		name_hide_secrets(shown);
	return shown;
}

static int open_file(const char *path, struct reader **ret, struct err *err)
{
	int r = reader_file_open(path, ret);

	if (r == -EISDIR)
		return err_set(err, r, "a directory, not a pack");
	return r == -EINVAL ? err_set(err, r, "not a regular file") : r;
}

int reader_open(const char *name, const struct remote_settings *settings, struct remote *remote,
		struct reader **ret, struct err *err)
{
	SCOPE_FREE char *shown = NULL;
	struct object_auth *auth;
	int r;

	if (!name_is_url(name))
		return open_file(name, ret, err);
	shown = name_shown(name);
	if (!shown)
		return -ENOMEM;
	r = has_scheme(name, "s3") ? s3_auth_new(name, settings, fetch, &auth, err)
				   : bearer_new(name, &auth, err);
	return r < 0 ? r : reader_remote_open(shown, auth, settings, remote, ret, err);
}
