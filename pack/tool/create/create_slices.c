/* Several packs of one folder. Each is made by a run of its own, with the same options. */
#include "pack/tool/create/create_slices.h"

#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/create/create_annotations.h"
#include "pack/tool/create/create_inputs.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

void slice_run_release(struct slice_run *run)
{
	if (run->owned)
		slices_free(run->slices);
	buf_release(&run->scanned);
}

bool create_is_cut(const struct create *create)
{
	return create->options.cut.size || create->options.cut.part;
}

/* Parses a number of digits only, at most `most`. */
static bool parse_count(const char **text, uint32_t most, uint32_t *ret)
{
	const char *start = *text;
	uint64_t value = 0;

	for (; **text >= '0' && **text <= '9' && value <= most; ++*text)
		value = value * 10 + (uint64_t)(**text - '0');
	*ret = (uint32_t)value;
	return *text > start && value <= most;
}

/* Whether {} is between single quotes with other text, where the shell leaves "$1" as it is. */
static bool is_quoted(const char *command)
{
	bool single = false, twice = false;

	for (const char *at = command; *at; at++) {
		if (*at == '\\' && !single && at[1])
			at++;
		else if (*at == '"' && !single)
			twice = !twice;
		else if (*at == '\'' && !twice)
			single = !single;
		else if (single && strncmp(at, "{}", 2) == 0 && (at[-1] != '\'' || at[2] != '\''))
			return true;
	}
	return false;
}

int create_take_slices(struct create *create)
{
	struct slice_options *cut = &create->options.cut;
	const char *text = cut->part;

	if (cut->size && cut->size < MIB)
		return create_usage_error("'--shard-size': at least 1M");
	if (cut->size && text)
		return create_usage_error("'--part' and '--shard-size' do not go together");
	if (cut->done && !cut->size)
		return create_usage_error("'--shard-done' goes with '--shard-size' only");
	if (cut->done && !strstr(cut->done, "{}"))
		return create_usage_error("'--shard-done': no {}, where the path of a pack goes");
	if (cut->done && is_quoted(cut->done))
		return create_usage_error(
			"'--shard-done': {} is within quotes, where it is no path: "
			"sh -c '... \"$1\" ...' sh {}");
	if (!text)
		return EXIT_DONE;
	if (!parse_count(&text, SLICES_MOST, &cut->first) || *text++ != '/' ||
	    !parse_count(&text, SLICES_MOST, &cut->many) || *text || cut->first >= cut->many)
		return create_usage_error("'--part': K/N, with K from 0 to N - 1");
	return EXIT_DONE;
}

static int cut_folder(struct create *create)
{
	const struct create_options *options = &create->options;
	const struct import_dir_params params = create_folder_params(create);
	struct slices_cut cut = {.size = options->cut.size, .parts = options->cut.many};
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct err err = {0};
	int r = create_options_text(create, &text);

	if (r < 0)
		return r;
	cut.seed = XXH3_64bits(text.data, text.len);
	progress_begin(&create->progress, "looking", cmd_progress(&options->common));
	create->held = &create->slice.scanned;
	r = slices_new(&params.scan, params.order, &cut, &create->slice.slices, &err);
	create->held = NULL;
	create->slice.owned = r == 0;
	progress_clear(&create->progress);
	return r < 0 && err.text[0] ? create_fail(create, r, &err) : r;
}

int create_cut(struct create *create)
{
	const struct builder *entries;
	uint64_t count;
	int r = 0;

	if (transform_decodes(&create->how))
		create_warn_of_bitmaps(create);
	r = cut_folder(create);
	if (r < 0)
		return r;
	entries = slices_entries(create->slice.slices, &count);
	return create_look_ahead(create, entries, count);
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

/* The bytes that later packs of this run will take; none if only a part is packed. Where packs are
 * handed over, the one before gives its room back. */
static uint64_t later_bytes(const struct create *create, uint32_t slice)
{
	const struct slice_options *cut = &create->options.cut;
	uint32_t count = slices_count(create->slice.slices);
	uint64_t bytes = 0;

	if (cut->many)
		return 0;
	if (cut->done)
		count = slice == 0 && count > 1 ? 2 : 0;
	for (uint32_t i = slice + 1; i < count; i++)
		bytes += slices_bytes(create->slice.slices, i);
	return bytes;
}

static int name_slice(const struct create *create, uint32_t slice, char **ret)
{
	SCOPE(buf_release) struct buf names = BUF_INIT;
	uint32_t count = slices_count(create->slice.slices);
	int r = add_name(&names, create->pack, slice, count);

	if (r == 0 && create->options.bad_list)
		r = add_name(&names, create->options.bad_list, slice, count);
	if (r == 0)
		*ret = steal_ptr(&names.data);
	return r;
}

void create_slices(const struct create *create, uint32_t *ret_first, uint32_t *ret_end)
{
	const struct slice_options *cut = &create->options.cut;

	*ret_first = cut->first;
	*ret_end = cut->many ? cut->first + 1 : slices_count(create->slice.slices);
}

int create_slice(struct create *create, uint32_t slice, struct create *one, char **ret_names)
{
	struct shard shard;
	int r = name_slice(create, slice, ret_names);

	if (r < 0)
		return r;
	*one = (struct create){.options = create->options,
			       .source = create->source,
			       .pack = *ret_names,
			       .root = fcntl(create->root, F_DUPFD_CLOEXEC, 0),
			       .how = create->how,
			       .transforms = create->transforms,
			       .images = create->images,
			       .slice = {.slices = create->slice.slices,
					 .number = slice,
					 .later = later_bytes(create, slice),
					 .handover = create->slice.handover,
					 .scanned = create->slice.scanned},
			       .counts = create->counts};
	create->slice.scanned = BUF_INIT;
	create->counts = (struct create_counts){0};
	one->watch = create_watch(one);
	if (one->options.bad_list)
		one->options.bad_list = *ret_names + strlen(*ret_names) + 1;
	shard = slices_shard(create->slice.slices, slice);
	shard_write(&shard, one->options.cut.text);
	return one->root < 0 ? -errno : 0;
}
