/* What a program asks of the limits that its shell or batch system gave it (ulimit). */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/err.h"

/* To be called first. From then on a write beyond `ulimit -f` fails with EFBIG, where it would end
 * the program by SIGXFSZ, and threads have enough stack, whatever `ulimit -s` says. -ERANGE: that
 * leaves the main thread too little. */
int limits_begin(struct err *err);

#endif
