#include "remote/profile.h"
#include "base/scope.h"
#include "remote/environment.h"
#include "remote/ini.h"
#include <errno.h>
#include <string.h>

struct profile {
	char *name, *files;
	struct ini *credentials, *config;
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
	r = ini_open(credentials, &profile->credentials, err);
	return r < 0 ? r : ini_open(config, &profile->config, err);
}

/* The section of "default" may also be called "profile default". */
static int find_section(struct profile *profile)
{
	bool plain = strcmp(profile->name, "default") == 0 &&
		     !ini_get(profile->config, "profile default", NULL);

	profile->section = plain ? strdup(profile->name) : joined("profile", " ", profile->name);
	return profile->section ? 0 : -ENOMEM;
}

int profile_open(const char *name, struct profile **ret, struct err *err)
{
	SCOPE(profile_release) struct profile *profile = calloc(1, sizeof(*profile));
	int r;

	if (!profile)
		return -ENOMEM;
	if (!name)
		name = environment_get("AWS_PROFILE");
	profile->name = strdup(name ? name : "default");
	if (!profile->name)
		return -ENOMEM;
	r = open_files(profile, err);
	if (r == 0)
		r = find_section(profile);
	if (r < 0)
		return r;
	if (name && !ini_get(profile->credentials, profile->name, NULL) &&
	    !ini_get(profile->config, profile->section, NULL))
		return err_set(err, -ENOENT, "there is no profile '%s' in %s", name,
			       profile->files);
	*ret = steal_ptr(&profile);
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	ini_free(profile->credentials);
	ini_free(profile->config);
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
	const char *value = filled(ini_get(profile->credentials, profile->name, name));

	return value ? value : filled(ini_get(profile->config, profile->section, name));
}

const char *profile_service(const struct profile *profile, const char *service, const char *name)
{
	const char *services = profile_get(profile, "services");
	SCOPE_FREE char *section = services ? joined("services", " ", services) : NULL;
	SCOPE_FREE char *nested = joined(service, ".", name);

	return section && nested ? filled(ini_get(profile->config, section, nested)) : NULL;
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
	return keys_in(profile->credentials, profile->name, ret) ||
	       keys_in(profile->config, profile->section, ret);
}
