/* libfuse, with the API version that this code is written against. */
#ifndef FS_FUSE_H
#define FS_FUSE_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#endif
