#include "remote/open.h"
#include "base/name.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "remote/bearer.h"
#include "remote/fetch.h"
#include "remote/hub.h"
#include "remote/listing.h"
#include "remote/reader_remote.h"
#include "remote/s3.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static bool is_in_bucket(const char *name)
{
	return name_has_scheme(name, "s3") || name_has_scheme(name, "gs");
}

bool name_is_url(const char *name)
{
	return name_has_scheme(name, "http") || name_has_scheme(name, "https") ||
	       name_has_scheme(name, "hf") || is_in_bucket(name);
}

bool name_needs_programs(const char *name, const struct remote_settings *settings)
{
	return name_has_scheme(name, "s3") && !settings->anonymous;
}

/* https:/host, also where it was taken for a path relative to a list. */
static const char *find_typo(const char *name)
{
	static const char *const schemes[] = {"https:", "http:", "s3:", "gs:", "hf:"};

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		const char *at = strcasestr(name, schemes[i]);

		if (at && (at == name || at[-1] == '/'))
			return schemes[i];
	}
	return NULL;
}

/* Whether it is a link of git-annex, which leads nowhere until the file is fetched. */
static bool is_annexed(const char *path)
{
	char target[PATH_MAX] = "";

	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "/annex/objects/");
}

/* The name is no path of this machine, and no URL that can be read. */
static int refuse_absent(const char *name, int error, struct err *err)
{
	size_t scheme = name_scheme(name);
	const char *typo = find_typo(name);

	if (error != -ENOENT && error != -ENOTDIR)
		return error;
	if (scheme && name_has_scheme(name, "file"))
		return err_set(err, -ENOENT,
			       "not a local file: that is file:///PATH, with %%25 for a "
			       "percent sign");
	if (scheme)
		return err_set(err, -ENOENT,
			       "%.*s:// is not read: https://, http://, s3://, gs://, hf:// and "
			       "file:// are",
			       (int)scheme, name);
	if (is_annexed(name))
		return err_set(err, error,
			       "a link of git-annex, whose file is not here: 'git annex get' in "
			       "its folder fetches it");
	return typo ? err_set(err, error, "no such file; a URL begins with %s//", typo) : error;
}

int name_absolute(const char *name, char **ret, struct err *err)
{
	char *absolute = name_is_url(name) ? strdup(name) : realpath(name, NULL);

	if (!absolute)
		return refuse_absent(name, -errno, err);
	*ret = absolute;
	return 0;
}

int name_list(const char *name, const struct remote_settings *settings, struct remote *remote,
	      struct buf *ret, struct err *err)
{
	if ((!is_in_bucket(name) && !name_has_scheme(name, "hf")) || !listing_is_pattern(name))
		return 1;
	return listing_find(name, settings, remote, ret, err);
}

static int open_local_file(const char *path, struct reader **ret, struct err *err)
{
	SCOPE_FREE char *place = NULL;
	int r = reader_file_open(path, ret);

	if (r == 0 && name_absolute(path, &place, NULL) == 0)
		return reader_set_place(*ret, place);
	if (r == -ENOENT || r == -ENOTDIR)
		return refuse_absent(path, r, err);
	if (r == -EISDIR)
		return err_set(err, r, "a folder, not a pack");
	return r == -EINVAL ? err_set(err, r, "not a regular file") : r;
}

static int open_key(const char *name, const struct remote_settings *settings, struct remote *remote,
		    struct object_auth **ret, struct err *err)
{
	int scheme = (int)(name_scheme(name) + strlen("://"));
	int r = s3_auth_new(name, settings, remote, ret, err);

	if (r < 0 || *s3_key(name))
		return r;
	(*ret)->ops->free(*ret);
	return err_set(err, -EINVAL,
		       "no object is named: %.*sBUCKET/KEY, or %.*sBUCKET/ for all of them", scheme,
		       name, scheme, name);
}

static int open_auth(const char *name, bool apart, const struct remote_settings *settings,
		     struct remote *remote, struct object_auth **ret, struct err *err)
{
	SCOPE_FREE char *url = NULL;
	int r;

	if (is_in_bucket(name))
		return open_key(name, settings, remote, ret, err);
	if (!name_has_scheme(name, "hf"))
		return bearer_new(name, apart, settings, ret, err);
	r = hub_url(name, &url, err);
	return r < 0 ? r : bearer_new(url, apart, settings, ret, err);
}

int name_place(const char *name, const struct remote_settings *settings, struct remote *remote,
	       char **ret)
{
	struct object_auth *auth;
	int r;

	if (!name_is_url(name))
		return name_absolute(name, ret, NULL);
	r = open_auth(name, false, settings, remote, &auth, NULL);
	if (r == 0) {
		*ret = steal_ptr(&auth->place);
		auth->ops->free(auth);
	}
	return r;
}

static int open_far(const char *name, unsigned how, const struct remote_settings *settings,
		    struct remote *remote, struct reader **ret, struct err *err)
{
	SCOPE_FREE char *shown = name_shown(name);
	SCOPE(reader_release) struct reader *reader = NULL;
	struct object_auth *auth;
	int r = shown ? open_auth(name, how & READER_APART, settings, remote, &auth, err) : -ENOMEM;

	if (r < 0)
		return r == -EINVAL ? -ENOENT : r; /* the former says that a file is no pack */
	r = reader_remote_open(shown, auth, how, settings, remote, &reader, err);
	if (r == 0)
		r = reader_set_place(reader, auth->place);
	if (r == 0)
		*ret = steal_ptr(&reader);
	return r;
}

int reader_open(const char *name, unsigned how, const struct remote_settings *settings,
		struct remote *remote, struct reader **ret, struct err *err)
{
	return name_is_url(name) ? open_far(name, how, settings, remote, ret, err)
				 : open_local_file(name, ret, err);
}
