/* What this process may do beyond its user: capabilities(7). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether it has one, by its number. */
bool capabilities_have(unsigned capability);
/* Keeps those of a mask by their numbers, as UINT64_C(1) << CAP_KILL, that it has. */
void capabilities_keep(uint64_t mask);
