/* A growable run of bytes.
 *
 * `struct buf b = BUF_INIT` (or all zero) is empty and owns nothing; buf_release() frees
 * the bytes and leaves it empty. Appending returns 0 or -ENOMEM and changes nothing on
 * failure. Not thread-safe. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* len bytes; not NUL-ended unless buf_addf or buf_adds wrote last */
	size_t len;
	size_t room;
};

#define BUF_INIT ((struct buf){0})

void buf_release(struct buf *buf);

/* Makes room for `more` bytes after len. */
int buf_reserve(struct buf *buf, size_t more);
int buf_add(struct buf *buf, const void *data, size_t len);
int buf_adds(struct buf *buf, const char *text);
int buf_addf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
