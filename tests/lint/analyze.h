/* What clang-tidy 14 has to know to follow our errors: a code that went through err_set(), or comes
 * from errno, is a failure still. For `make analyze`; included before each file. */
#pragma once

#include "base/err.h"
#include <errno.h>

int analyze_some(void);

/* Which number it is, nobody knows. */
static inline int *analyze_errno(void)
{
	static int number;

	number = analyze_some() ? EIO : analyze_some() ? ENOENT : EINTR;
	return &number;
}

#undef errno
#define errno (*analyze_errno())

#define err_set(err, code, ...)                          \
	({                                               \
		const int analyze_code = (code);         \
		err_set(err, analyze_code, __VA_ARGS__); \
		analyze_code;                            \
	})
