/* What `foldfs --version` says: the libraries, and what was found of that which a kernel may lack
 * and foldfs does without. */
#ifndef FS_VERSION_H
#define FS_VERSION_H

void version_print(void);

#endif
