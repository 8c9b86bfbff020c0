/* A growable run of bytes.
 *
 * `struct buf b = BUF_INIT` (or all zero) is empty and owns nothing; buf_release() frees
 * the bytes and leaves it empty. Appending returns 0 or -ENOMEM. A failure changes nothing, and
 * stays until buf_release(): who appends one thing after the other looks at what the last one
 * returned, or asks buf_error(). Not thread-safe. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* len bytes; not NUL-ended unless buf_addf, buf_addv or buf_adds wrote last */
	size_t len;
	size_t room;
	bool failed;
};

#define BUF_INIT ((struct buf){0})

void buf_release(struct buf *buf);

/* Makes room for `more` bytes after len. */
int buf_reserve(struct buf *buf, size_t more);
int buf_add(struct buf *buf, const void *data, size_t len);
int buf_adds(struct buf *buf, const char *text);
int buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buf_addv(struct buf *buf, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* With a backslash in front of each of these characters, among "\t\n\\", and t and n for the first
 * two. */
int buf_add_escaped(struct buf *buf, const char *text, size_t len, const char *characters);

/* 0 or -ENOMEM. */
int buf_error(const struct buf *buf);

/* A buf may hold items of one type, each added as a whole. */
#define BUF_ITEMS(buf, type) ((type *)(void *)(buf)->data)
#define BUF_COUNT(buf, type) ((buf)->len / sizeof(type))

/* qsort(3) and bsearch(3) of such items, of which there may be none. */
typedef int buf_compare_fn(const void *a, const void *b);
void buf_sort(struct buf *buf, size_t item_bytes, buf_compare_fn *compare);
void *buf_find(const struct buf *buf, const void *key, size_t item_bytes, buf_compare_fn *compare);
