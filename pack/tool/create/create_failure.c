#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
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

/* A warning before an hour of packing is better than a failure after it. What is in the pack
 * already needs no more room. */
int create_check_space(struct create *create)
{
	uint64_t available = target_free(create->report.pack), need;
	char free_text[SIZE_TEXT], need_text[SIZE_TEXT];
	struct builder_kept kept = {0};
	bool sure;

	builder_kept(create->builder, &kept);
	need = sub_sat(create->need, kept.bytes);
	if (available == 0 || available >= need)
		return 0;
	sure = !create->options.dedup &&
	       available < sub_sat(create->import->bytes + create->slice.later, kept.bytes);
	size_format(need, need_text);
	size_format(available, free_text);
	if (!sure || create->options.anyway) {
		log_notice("%s: about %s needed, only %s free", create->report.pack, need_text,
			   free_text);
		return 0;
	}
	return log_fail(
		CREATE_REPORTED,
		"%s: about %s needed, only %s free; make room, choose another place for PACK, or "
		"use --anyway if the filesystem compresses",
		create->report.pack, need_text, free_text);
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

bool create_log_kept(struct create *create, const char *words)
{
	char files[SIZE_TEXT], bytes[SIZE_TEXT];
	struct builder_kept kept;

	if (!create->builder || !builder_kept(create->builder, &kept))
		return false;
	create->report.counts.bytes_before = kept.bytes;
	log_notice("%s: %s %s, %s", create->report.pack, words,
		   count_noun(kept.files, "file", files), size_format(kept.bytes, bytes));
	return true;
}
