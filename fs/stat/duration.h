/* Times as people read them. */
#pragma once

#include "base/size.h"

/* "3 d 4 h", "2 h 5 min", "12 s": the two largest units, less what is 0 of them. Returns buf. */
const char *duration_format(uint64_t seconds, char buf[static SIZE_TEXT]);

/* "12 us", "1.25 ms", "3.4 s": three significant digits. Returns buf. */
const char *latency_format(uint64_t us, char buf[static SIZE_TEXT]);
