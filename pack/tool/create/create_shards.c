/* Several packs of one folder, each made by a run of its own, with the same options. With
 * --shard-done no more than two lie here at a time: one is handed over while the next one is
 * packed. A pack whose command fails stays, and the run goes on; it is named at the end. */
#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include "pack/tool/create/handover.h"
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

/* Scans SOURCE, and cuts it as the options say. 0, CREATE_REPORTED, CREATE_REFUSED or -errno. */
static int cut_folder(struct create *create)
{
	const struct create_options *options = &create->options;
	const struct import_dir_params params = create_folder_params(create);
	struct slices_cut cut = {.size = options->cut.size, .parts = options->cut.many};
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct err err = {0};
	int r = create_options_text(options, NULL, &text);

	if (r < 0)
		return r;
	cut.seed = XXH3_64bits(text.data, text.len);
	progress_begin(&create->report.progress, "looking", cmd_progress(&options->common));
	r = slices_new(&params.scan, params.order, &cut, &create->slice.slices, &err);
	progress_clear(&create->report.progress);
	if (r < 0)
		return err.text[0] ? create_fail(create, r, &err) : r;
	return create_look_ahead(create, slices_entries(create->slice.slices));
}

/* "x.lmdb" -> "x-00003-of-00015.lmdb" */
static int add_name(struct buf *names, const char *path, uint32_t slice, uint32_t count)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t before = dot && dot > name ? (size_t)(dot - path) : strlen(path);

	return buf_addf(names, "%.*s-%05" PRIu32 "-of-%05" PRIu32 "%s%c", (int)before, path, slice,
			count, path + before, '\0');
}

/* Begins a slice, with `names` of its own for the pack and for the list of bad inputs. */
static int begin_slice(struct create *create, uint32_t slice, struct buf *names)
{
	const char *bad_list = create->options.bad_list;
	struct create_cut *cut = &create->options.cut;
	const struct slices *slices = create->slice.slices;
	uint32_t count = slices_count(slices), later = cut->many ? 0 : count;
	struct shard shard = slices_shard(slices, slice);
	int r = add_name(names, create->report.pack, slice, count);

	if (r == 0 && bad_list)
		r = add_name(names, bad_list, slice, count);
	if (r < 0)
		return r;
	create->slice.number = slice;
	create->slice.later = 0;
	/* Where packs are handed over, the one before gives its room back. */
	if (cut->done)
		later = slice == 0 && count > 1 ? 2 : 0;
	for (uint32_t i = slice + 1; i < later; i++)
		create->slice.later += slices_bytes(slices, i);
	create_begin(create, names->data);
	if (bad_list)
		create->options.bad_list = names->data + strlen(names->data) + 1;
	shard_write(&shard, cut->text);
	return 0;
}

static bool is_done(int status)
{
	return status == EXIT_DONE || status == EXIT_SKIPPED;
}

/* Makes the pack of a slice, and hands it over, once the one before is taken. 0; -EINTR: that was
 * not; or -errno. *ret is the exit status of a pack. */
static int pack_slice(struct create *create, uint32_t slice, int *ret)
{
	const char *pack = create->report.pack, *bad_list = create->options.bad_list;
	struct handover *handover = create->slice.handover;
	SCOPE(buf_release) struct buf names = BUF_INIT;
	int r = begin_slice(create, slice, &names);

	if (r == 0)
		*ret = create_pack(create);
	create_end(create);
	create->options.bad_list = bad_list;
	create_begin(create, pack);
	if (r < 0 || !handover || !is_done(*ret))
		return r;
	r = handover_await(handover);
	return r < 0 ? r : handover_begin(handover, names.data);
}

static void release_handover(struct handover **handover)
{
	handover_free(*handover);
}

/* Each pack stands alone: --resume goes on with the one that was interrupted, and leaves those
 * before it as they are. */
int create_shards(struct create *create)
{
	const struct create_cut *cut = &create->options.cut;
	SCOPE(release_handover) struct handover *handover = NULL;
	int status = EXIT_DONE, last = EXIT_DONE, r;
	const char *refused;
	uint32_t end;

	if (transform_decodes(&create->options.how))
		create_warn_of_bitmaps(create);
	r = cut_folder(create);
	if (r == 0 && cut->done)
		r = handover_new(cut->done, &handover);
	create->slice.handover = handover;
	end = cut->many || r < 0 ? cut->first + 1 : slices_count(create->slice.slices);
	for (uint32_t slice = cut->first; r == 0 && slice < end && is_done(last); slice++) {
		r = pack_slice(create, slice, &last);
		if (last != EXIT_DONE)
			status = last;
	}
	last = handover_await(handover);
	r = r < 0 ? r : last;
	if (r == -EINTR)
		return create_interrupted(create);
	refused = handover_refused(handover);
	if (r == 0 && refused)
		r = log_fail(CREATE_REPORTED, "not taken by the command of --shard-done: %s",
			     refused);
	return r < 0 ? create_failed(create, r) : status;
}
