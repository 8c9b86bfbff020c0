/* From -errno to a reply: the one place where the sign changes. */
#ifndef FS_REPLY_H
#define FS_REPLY_H

#include "fs/fuse.h"
#include <errno.h>

/* Whatever is wrong with the pack, to a reader of one file it is EIO. */
static inline int reply_errno(int error)
{
	switch (error) {
	case -EBADMSG:
	case -ENODATA:
	case -ESTALE:
		return EIO;
	default:
		return -error;
	}
}

static inline void reply_error(fuse_req_t req, int error)
{
	fuse_reply_err(req, reply_errno(error));
}

#endif
