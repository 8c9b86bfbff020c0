/* What `foldfs --version` says: the libraries, and what was found of that which a kernel may lack
 * and foldfs does without. */
#pragma once

void version_print(void);
