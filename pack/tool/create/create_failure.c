#include "base/io.h"
#include "base/log.h"
#include "base/size.h"
#include "pack/tool/create/create.h"
#include "pack/tool/create/target.h"

/* What the user can do about it, to end the sentence. */
static const char *way_out(const struct create *create, int error)
{
	switch (error) {
	case -EEXIST:
		return target_replaceable(create->report.pack) ? "; --force replaces it" : "";
	case -EINPROGRESS:
		return "; --resume continues it, --force starts again";
	case -EFBIG:
		return create->source.dataset
			       ? ": 'ulimit -f' or the filesystem allows no larger one"
			       : ": 'ulimit -f' or the filesystem allows no larger one; "
				 "--shard-size makes several";
	case -ENOSPC: /* before there is a builder */
	case -EDQUOT:
		return "; make room, or choose another place for PACK";
	case -ESTALE:
	case -EPROTONOSUPPORT:
		return "; --force without --resume starts again";
	default:
		return "";
	}
}

/* A partial file that cannot be resumed is removed first, so that the message counts its space as
 * free. The builder stays: threads that read ahead still ask it for names. */
static int fail_full(struct create *create)
{
	char free_text[SIZE_TEXT], need_text[SIZE_TEXT], need[2 * SIZE_TEXT] = "";
	struct builder_kept kept = {0};
	bool resumable = builder_kept(create->builder, &kept);

	progress_clear(&create->report.progress);
	if (!resumable)
		builder_discard(create->builder);
	if (create->need > kept.bytes)
		snprintf(need, sizeof(need), ", about %s %sneeded",
			 size_format(create->need - kept.bytes, need_text),
			 resumable ? "more " : "");
	return log_fail(CREATE_REPORTED, "%s: the disk is full: %s free%s; %s", create->report.pack,
			size_format(target_free(create->report.pack), free_text), need,
			resumable ? "make room" : "choose another place for PACK");
}

int create_fail(struct create *create, int error, const struct err *err)
{
	if (error == CREATE_REPORTED || error == CREATE_REFUSED || error == CREATE_DAMAGED)
		return error;
	if (error == -ENOSPC && create->builder)
		return fail_full(create);
	progress_clear(&create->report.progress);
	create->vain |= error == -ESTALE || io_is_refused(error);
	return log_fail(CREATE_REPORTED, "%s: %s%s", create->report.pack, err_text(err, error),
			way_out(create, error));
}
