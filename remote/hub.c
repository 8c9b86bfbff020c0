#include "remote/hub.h"
#include "base/scope.h"
#include "remote/environment.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DATASETS "hf://datasets/"

static const char *endpoint(void)
{
	return environment_get("HF_ENDPOINT") ?: "https://huggingface.co";
}

bool hub_is_at(const struct url *server)
{
	struct url own SCOPE(url_release) = {0};

	return url_is_below(server, "huggingface.co") ||
	       (url_parse(endpoint(), &own) == 0 && url_same_server(server, &own));
}

int hub_token_file(char **ret)
{
	const char *hub = environment_get("HF_HOME"), *cache = environment_get("XDG_CACHE_HOME");
	const char *home = environment_get("HOME");
	int len;

	if (hub)
		len = asprintf(ret, "%s/token", hub);
	else if (cache)
		len = asprintf(ret, "%s/huggingface/token", cache);
	else if (home)
		len = asprintf(ret, "%s/.cache/huggingface/token", home);
	else
		return 1;
	return len < 0 ? -ENOMEM : 0;
}

/* The bytes of "OWNER/NAME"; 0: it is not that. */
static size_t repository_len(const char *text)
{
	size_t len = 0, slashes = 0;

	for (; text[len] && text[len] != '@' && (text[len] != '/' || slashes == 0); len++) {
		char c = text[len];

		slashes += c == '/';
		if (!isalnum((unsigned char)c) && !strchr("-._/", c))
			return 0;
	}
	if (slashes == 0 || *text == '/' || *text == '.' || text[len - 1] == '/' ||
	    strstr(text, "/.") == memchr(text, '/', len))
		return 0;
	return len;
}

/* The bytes of a revision. */
static size_t revision_len(const char *text)
{
	static const char *const deep[] = {"refs/convert/", "refs/pr/"};

	for (size_t i = 0; i < sizeof(deep) / sizeof(deep[0]); i++)
		if (strncmp(text, deep[i], strlen(deep[i])) == 0)
			return strlen(deep[i]) + strcspn(text + strlen(deep[i]), "/");
	return strcspn(text, "/");
}

static int refuse_name(struct err *err)
{
	return err_set(err, -EINVAL,
		       "no file of a dataset on the Hub: hf://datasets/OWNER/NAME/PATH or "
		       "hf://datasets/OWNER/NAME@REVISION/PATH is one");
}

int hub_parse(const char *name, struct hub_name *ret, struct err *err)
{
	struct hub_name parts = {.revision = "main", .revised = strlen("main")};
	const char *path;

	if (strncasecmp(name, DATASETS, strlen(DATASETS)) != 0)
		return refuse_name(err);
	parts.repository = name + strlen(DATASETS);
	parts.owned = repository_len(parts.repository);
	path = parts.repository + parts.owned;
	if (*path == '@') {
		parts.revision = path + 1;
		parts.revised = revision_len(parts.revision);
		path = parts.revision + parts.revised;
	}
	if (parts.owned == 0 || parts.revised == 0)
		return refuse_name(err);
	parts.len = (int)(path - name);
	parts.path = path + (*path == '/');
	*ret = parts;
	return 0;
}

int hub_add(const struct hub_name *name, const char *before, const char *between, struct buf *ret)
{
	SCOPE_FREE char *revision = strndup(name->revision, name->revised);
	const char *server = endpoint();
	size_t end = strlen(server);

	while (end > 0 && server[end - 1] == '/')
		end--;
	if (!revision)
		return -ENOMEM;
	buf_addf(ret, "%.*s%s%.*s%s", (int)end, server, before, (int)name->owned, name->repository,
		 between);
	return url_encode(ret, revision, "%"); /* "a/b" becomes "a%2Fb", and "a%2Fb" stays */
}

int hub_url(const char *name, char **ret, struct err *err)
{
	SCOPE(buf_release) struct buf url = BUF_INIT;
	struct hub_name parts;
	int r = hub_parse(name, &parts, err);

	if (r == 0 && !parts.path[0])
		r = refuse_name(err);
	if (r == 0)
		r = hub_add(&parts, "/datasets/", "/resolve/", &url);
	if (r < 0)
		return r;
	buf_adds(&url, "/");
	r = url_encode(&url, parts.path, "/");
	if (r == 0)
		*ret = steal_ptr(&url.data);
	return r;
}
