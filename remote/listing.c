#include "remote/listing.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/bounds.h"
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <time.h>

#define TRIES	   4
#define TIMEOUT_MS 30000
#define HEADERS	   8

static int check_name(const char *path, struct err *err)
{
	return strlen(path) <= BOUND_NAME ? 0
					  : err_set(err, -E2BIG, "it has a name of over %u KiB",
						    (unsigned)(BOUND_NAME / KIB));
}

int listing_add(struct listing *listing, const char *path, struct buf *names, struct err *err)
{
	if (check_name(path, err) < 0)
		return -E2BIG;
	if (listing->taken++ == BOUND_NAMES)
		return err_set(err, -E2BIG, "over %u files match", BOUND_NAMES);
	buf_addf(names, "%.*s/%s", listing->root, listing->name, path);
	return buf_add(names, "", 1);
}

/* A long name would be compared for long. */
int listing_take(struct listing *listing, const char *path, struct err *err)
{
	if (check_name(path, err) < 0)
		return -E2BIG;
	if (!listing->exact && strcmp(path, listing->pattern) == 0) {
		listing->exact = true;
		listing->found->len = 0;
	} else if (listing->exact || name_is_index(path) ||
		   fnmatch(listing->pattern, path, FNM_PATHNAME | FNM_PERIOD) != 0) {
		return 0;
	}
	return listing_add(listing, path, listing->found, err);
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

int listing_ask(struct listing *listing, const char *url, struct listing_page *ret, struct err *err)
{
	struct url parts SCOPE(url_release) = {0};
	struct header_lines lines SCOPE(header_lines_release) = {0};
	const struct fetch request = {.method = "GET",
				      .url = url,
				      .headers = (const char *const *)lines.all,
				      .timeout_ms = TIMEOUT_MS,
				      .most = BOUND_PAGE,
				      .ret_headers = &ret->headers,
				      .settings = listing->settings};
	int r = url_parse(url, &parts);

	if (listing->pages++ == BOUND_PAGES)
		return err_set(err, -E2BIG, "its listing has over %u pages", BOUND_PAGES);
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
