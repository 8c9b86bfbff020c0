/* Texts that are zeroed before their memory is freed. */
#pragma once

#include "base/buf.h"
#include <stdlib.h>
#include <string.h>

/* NULL is fine. */
static inline void secret_free(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

/* The buf must have been reserved once and never grown: growing leaves copies in memory. */
static inline void secret_buf_release(struct buf *buf)
{
	if (buf->data)
		explicit_bzero(buf->data, buf->room);
	buf_release(buf);
}

/* For SCOPE(). */
static inline void secret_release(char **text)
{
	secret_free(*text);
}
