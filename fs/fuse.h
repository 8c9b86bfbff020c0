/* libfuse, with the API version that this code is written against, and names for what the oldest
 * ones (3.3) lack. */
#pragma once

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <stdarg.h>

/* FUSE_VERSION does not say: it is 32 for 3.9.0. */
#ifdef FUSE_CAP_NO_OPENDIR_SUPPORT /* 3.5 */
typedef unsigned fuse_ioctl_command;
#define FUSE_KEEP_FOLDER(file)	 ((file)->cache_readdir = true)
#define FUSE_OPENS_FOLDERS(conn) (!((conn)->capable & FUSE_CAP_NO_OPENDIR_SUPPORT))
#else
typedef int fuse_ioctl_command;
#define FUSE_KEEP_FOLDER(file)	 ((void)(file))
#define FUSE_OPENS_FOLDERS(conn) ((conn)->proto_minor < 29)
#endif

/* A capability that no kernel offers. */
#ifndef FUSE_CAP_EXPLICIT_INVAL_DATA
#define FUSE_CAP_EXPLICIT_INVAL_DATA 0
#endif
#ifndef FUSE_CAP_CACHE_SYMLINKS
#define FUSE_CAP_CACHE_SYMLINKS 0
#endif

/* Before 3.7, libfuse writes to stderr itself. */
#if !__has_include(<fuse_log.h>)
enum fuse_log_level { FUSE_LOG_ERR = 3 };

static inline void fuse_set_log_func(void (*log)(enum fuse_log_level level, const char *format,
						 va_list args))
{
	(void)log;
}
#endif
