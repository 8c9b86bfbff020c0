/* Opens a dataset, from a pack or from an index of its own, and notices that its file has changed.
 */
#include "pack/dataset_open.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/options.h"
#include "pack/xxh3.h"

/* One number that changes when the identity does. */
static uint64_t stamp_of(const struct reader_identity *identity)
{
	return XXH3_64bits(identity, sizeof(*identity));
}

static bool same_state(const struct format_lmdb_state *a, const struct format_lmdb_state *b)
{
	return memcmp(a, b, sizeof(*a)) == 0; /* nothing but u64 */
}

static int load_hot(struct dataset *dataset, struct err *err)
{
	int r;

	dataset->index.entries = (uint32_t)dataset->super.entries;
	r = dataset_load_hot(dataset, err);
	if (r < 0)
		return r;
	if (dataset->info.relocated)
		index_forget_offsets(&dataset->index);
	return index_check(&dataset->index, dataset->info.pack_bytes, err);
}

/* What index_check() does not see. */
static int check_whole(const struct dataset *dataset, struct err *err)
{
	const struct index_section *kinds = &dataset->index.sections[SECTION_KIND];
	uint64_t checksums = dataset->super.sections[SECTION_CHECKSUMS].count;

	if (checksums != dataset->index.extents)
		return err_set(err, -EBADMSG, "damaged index: %llu checksums for %llu extents",
			       (unsigned long long)checksums,
			       (unsigned long long)dataset->index.extents);
	/* Without its bit, a delta would be taken for a pack. */
	if (!dataset_is_delta(dataset) && memchr(kinds->data, FORMAT_BASE, kinds->bytes))
		return err_set(err, -EBADMSG, "damaged index: the bytes of files are not in it");
	return 0;
}

static int load_pack_index(struct dataset *dataset, struct walker *walker, struct err *err)
{
	struct err first = {0};
	bool moved = false;
	int r = -EBADMSG;

	dataset->opened = index_lmdb_state(walker_info(walker));
	/* On far storage each page of a walk is a round trip. A superblock that names this state of
	 * the LMDB knows where the sections are, and their checksums prove it. */
	if (reader_hints(dataset->reader).remote) {
		r = index_guess_super(dataset->reader, walker_info(walker)->page_size,
				      &dataset->super, &first);
		if (r == 0)
			r = same_state(&dataset->opened, &dataset->super.lmdb)
				    ? load_hot(dataset, &first)
				    : -EBADMSG;
	}
	/* The LMDB may not be in the state that its superblock names. */
	if (r == -EBADMSG || r == -ENOMSG || r == -EINPROGRESS || r == -EPROTONOSUPPORT ||
	    r == -ENODATA) {
		index_release(&dataset->index);
		for (unsigned i = 0; i < SECTION_COUNT; i++)
			atomic_store(&dataset->loaded[i], false);
		r = index_read_super(dataset->reader, walker, &dataset->super, err);
		if (r == 0)
			r = index_find_sections(walker, &dataset->super, &moved, err);
		/* Sections may have moved although the state is the same by chance. */
		dataset->info.relocated =
			moved || !same_state(&dataset->opened, &dataset->super.lmdb);
		if (r == 0)
			r = load_hot(dataset, err);
	} else if (first.text[0]) {
		err_set(err, r, "%s", first.text);
	}
	if (r == 0)
		r = check_whole(dataset, err);
	if (r == 0 && dataset->info.relocated)
		r = index_locate(&dataset->index, walker, err);
	if (r == 0 || r == -EBADMSG)
		r = walker_check_end(walker, err) < 0 ? -EBADMSG : r;
	return r;
}

/* The labels are the last line of the options. */
void dataset_fill_info(struct dataset *dataset)
{
	static const char name[] = "labels=";
	struct dataset_info *info = &dataset->info;
	const struct index_section *options = &dataset->index.sections[SECTION_OPTIONS];
	const char *at = (const char *)options->data, *end = at + options->bytes;
	struct option_line line;

	info->super = &dataset->super;
	format_id_text(dataset->super.id, info->id);
	info->options = at;
	info->options_len = options->bytes;
	info->labels = end;
	info->labels_len = 0;
	while (options_next(&at, end, &line))
		if (line.len >= strlen(name) && memcmp(line.text, name, strlen(name)) == 0) {
			info->labels = line.text + strlen(name);
			info->labels_len = (size_t)(end - info->labels);
			info->labels_len -= info->labels_len && end[-1] == '\n';
			info->options_len = (size_t)(line.text - info->options);
			break;
		}
}

static int look_at_file(struct dataset *dataset)
{
	int r = reader_identity(dataset->reader, &dataset->seen);

	if (r < 0)
		return r;
	atomic_store(&dataset->seen_stamp, stamp_of(&dataset->seen));
	dataset->info.pack_bytes = dataset->seen.size;
	return 0;
}

struct dataset *dataset_new(struct reader *reader)
{
	struct dataset *dataset = calloc(1, sizeof(*dataset));

	if (!dataset)
		return NULL;
	pthread_mutex_init(&dataset->lock, NULL);
	dataset->reader = dataset->index_reader = reader;
	return dataset;
}

/* On failure the readers stay the caller's. */
static int finish_open(struct dataset *dataset, int r, struct dataset **ret)
{
	if (r < 0) {
		dataset->reader = dataset->index_reader = NULL;
		dataset_free(dataset);
		return r;
	}
	dataset_fill_info(dataset);
	*ret = dataset;
	return 0;
}

int dataset_try_reader(struct reader *reader, struct dataset **ret, struct err *err)
{
	struct dataset *dataset = dataset_new(reader);
	SCOPE(walker_release) struct walker *walker = NULL;
	int r;

	if (!dataset)
		return -ENOMEM;
	r = look_at_file(dataset);
	if (r == 0)
		r = walker_new(reader, &walker, err);
	if (r == 0)
		r = load_pack_index(dataset, walker, err);
	return finish_open(dataset, r, ret);
}

/* --- an index that is a file of its own ------------------------------------------------------- */

int dataset_open_index(struct dataset_readers *readers, struct dataset **ret, struct err *err)
{
	struct dataset *dataset = dataset_new(readers->data);
	struct reader_identity container;
	uint8_t super[FORMAT_SUPER_BYTES];
	int r;

	if (!dataset)
		return -ENOMEM;
	dataset->index_reader = readers->index;
	r = look_at_file(dataset);
	if (r == 0)
		r = reader_get_full(readers->index, super, sizeof(super), 0);
	if (r == 0)
		r = format_super_decode(super, sizeof(super), &dataset->super, err);
	if (r == 0)
		r = index_check_shape(&dataset->super, err);
	if (r == 0)
		r = load_hot(dataset, err);
	if (r == 0)
		r = check_whole(dataset, err);
	r = finish_open(dataset, r, ret);
	if (r < 0)
		return r;
	if (readers->below[0] && reader_identity(readers->below[0], &container) == 0)
		dataset->info.pack_bytes = container.size;
	if (readers->stored)
		dataset->info.pack_bytes = readers->stored;
	memcpy(dataset->below, readers->below, sizeof(dataset->below));
	*readers = (struct dataset_readers){0};
	return 0;
}

void dataset_close_index(struct dataset *dataset, struct dataset_readers *ret)
{
	*ret = (struct dataset_readers){
		.index = dataset->index_reader,
		.data = dataset->reader,
		.below = {dataset->below[0], dataset->below[1], dataset->below[2]}};
	dataset->reader = dataset->index_reader = NULL;
	dataset->below[0] = dataset->below[1] = dataset->below[2] = NULL;
	dataset_free(dataset);
}

void dataset_readers_release(struct dataset_readers *readers)
{
	reader_free(readers->data);
	reader_free(readers->index);
	for (size_t i = 0; i < sizeof(readers->below) / sizeof(readers->below[0]); i++)
		reader_free(readers->below[i]);
}

int dataset_open(const char *path, struct dataset **ret, struct err *err)
{
	struct reader *reader;
	int r = reader_file_open(path, &reader);

	if (r == -EISDIR)
		return err_set(err, r, "a folder, not a pack");
	if (r == -EINVAL)
		return err_set(err, r, "not a regular file");
	if (r < 0)
		return r;
	r = dataset_try_reader(reader, ret, err);
	if (r < 0)
		reader_free(reader);
	return r;
}

const char *dataset_way_out(int error)
{
	switch (error) {
	case -ENOMSG:
	case -EISDIR:
		return "; 'foldpack create' makes packs";
	case -EINPROGRESS:
		return "; 'foldpack create --resume SOURCE PACK' continues it";
	case -EPROTONOSUPPORT:
		return "; use the release that made it, or pack the folder again";
	case -EBADMSG:
		return "; copy it again from an intact copy, or make it again";
	default:
		return "";
	}
}

/* Of its own file: a delta reads its base as well. */
static struct reader *file_reader(const struct dataset *dataset)
{
	return dataset->base ? dataset->index_reader : dataset->reader;
}

enum state { STATE_SAME, STATE_OTHER, STATE_UNKNOWN };

/* Whether the LMDB is still in the state in which it was opened. Unknown: storage fails. */
static enum state look_at_state(const struct dataset *dataset)
{
	SCOPE(walker_release) struct walker *walker = NULL;
	struct format_lmdb_state now;
	int r;

	if (dataset->index_reader != file_reader(dataset))
		return STATE_SAME;
	r = walker_new(file_reader(dataset), &walker, NULL);
	if (r == 0)
		r = walker_check_end(walker, NULL);
	if (r == -EBADMSG || r == -EINVAL || r == -EPROTONOSUPPORT)
		return STATE_OTHER;
	if (r < 0)
		return STATE_UNKNOWN;
	now = index_lmdb_state(walker_info(walker));
	return same_state(&now, &dataset->opened) ? STATE_SAME : STATE_OTHER;
}

int dataset_unchanged(struct dataset *dataset, uint64_t extent)
{
	enum state state = STATE_OTHER;
	struct reader_identity now;

	dataset = dataset_file_of(dataset, extent);
	if (atomic_load_explicit(&dataset->stale, memory_order_relaxed))
		return -ESTALE;
	/* If storage fails, so does the read that follows; and that may be repeated. */
	if (reader_identity(file_reader(dataset), &now) < 0)
		return 0;
	if (stamp_of(&now) == atomic_load_explicit(&dataset->seen_stamp, memory_order_relaxed))
		return 0;
	SCOPE_LOCK(&dataset->lock);
	/* The file has changed. A rename or chmod is harmless, a write is not. */
	if (reader_identity_same(&now, &dataset->seen))
		state = look_at_state(dataset);
	if (state == STATE_OTHER) {
		atomic_store(&dataset->stale, true);
		return -ESTALE;
	}
	if (state == STATE_SAME) {
		dataset->seen = now;
		atomic_store(&dataset->seen_stamp, stamp_of(&now));
	}
	return 0;
}
