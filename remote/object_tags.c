#include "remote/object_tags.h"
#include "remote/retry.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void object_tags_release(struct object_tags *tags)
{
	free(tags->url);
	*tags = (struct object_tags){0};
}

static size_t before_query(const char *url)
{
	return strcspn(url, "?#");
}

bool object_tags_are_of(const struct object_tags *tags, const char *url)
{
	size_t len = before_query(url);

	return tags->url && strncmp(tags->url, url, len) == 0 && tags->url[len] == '\0';
}

int object_tags_take(struct object_tags *tags, const char *url, const char *headers)
{
	char *copy = strndup(url, before_query(url));

	if (!copy)
		return -ENOMEM;
	free(tags->url);
	tags->url = copy;
	if (!header_find(headers, "ETag", tags->etag, TAGS_TEXT))
		*tags->etag = '\0';
	if (!header_find(headers, "Last-Modified", tags->modified, TAGS_TEXT))
		*tags->modified = '\0';
	return 0;
}

int object_tags_condition(const struct object_tags *tags, header_add_fn *add, void *context)
{
	int r = 0;

	if (retry_etag_is_strong(tags->etag))
		r = header_addf(add, context, "If-Match: %s", tags->etag);
	else if (*tags->modified)
		r = header_addf(add, context, "If-Unmodified-Since: %s", tags->modified);
	else
		return 0;
	return r < 0 ? r : 1;
}

bool object_tags_link(struct object_tags *tags, const char *headers, bool *ret_other)
{
	char linked[TAGS_TEXT];

	*ret_other = false;
	if (!header_find(headers, "X-Linked-ETag", linked, sizeof(linked)) || !*linked)
		return false;
	if (!*tags->linked && !tags->url)
		memcpy(tags->linked, linked, sizeof(linked));
	*ret_other = *tags->linked && strcmp(tags->linked, linked) != 0;
	return strcmp(tags->linked, linked) == 0;
}

void object_tags_see(struct object_tags *tags, const void *data, size_t len)
{
	tags->head_len = len < TAGS_HEAD ? len : TAGS_HEAD;
	digest_make(&(struct iovec){(void *)data, tags->head_len}, 1, tags->head);
}

bool object_tags_match(const struct object_tags *tags, const void *data)
{
	char head[DIGEST_DIGITS + 1];

	digest_make(&(struct iovec){(void *)data, tags->head_len}, 1, head);
	return strcmp(head, tags->head) == 0;
}

const char *object_tags_name(const struct object_tags *tags)
{
	if (*tags->linked)
		return tags->linked;
	return retry_etag_is_strong(tags->etag) ? tags->etag : tags->modified;
}
