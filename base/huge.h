/* Memory in huge pages, where the system gives them: a device fills 4 MiB of it with one request,
 * where single pages would take four (a request has room for some 250 pieces). */
#pragma once

#include <stddef.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Reserves bytes of zeros, aligned to HUGE_PAGE; nothing is taken before it is used. NULL where
 * there is no room for it. */
char *huge_map(size_t bytes);
void huge_unmap(char *memory, size_t bytes); /* NULL is fine */
