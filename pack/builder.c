#include "base/scope.h"
#include "pack/builder_internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <xxhash.h>

static void release(struct builder *builder)
{
	store_free(builder->store);
	if (builder->fd >= 0)
		close(builder->fd);
	free(builder->path);
	free(builder->partial);
	free(builder->options);
	buf_release(&builder->nodes);
	buf_release(&builder->names);
	buf_release(&builder->targets);
	buf_release(&builder->sums);
	free(builder);
}

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	if (builder->fd >= 0 && !builder->finished)
		unlink(builder->partial);
	release(builder);
}

static int copy_params(struct builder *builder, const struct builder_params *params)
{
	builder->path = strdup(params->path);
	builder->options = strdup(params->options ? params->options : "");
	builder->replace = params->replace;
	if (!builder->path || !builder->options ||
	    asprintf(&builder->partial, "%s.partial", params->path) < 0)
		return -ENOMEM;
	return 0;
}

static int check_target(const struct builder *builder, struct err *err)
{
	struct stat st;

	if (lstat(builder->path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "exists and is not a regular file");
	return builder->replace ? 0 : err_set(err, -EEXIST, "exists");
}

/* Between open and flock, another run may have finished: the file is a pack by now. */
static bool still_named(int fd, const char *path)
{
	struct stat here, there;

	return fstat(fd, &here) == 0 && lstat(path, &there) == 0 && here.st_dev == there.st_dev &&
	       here.st_ino == there.st_ino;
}

/* A partial file that nobody holds locked is the remains of a killed run. Filesystems
 * without locks cannot tell: there the last one to start wins. */
static int create_partial(struct builder *builder, struct err *err)
{
	int fd = open(builder->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_set(err, -errno, "cannot create '%s': %s", builder->partial,
			       strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(fd);
		return err_set(err, -EBUSY, "another foldpack is writing '%s'", builder->partial);
	}
	if (!still_named(fd, builder->partial)) {
		close(fd);
		return err_set(err, -EBUSY, "another foldpack has just written '%s'",
			       builder->path);
	}
	builder->fd = fd;
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

static int add_root(struct builder *builder)
{
	struct builder_node root = {.kind = FORMAT_DIRECTORY, .state = NODE_DONE, .mode = 0755};

	return buf_add(&builder->nodes, &root, sizeof(root));
}

int builder_new(const struct builder_params *params, struct builder **ret, struct err *err)
{
	struct builder *builder = calloc(1, sizeof(*builder));
	int r;

	if (!builder)
		return -ENOMEM;
	builder->fd = -1;
	r = copy_params(builder, params);
	if (r == 0)
		r = check_target(builder, err);
	if (r == 0)
		r = create_partial(builder, err);
	if (r == 0)
		r = add_root(builder);
	if (r == 0)
		r = store_new(builder->partial, &builder->store);
	if (r < 0) {
		builder_free(builder);
		return r;
	}
	*ret = builder;
	return 0;
}

/* Times that 64 bits of nanoseconds cannot hold, before 1677 and after 2262, become the
 * nearest that they can. */
static int64_t to_ns(struct timespec time)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)time.tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, time.tv_nsec, &ns))
		return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

void builder_root(struct builder *builder, mode_t mode, struct timespec mtime)
{
	struct builder_node *root = builder_node(builder, BUILDER_ROOT);

	root->mode = (uint16_t)(mode & 07777);
	root->mtime = to_ns(mtime);
}

static bool is_file(const struct builder *builder, uint32_t id)
{
	return id < builder_count(builder) && (builder_node(builder, id)->kind == FORMAT_FILE ||
					       builder_node(builder, id)->kind == FORMAT_SPLIT);
}

static int check_entry(const struct builder *builder, const struct builder_entry *entry,
		       struct err *err)
{
	uint32_t count = builder_count(builder);

	if (!format_name_valid(entry->name, entry->name_len))
		return err_set(err, -EINVAL, "not a name that a pack can hold");
	if (count == UINT32_MAX)
		return err_set(err, -EOVERFLOW, "more than %u entries", UINT32_MAX);
	if (entry->parent >= count ||
	    builder_node(builder, entry->parent)->kind != FORMAT_DIRECTORY)
		return err_set(err, -EINVAL, "its parent is not a directory");
	if (entry->kind == FORMAT_SYMLINK && (!entry->target || entry->target_len == 0))
		return err_set(err, -EINVAL, "a symbolic link without target");
	if (entry->kind == FORMAT_HARDLINK && !is_file(builder, entry->link_to))
		return err_set(err, -EINVAL, "a hard link to something that is not a file");
	return 0;
}

int builder_add(struct builder *builder, const struct builder_entry *entry, uint32_t *ret_id,
		struct err *err)
{
	struct builder_node node = {
		.parent = entry->parent,
		.name = builder->names.len,
		.name_len = (uint8_t)entry->name_len,
		.kind = (uint8_t)entry->kind,
		.state = entry->kind == FORMAT_FILE ? NODE_EMPTY : NODE_DONE,
		.mode = (uint16_t)(entry->mode & 07777),
		.mtime = to_ns(entry->mtime),
	};
	int r = check_entry(builder, entry, err);

	if (r == 0)
		r = buf_add(&builder->names, entry->name, entry->name_len);
	if (r < 0)
		return r;
	if (entry->kind == FORMAT_SYMLINK) {
		node.start = builder->targets.len;
		node.size = entry->target_len;
		r = buf_add(&builder->targets, entry->target, entry->target_len);
	} else if (entry->kind == FORMAT_HARDLINK) {
		node.start = entry->link_to;
	}
	if (r == 0)
		r = buf_add(&builder->nodes, &node, sizeof(node));
	if (r == 0)
		*ret_id = builder_count(builder) - 1;
	return r;
}

int builder_path(const struct builder *builder, uint32_t id, struct buf *path)
{
	size_t total = 0;
	char *at;
	int r;

	for (uint32_t n = id; n != BUILDER_ROOT; n = builder_node(builder, n)->parent)
		total += builder_node(builder, n)->name_len + 1u;
	path->len = 0;
	r = buf_reserve(path, total + 1);
	if (r < 0)
		return r;
	path->len = total ? total - 1 : 0;
	at = path->data + path->len;
	*at = '\0';
	for (uint32_t n = id; n != BUILDER_ROOT; n = builder_node(builder, n)->parent) {
		const struct builder_node *node = builder_node(builder, n);

		at -= node->name_len;
		memcpy(at, builder->names.data + node->name, node->name_len);
		if (node->parent != BUILDER_ROOT)
			*--at = '/';
	}
	return 0;
}

/* One record: reserves its space, has the source fill it, sums its extents. */
static int store_record(struct builder *builder, const struct format_key *key,
			const struct builder_source *source, uint64_t size)
{
	void *space;
	int r = store_put(builder->store, key->data, key->len, size, &space);

	if (r < 0 || size == 0)
		return r;
	r = source->read(source->context, space, size);
	for (uint64_t at = 0; r == 0 && at < size; at += FORMAT_EXTENT) {
		uint64_t len = size - at < FORMAT_EXTENT ? size - at : FORMAT_EXTENT;
		uint64_t sum = XXH3_64bits((char *)space + at, len);

		r = buf_add(&builder->sums, &sum, sizeof(sum));
	}
	if (r < 0) {
		memset(space, 0, size); /* its pages may reach the file yet */
		store_delete(builder->store, key->data, key->len);
	}
	return r;
}

static int store_parts(struct builder *builder, const struct buf *path,
		       const struct builder_source *source)
{
	struct format_key key;
	uint32_t part = 0;
	int r = 0;

	for (uint64_t left = source->size; left && r == 0; part++) {
		uint64_t size = left < FORMAT_PART ? left : FORMAT_PART;

		format_key_part(path->data, path->len, part, &key);
		r = store_record(builder, &key, source, size);
		left -= size;
	}
	/* The part that failed has taken itself out. */
	for (uint32_t done = 0; r < 0 && done + 1 < part; done++) {
		format_key_part(path->data, path->len, done, &key);
		store_delete(builder->store, key.data, key.len);
	}
	return r;
}

int builder_store(struct builder *builder, uint32_t id, const struct builder_source *source,
		  struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct builder_node *node = builder_node(builder, id);
	uint64_t first_sum = builder->sums.len / sizeof(uint64_t);
	struct format_key key;
	int r = builder_path(builder, id, &path);

	if (r < 0)
		return r;
	if (node->kind != FORMAT_FILE || node->state != NODE_EMPTY)
		return err_set(err, -EINVAL, "not a file that still wants its bytes");
	if (format_parts(source->size)) {
		r = store_parts(builder, &path, source);
	} else {
		format_key_path(path.data, path.len, &key);
		r = store_record(builder, &key, source, source->size);
	}
	if (r < 0) {
		builder->sums.len = first_sum * sizeof(uint64_t);
		return r == -EEXIST ? err_set(err, r, "two entries have this path") : r;
	}
	node->state = NODE_DONE;
	node->start = first_sum;
	node->size = source->size;
	if (format_parts(source->size))
		node->kind = FORMAT_SPLIT;
	return 0;
}

void builder_image(struct builder *builder, uint32_t id, const struct dataset_image *image)
{
	struct builder_node *node = builder_node(builder, id);

	node->image = (uint8_t)image->kind;
	node->width = image->width;
	node->height = image->height;
}

void builder_library(int *ret_major, int *ret_minor, int *ret_patch)
{
	store_library(ret_major, ret_minor, ret_patch);
}

void builder_drop(struct builder *builder, uint32_t id)
{
	builder_node(builder, id)->state = NODE_DROPPED;
}
