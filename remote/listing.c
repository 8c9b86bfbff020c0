#include "remote/listing.h"
#include "base/name.h"
#include "base/scope.h"
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <time.h>

#define TRIES	   4
#define TIMEOUT_MS 30000
#define HEADERS	   8

int listing_add(const struct listing *listing, const char *path, struct buf *names)
{
	buf_addf(names, "%.*s/%s", listing->root, listing->name, path);
	return buf_add(names, "", 1);
}

int listing_take(struct listing *listing, const char *path)
{
	if (!listing->exact && strcmp(path, listing->pattern) == 0) {
		listing->exact = true;
		listing->found->len = 0;
	} else if (listing->exact || name_is_index(path) ||
		   fnmatch(listing->pattern, path, FNM_PATHNAME | FNM_PERIOD) != 0) {
		return 0;
	}
	return listing_add(listing, path, listing->found);
}

/* Header lines, NULL-ended. */
struct header_lines {
	char *all[HEADERS + 1];
	size_t count;
};

static void header_lines_release(struct header_lines *lines)
{
	while (lines->count)
		free(lines->all[--lines->count]);
}

static int add_header_line(void *context, const char *line)
{
	struct header_lines *lines = context;
	char *copy = lines->count < HEADERS ? strdup(line) : NULL;

	if (!copy)
		return -ENOMEM;
	lines->all[lines->count++] = copy;
	return 0;
}

int listing_ask(const struct listing *listing, const char *url, struct listing_page *ret,
		struct err *err)
{
	struct url parts SCOPE(url_release) = {0};
	struct header_lines lines SCOPE(header_lines_release) = {0};
	const struct fetch request = {.method = "GET",
				      .url = url,
				      .headers = (const char *const *)lines.all,
				      .timeout_ms = TIMEOUT_MS,
				      .most = LISTING_BYTES,
				      .ret_headers = &ret->headers,
				      .settings = listing->settings};
	int r = url_parse(url, &parts);

	if (r == 0)
		r = listing->auth->ops->sign(listing->auth, &parts, add_header_line, &lines);
	if (r < 0)
		return r;
	ret->authorized = lines.count;
	for (int i = 0; i < TRIES; i++) {
		nanosleep(&(struct timespec){i / 2, i % 2 * 500000000L}, NULL);
		r = listing->fetch(&request, &ret->status, &ret->body, err);
		if (r != -EIO && r != -ETIMEDOUT &&
		    (r < 0 || (ret->status != 429 && ret->status < 500)))
			break;
	}
	return r;
}

void listing_page_release(struct listing_page *page)
{
	buf_release(&page->headers);
	buf_release(&page->body);
	*page = (struct listing_page){0};
}
