#include "base/date.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/image_kind.h"
#include "pack/xxh3.h"

/* The part that each section belongs to; 0: it is read at open. */
static const uint8_t parts[SECTION_COUNT] = {
	[SECTION_CHECKSUMS] = DATASET_CHECKSUMS, [SECTION_MODE] = DATASET_ATTRS,
	[SECTION_MTIME] = DATASET_ATTRS,	 [SECTION_IMAGE] = DATASET_IMAGES,
	[SECTION_WIDTH] = DATASET_IMAGES,	 [SECTION_HEIGHT] = DATASET_IMAGES,
};

static int load_once(struct dataset *dataset, enum format_section section,
		     struct index_section *ret, struct err *err)
{
	struct index_section loaded;
	int r = index_load_section(dataset->index_reader, &dataset->super, section, &loaded, err);

	if (r < 0)
		return r;
	if (XXH3_64bits(loaded.data, loaded.bytes) != dataset->super.sections[section].checksum) {
		free(loaded.data);
		return err_set(err, -EBADMSG, "damaged index: checksum mismatch in section %s",
			       format_section_name(section));
	}
	*ret = loaded;
	return 0;
}

void dataset_will_load(struct dataset *dataset, enum format_section section)
{
	const struct format_section_ref *ref = &dataset->super.sections[section];

	if (!atomic_load(&dataset->loaded[section]))
		reader_will_get(dataset->index_reader, ref->offset, ref->bytes);
}

/* Asks storage to read the sections of these parts together, where it can. */
static void will_load(struct dataset *dataset, unsigned wanted)
{
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		if (parts[i] == 0 ? wanted == 0 : wanted & parts[i])
			dataset_will_load(dataset, i);
}

static int load_section(struct dataset *dataset, enum format_section section, struct err *err)
{
	const struct format_section_ref *ref = &dataset->super.sections[section];
	struct reader_identity file = {.size = dataset->info.pack_bytes};
	struct index_section loaded;
	int r;

	/* The index of a foreign file may be longer than that file. */
	if (dataset->index_reader != dataset->reader &&
	    reader_identity(dataset->index_reader, &file) < 0)
		file.size = 0;
	if (ref->bytes > file.size)
		return err_set(err, -EBADMSG, "damaged superblock: section %s is too long",
			       format_section_name(section));
	r = load_once(dataset, section, &loaded, err);
	if (r == -EBADMSG && reader_bad(dataset->index_reader, ref->offset, ref->bytes))
		r = load_once(dataset, section, &loaded, err);
	if (r < 0)
		return r;
	dataset->index.sections[section] = loaded;
	atomic_store_explicit(&dataset->loaded[section], true, memory_order_release);
	return 0;
}

int dataset_need_section(struct dataset *dataset, enum format_section section, struct err *err)
{
	int r;

	if (atomic_load_explicit(&dataset->loaded[section], memory_order_acquire))
		return 0;
	SCOPE_LOCK(&dataset->lock);
	if (atomic_load_explicit(&dataset->loaded[section], memory_order_relaxed))
		return 0;
	if (!dataset->packs)
		return load_section(dataset, section, err);
	r = dataset->packs->gather(dataset, section, err);
	atomic_store_explicit(&dataset->loaded[section], r == 0, memory_order_release);
	return r;
}

int dataset_load(struct dataset *dataset, unsigned wanted, struct err *err)
{
	bool told = dataset->packs;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++) {
		if (!(wanted & parts[i]) ||
		    atomic_load_explicit(&dataset->loaded[i], memory_order_acquire))
			continue;
		if (!told)
			will_load(dataset, wanted);
		told = true;
		r = dataset_need_section(dataset, i, err);
	}
	return r;
}

int dataset_load_hot(struct dataset *dataset, struct err *err)
{
	int r = 0;

	will_load(dataset, 0);
	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++)
		if (parts[i] == 0)
			r = load_section(dataset, i, err);
	return r;
}

int dataset_say_fault(const struct dataset *dataset, uint32_t entry, const char *damage,
		      const char *text, dataset_fault_fn *found, void *context)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_fault fault = {.damage = damage, .text = text, .entry = entry};
	int r = dataset_path(dataset, entry, &path);

	fault.path = path.data;
	fault.len = path.len;
	return r < 0 ? r : found(context, &fault);
}

/* Of a section or the superblock, by its key. */
static int fault_in_index(const struct format_key *key, const char *damage, const char *text,
			  dataset_fault_fn *found, void *context)
{
	const struct dataset_fault fault = {
		.damage = damage, .text = text, .path = (const char *)key->data, .len = key->len};

	return found(context, &fault);
}

static bool has_content_id(const struct dataset *dataset)
{
	return dataset->super.compat & FORMAT_CONTENT_ID;
}

static bool counts_hold(const struct dataset *dataset)
{
	const struct format_super *super = &dataset->super;
	struct format_super counted = {0};

	index_count(&dataset->index, &counted);
	return counted.files == super->files && counted.directories == super->directories &&
	       counted.symlinks == super->symlinks && counted.hardlinks == super->hardlinks &&
	       counted.bytes == super->bytes;
}

int dataset_check_sections(struct dataset *dataset, dataset_fault_fn *found, void *context)
{
	uint8_t id[FORMAT_ID_BYTES];
	struct format_key key;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++) {
		struct err err = {0};

		format_key_section(i, &key);
		r = dataset_need_section(dataset, i, &err);
		if (r < 0 && r != -ENOMEM)
			r = fault_in_index(&key, r == -EBADMSG ? "index" : DAMAGE_UNREADABLE,
					   err_text(&err, r), found, context);
	}
	format_key_super(&key);
	if (r == 0 && !counts_hold(dataset))
		r = fault_in_index(&key, "index", "its counts are not those of its entries", found,
				   context);
	if (r < 0 || !has_content_id(dataset) || !atomic_load(&dataset->loaded[SECTION_CHECKSUMS]))
		return r;
	r = index_content_id(&dataset->index, id);
	if (r == 0 && memcmp(id, dataset->super.content_id, sizeof(id)) != 0)
		r = fault_in_index(&key, "index", "its content id is not that of its files", found,
				   context);
	return r;
}

static void packs_free(struct dataset_packs *packs)
{
	if (!packs)
		return;
	for (unsigned i = 0; i < packs->count; i++)
		dataset_free(packs->all[i]);
	free(packs->origins);
	free(packs->firsts);
	free(packs);
}

void dataset_free(struct dataset *dataset)
{
	if (!dataset)
		return;
	reader_free(dataset->reader);
	if (dataset->index_reader != dataset->reader)
		reader_free(dataset->index_reader);
	for (size_t i = 0; i < sizeof(dataset->below) / sizeof(dataset->below[0]); i++)
		reader_free(dataset->below[i]);
	index_release(&dataset->index);
	packs_free(dataset->packs);
	dataset_free(dataset->base);
	free(dataset->name);
	pthread_mutex_destroy(&dataset->lock);
	free(dataset);
}

/* Several packs may be the base of a delta, and a delta one of several packs. */
struct dataset *dataset_file_of(struct dataset *dataset, uint64_t extent)
{
	uint64_t offset =
		extent < dataset->index.extents ? dataset_extent(dataset, extent).offset : 0;

	while (dataset->packs || dataset->base) {
		unsigned volume = reader_volumes_find(dataset->reader, offset);

		if (dataset->base && volume)
			break;
		offset -= reader_volumes_start(dataset->reader, volume);
		dataset = dataset->base ? dataset->base : dataset->packs->all[volume];
	}
	return dataset;
}

const char *dataset_pack_name(const struct dataset *dataset, uint64_t extent)
{
	return dataset_file_of((struct dataset *)dataset, extent)->name;
}

const struct dataset_info *dataset_info(const struct dataset *dataset)
{
	return &dataset->info;
}

struct reader *dataset_reader(const struct dataset *dataset)
{
	return dataset->reader;
}

uint32_t dataset_entries(const struct dataset *dataset)
{
	return dataset->index.entries;
}

struct dataset_entry dataset_entry(const struct dataset *dataset, uint32_t entry)
{
	const struct index *index = &dataset->index;
	struct dataset_entry ret = {.kind = index_kind(index, entry),
				    .parent = (uint32_t)index_get(index, SECTION_PARENT, entry),
				    .inode = index_inode(index, entry),
				    .holder = index_holder(index, entry)};

	ret.name = index_name(index, entry, &ret.name_len);
	ret.size = index_get(index, SECTION_SIZE, ret.inode);
	if (ret.kind == FORMAT_DIRECTORY) {
		ret.first_child = (uint32_t)index_get(index, SECTION_START, entry);
		ret.children = (uint32_t)ret.size;
		ret.size = 0;
	}
	return ret;
}

struct dataset_child dataset_child(const struct dataset *dataset, uint32_t entry)
{
	const struct index *index = &dataset->index;
	struct dataset_child ret = {.kind = index_kind(index, entry),
				    .inode = index_inode(index, entry)};

	ret.name = index_name(index, entry, &ret.name_len);
	return ret;
}

int dataset_lookup(const struct dataset *dataset, uint32_t directory, const char *name, size_t len,
		   uint32_t *ret)
{
	return index_lookup(&dataset->index, directory, name, len, ret);
}

int dataset_find(const struct dataset *dataset, const char *path, size_t len, uint32_t *ret)
{
	return index_find(&dataset->index, path, len, ret);
}

int dataset_path(const struct dataset *dataset, uint32_t entry, struct buf *path)
{
	return index_path(&dataset->index, entry, path);
}

int dataset_attr(struct dataset *dataset, uint32_t entry, struct dataset_attr *ret)
{
	const struct index *index = &dataset->index;
	bool directory = index_kind(index, entry) == FORMAT_DIRECTORY;
	uint64_t first, count = 0;
	int r = dataset_load(dataset, DATASET_ATTRS, NULL);

	if (r < 0)
		return r;
	entry = index_inode(index, entry);
	*ret = (struct dataset_attr){
		.mode = (mode_t)index_get(index, SECTION_MODE, entry) & 07777,
		.nlink = directory ? 2 : 1 + index_link_count(index, entry),
		.mtime = date_time((int64_t)index_get(index, SECTION_MTIME, entry)),
	};
	first = index_get(index, SECTION_START, entry);
	if (directory)
		count = index_get(index, SECTION_SIZE, entry);
	for (uint64_t e = first; e < first + count; e++)
		ret->nlink += index_kind(index, (uint32_t)e) == FORMAT_DIRECTORY;
	return 0;
}

int dataset_image(struct dataset *dataset, uint32_t entry, struct dataset_image *ret)
{
	const struct index *index = &dataset->index;
	int r = dataset_load(dataset, DATASET_IMAGES, NULL);
	uint64_t kind;

	if (r < 0)
		return r;
	entry = index_inode(index, entry);
	kind = index_get(index, SECTION_IMAGE, entry);
	*ret = (struct dataset_image){
		.kind = kind < IMAGE_KINDS ? (enum format_image)kind : IMAGE_UNKNOWN,
		.width = (uint32_t)index_get(index, SECTION_WIDTH, entry),
		.height = (uint32_t)index_get(index, SECTION_HEIGHT, entry),
	};
	if (ret->kind == IMAGE_UNKNOWN && dataset_is_unchecked(dataset)) {
		size_t len;
		const char *name = index_name(index, entry, &len);

		ret->kind = image_named(name, len);
	}
	return 0;
}

bool dataset_is_unchecked(const struct dataset *dataset)
{
	return dataset->super.incompat & FORMAT_UNCHECKED;
}

uint64_t dataset_left_out(const struct dataset *dataset)
{
	return dataset_is_unchecked(dataset) ? dataset->super.left_out : 0;
}

bool dataset_is_delta(const struct dataset *dataset)
{
	return dataset->super.incompat & FORMAT_DELTA;
}

bool dataset_lacks_base(const struct dataset *dataset)
{
	return dataset_is_delta(dataset) && !dataset->base;
}

int dataset_content_id(struct dataset *dataset, char ret[static FORMAT_ID_TEXT])
{
	uint8_t id[FORMAT_ID_BYTES];
	int r = 0;

	if (dataset_is_unchecked(dataset))
		return -ENODATA;
	memcpy(id, dataset->super.content_id, sizeof(id));
	if (!has_content_id(dataset)) {
		r = dataset_load(dataset, DATASET_CHECKSUMS, NULL);
		if (r == 0)
			r = index_content_id(&dataset->index, id);
	}
	if (r == 0)
		format_id_text(id, ret);
	return r;
}

int dataset_whole_id(struct dataset *dataset, char ret[static FORMAT_ID_TEXT])
{
	uint8_t id[FORMAT_ID_BYTES];
	int r;

	if (dataset_is_unchecked(dataset))
		return -ENODATA;
	if (!dataset->packs) {
		format_id_text(dataset->super.id, ret);
		return 0;
	}
	r = dataset_load(dataset, DATASET_ATTRS | DATASET_CHECKSUMS, NULL);
	if (r < 0)
		return r;
	index_id(&dataset->index, id);
	format_id_text(id, ret);
	return 0;
}

const char *dataset_target(const struct dataset *dataset, uint32_t entry, size_t *ret_len)
{
	const struct index *index = &dataset->index;

	*ret_len = index_get(index, SECTION_SIZE, entry);
	return (const char *)index->sections[SECTION_TARGETS].data +
	       index_get(index, SECTION_START, entry);
}

uint64_t dataset_extents(const struct dataset *dataset)
{
	return dataset->index.extents;
}

uint64_t dataset_first_extent(const struct dataset *dataset, uint32_t entry)
{
	return index_first_extent(&dataset->index, index_inode(&dataset->index, entry));
}

struct dataset_extent dataset_extent(const struct dataset *dataset, uint64_t extent)
{
	const struct index *index = &dataset->index;
	struct dataset_extent ret;
	uint64_t number, size, start;
	uint32_t holder;

	ret.entry = index_extent_entry(index, extent, &number);
	holder = index_holder(index, ret.entry);
	size = index_get(index, SECTION_SIZE, holder);
	start = index_get(index, SECTION_START, holder);
	ret.file = extent - number;
	ret.file_end = ret.file + format_extents(size);
	ret.from = number * FORMAT_EXTENT;
	ret.size = (uint32_t)(size - ret.from < FORMAT_EXTENT ? size - ret.from : FORMAT_EXTENT);
	if (index_kind(index, holder) == FORMAT_SPLIT)
		ret.offset = index_get(index, SECTION_PARTS, start + ret.from / FORMAT_PART) +
			     ret.from % FORMAT_PART;
	else
		ret.offset = start + ret.from;
	return ret;
}

uint64_t dataset_suffix(const struct dataset *dataset, uint32_t entry)
{
	size_t len;
	const char *name = index_name(&dataset->index, entry, &len);
	const char *dot = len > 1 ? memrchr(name + 1, '.', len - 1) : NULL;

	return dot ? XXH3_64bits(dot, (size_t)(name + len - dot)) : 0;
}

int dataset_checksum(struct dataset *dataset, uint64_t extent, uint64_t *ret)
{
	int r = dataset_load(dataset, DATASET_CHECKSUMS, NULL);

	if (r < 0)
		return r;
	if (extent >= dataset->index.sections[SECTION_CHECKSUMS].count)
		return -EBADMSG;
	*ret = index_get(&dataset->index, SECTION_CHECKSUMS, extent);
	return *ret == 0 && dataset_is_unchecked(dataset) ? -ENODATA : 0;
}

int dataset_check(struct dataset *dataset, uint64_t extent, const struct iovec *iov, int count)
{
	uint64_t checksum;
	XXH3_state_t state;
	int r = dataset_checksum(dataset, extent, &checksum);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (count == 1)
		return XXH3_64bits(iov->iov_base, iov->iov_len) == checksum ? 0 : -EBADMSG;
	XXH3_64bits_reset(&state);
	for (int i = 0; i < count; i++)
		XXH3_64bits_update(&state, iov[i].iov_base, iov[i].iov_len);
	return XXH3_64bits_digest(&state) == checksum ? 0 : -EBADMSG;
}

static int read_checked(struct dataset *dataset, uint64_t extent, const struct dataset_extent *x,
			void *buf)
{
	const struct iovec iov = {.iov_base = buf, .iov_len = x->size};
	int r = reader_get_full(dataset->reader, buf, x->size, x->offset);

	return r < 0 ? r : dataset_check(dataset, extent, &iov, 1);
}

/* Goes through a buffer of its own, one extent at a time, so that only checked bytes get out. */
static ssize_t read_extent(struct dataset *dataset, uint64_t extent, void *scratch, uint64_t from,
			   void *buf, size_t len)
{
	struct dataset_extent x = dataset_extent(dataset, extent);
	int r;

	from -= x.from;
	if (len > x.size - from)
		len = (size_t)(x.size - from);
	r = read_checked(dataset, extent, &x, scratch);
	if (r == -EBADMSG && reader_bad(dataset->reader, x.offset, x.size))
		r = read_checked(dataset, extent, &x, scratch);
	if (r < 0)
		return r == -ENODATA ? -EBADMSG : r;
	memcpy(buf, (char *)scratch + from, len);
	return (ssize_t)len;
}

ssize_t dataset_read(struct dataset *dataset, uint32_t entry, void *buf, size_t len, uint64_t from)
{
	SCOPE_FREE void *scratch = NULL;
	uint64_t size, first;
	size_t done = 0;

	entry = index_inode(&dataset->index, entry);
	size = index_get(&dataset->index, SECTION_SIZE, entry);
	if (from >= size)
		return 0;
	if (len > size - from)
		len = (size_t)(size - from);
	first = dataset_first_extent(dataset, entry);
	scratch = malloc(size < FORMAT_EXTENT ? (size_t)size : FORMAT_EXTENT);
	if (!scratch)
		return -ENOMEM;
	while (done < len) {
		uint64_t at = from + done;
		ssize_t n = read_extent(dataset, first + at / FORMAT_EXTENT, scratch, at,
					(char *)buf + done, len - done);

		if (n < 0)
			return n;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
