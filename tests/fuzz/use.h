/* What every target of a pack does with the tree that it has. */
#pragma once

#include "pack/dataset.h"

#define USE_ENTRIES_MAX 2000

/* Asks for all there is to know of the entries, and reads some of each file: aborts where an answer
 * cannot be right. */
void use_entries(struct dataset *dataset);
