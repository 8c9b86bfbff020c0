#include "pack/foreign/archive/tar_members.h"
#include "base/date.h"
#include "base/math.h"
#include "base/size.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define EXTENDED_MOST MIB /* of an extended header: names and times */
#define PADDING_MOST  MIB /* read over after the end mark: tar pads its file to 10 KiB */

static int tar_damaged(const struct tar_members *m, const char *reason, struct err *err)
{
	return err_set(err, -EBADMSG, "member %" PRIu64 "%s%.*s%s: %s", m->number,
		       m->path.len ? " ('" : "", (int)min(m->path.len, 200),
		       m->path.len ? m->path.data : "", m->path.len ? "')" : "", reason);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The block at an offset. Returns 0, 1 (less than a block is left), or the error of the read. */
static int tar_block_at(struct tar_members *m, uint64_t offset, const uint8_t **ret)
{
	size_t len;
	int r;

	if (sub_sat(m->end, offset) < TAR_BLOCK)
		return 1;
	r = foreign_peek(m->source, offset, TAR_BLOCK, ret, &len);
	return r < 0 ? r : len < TAR_BLOCK;
}

/* The end mark is one or two empty blocks. More of them may follow, and then another tar. Returns
 * as tar_block_at() for the first header of that tar, or 1 where there is none. */
static int pass_end(struct tar_members *m, const uint8_t **ret)
{
	uint64_t at = m->at, most = at + PADDING_MOST;
	int r;

	do {
		at += TAR_BLOCK;
		r = tar_block_at(m, at, ret);
	} while (r == 0 && tar_block_empty(*ret) && at < most);
	if (r == 0 && tar_header_sound(*ret))
		m->at = at;
	else if (r >= 0) {
		m->behind = sub_sat(m->end, at);
		r = 1;
	}
	return r;
}

static int next_block(struct tar_members *m, const uint8_t **ret, struct err *err)
{
	int r = tar_block_at(m, m->at, ret);

	if (r < 0)
		return r;
	if (r == 1)
		return err_set(err, -EBADMSG,
			       "no end mark behind member %" PRIu64
			       ": truncated, or not finished by its writer",
			       sub_sat(m->number, 1));
	if (tar_block_empty(*ret))
		return pass_end(m, ret);
	return tar_header_sound(*ret) ? 0 : tar_damaged(m, "a header with a wrong checksum", err);
}

/* --- headers in front of headers -------------------------------------------------------------- */

/* Their names and targets end with NUL. */
static int take_long(struct buf *to, const uint8_t *text, size_t len)
{
	to->len = 0;
	return buf_add(to, text, strnlen((const char *)text, len));
}

static bool is_extended(char type)
{
	return type && strchr("xgXLK", type);
}

static int take_extended(struct tar_members *m, const struct tar_header *header, struct err *err)
{
	const uint8_t *text;
	int r;

	if (header->size > EXTENDED_MOST)
		return tar_damaged(m, "a header of over 1 MiB in front of it", err);
	if (header->size > sub_sat(m->end, m->at + TAR_BLOCK))
		return tar_damaged(m, "truncated: the file ends within it", err);
	r = foreign_get(m->source, m->at + TAR_BLOCK, (size_t)header->size, &text, err);
	if (r < 0)
		return r == -EBADMSG ? tar_damaged(m, err_text(err, r), err) : r;
	if (header->type == 'L')
		return take_long(&m->next.path, text, (size_t)header->size);
	if (header->type == 'K')
		return take_long(&m->next.target, text, (size_t)header->size);
	r = tar_extra_read(header->type == 'g' ? &m->all : &m->next, (const char *)text,
			   (size_t)header->size, err);
	return r == -EBADMSG ? tar_damaged(m, err_text(err, r), err) : r;
}

/* --- members ---------------------------------------------------------------------------------- */

/* So old tars have folders. The name in a header may be the beginning of a long path. */
static bool ends_in_slash(const struct buf *path)
{
	return path->len && path->data[path->len - 1] == '/';
}

static enum tar_member_kind tar_kind_of(const struct tar_members *m, char type)
{
	switch (type) {
	case '\0':
	case '0':
	case '7':
		if (m->next.sparse || m->all.sparse)
			return TAR_MEMBER_SPARSE;
		return ends_in_slash(&m->path) ? TAR_MEMBER_FOLDER : TAR_MEMBER_FILE;
	case '1':
		return TAR_MEMBER_HARDLINK;
	case '2':
		return TAR_MEMBER_SYMLINK;
	case '3':
	case '4':
		return TAR_MEMBER_DEVICE;
	case '5':
	case 'D': /* of GNU tar, with a list of what was in the folder */
		return TAR_MEMBER_FOLDER;
	case '6':
		return TAR_MEMBER_PIPE;
	case 'S':
		return TAR_MEMBER_SPARSE;
	default:
		return TAR_MEMBER_UNKNOWN;
	}
}

/* Links and folders have no bytes: their size may be that of the file they lead to. */
static bool has_bytes(char type)
{
	return !type || !strchr("123456", type);
}

static int read_texts(struct tar_members *m, const uint8_t *block)
{
	const struct buf *path = m->next.path.len ? &m->next.path : &m->all.path;
	const struct buf *target = m->next.target.len ? &m->next.target : &m->all.target;
	int r;

	m->path.len = m->target.len = 0;
	r = path->len ? buf_add(&m->path, path->data, path->len) : tar_header_path(block, &m->path);
	if (r < 0)
		return r;
	return target->len ? buf_add(&m->target, target->data, target->len)
			   : tar_header_target(block, &m->target);
}

static int64_t mtime_of(const struct tar_members *m, const struct tar_header *header)
{
	if (m->next.has_mtime)
		return m->next.mtime;
	if (m->all.has_mtime)
		return m->all.mtime;
	return date_of((struct timespec){.tv_sec = header->mtime});
}

/* Of a sparse file by GNU tar, each header says whether another block of the map follows. */
static int pass_sparse_map(struct tar_members *m, const uint8_t *block, struct err *err)
{
	const uint8_t *more = block + (TAR_BLOCK - 30);
	int r = 0;

	while (r == 0 && *more) {
		m->at += TAR_BLOCK;
		r = tar_block_at(m, m->at, &block);
		more = block + (TAR_BLOCK - 8);
	}
	return r == 1 ? tar_damaged(m, "truncated: the file ends within it", err) : r;
}

static int read_member(struct tar_members *m, const struct tar_header *header,
		       struct tar_member *ret, struct err *err)
{
	uint64_t left;

	*ret = (struct tar_member){.number = m->number,
				   .kind = tar_kind_of(m, header->type),
				   .path = {m->path.data, m->path.len},
				   .target = {m->target.data, m->target.len},
				   .mode = S_IFREG | header->mode,
				   .mtime = mtime_of(m, header),
				   .offset = m->at + TAR_BLOCK,
				   .size = header->size};
	if (!is_extended(header->type) && (m->next.has_size || m->all.has_size))
		ret->size = m->next.has_size ? m->next.size : m->all.size;
	if (!has_bytes(header->type))
		ret->size = 0;
	left = sub_sat(m->end, ret->offset);
	if (ret->size > left)
		return tar_damaged(m, "truncated: the file ends within it", err);
	m->at = ret->offset + (ret->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	return 0;
}

/* The name of a volume, and what GNU and Solaris add, are no members. */
static bool is_remark(char type)
{
	return type && strchr("VAE", type);
}

int tar_members_next(struct tar_members *m, struct tar_member *ret, struct err *err)
{
	for (;;) {
		uint8_t block[TAR_BLOCK];
		struct tar_header header;
		const uint8_t *found;
		int r;

		m->path.len = 0;
		r = next_block(m, &found, err);
		if (r != 0)
			return r;
		memcpy(block, found, sizeof(block));
		r = read_texts(m, block);
		if (r == 0)
			r = tar_header_read(block, &header, err);
		if (r == -EBADMSG)
			return tar_damaged(m, err_text(err, r), err);
		if (r == 0 && is_extended(header.type))
			r = take_extended(m, &header, err);
		if (r == 0 && header.type == 'S')
			r = pass_sparse_map(m, block, err);
		if (r == 0)
			r = read_member(m, &header, ret, err);
		if (r)
			return r;
		if (is_extended(header.type))
			continue;
		tar_extra_release(&m->next);
		if (is_remark(header.type))
			continue;
		m->number++;
		return 0;
	}
}

void tar_members_release(struct tar_members *m)
{
	buf_release(&m->path);
	buf_release(&m->target);
	tar_extra_release(&m->all);
	tar_extra_release(&m->next);
}
