#include "pack/foreign/archive/tar_members.h"
#include "base/date.h"
#include "base/math.h"
#include "base/size.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define EXTENDED_MOST MIB /* of an extended header: names and times */
#define PADDING_MOST  MIB /* read over after the end mark: tar pads its file to 10 KiB */

static const struct foreign_piece no_piece;

static int tar_damaged(const struct tar_members *m, const char *reason, struct err *err)
{
	return err_set(err, -EBADMSG, "member %" PRIu64 "%s%.*s%s: %s", m->number,
		       m->path.len ? " ('" : "", (int)min(m->path.len, 200),
		       m->path.len ? m->path.data : "", m->path.len ? "')" : "", reason);
}

static int cut_off_within(const struct tar_members *m, struct err *err)
{
	return tar_damaged(m, "truncated: the file ends within it", err);
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
static int take_long(struct buf *to, enum tar_said *said, const uint8_t *text, size_t len)
{
	*said = len ? TAR_SAID : TAR_NOT_SAID;
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
		return cut_off_within(m, err);
	r = foreign_get(m->source, m->at + TAR_BLOCK, (size_t)header->size, &text, err);
	if (r < 0)
		return r == -EBADMSG ? tar_damaged(m, err_text(err, r), err) : r;
	if (header->type == 'L')
		return take_long(&m->next.path, &m->next.said[TAR_PATH], text,
				 (size_t)header->size);
	if (header->type == 'K')
		return take_long(&m->next.target, &m->next.said[TAR_TARGET], text,
				 (size_t)header->size);
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

/* Unknown types are files, as POSIX has it. */
static enum archive_kind tar_kind_of(const struct tar_members *m, char type)
{
	switch (type) {
	case '1':
		return ARCHIVE_HARDLINK;
	case '2':
		return ARCHIVE_SYMLINK;
	case '3':
	case '4':
		return ARCHIVE_DEVICE;
	case '5':
	case 'D': /* of GNU tar, with a list of what was in the folder */
		return ARCHIVE_FOLDER;
	case '6':
		return ARCHIVE_PIPE;
	case 'M':
		return ARCHIVE_PART;
	case '\0':
	case '0':
	case '7':
		return ends_in_slash(&m->path) ? ARCHIVE_FOLDER : ARCHIVE_FILE;
	default:
		return ARCHIVE_FILE;
	}
}

/* Who says it: the header in front of the member, or that of all; NULL: neither. */
static const struct tar_extra *who_says(const struct tar_members *m, enum tar_field field)
{
	const struct tar_extra *who = m->next.said[field] == TAR_NOT_SAID ? &m->all : &m->next;

	return who->said[field] == TAR_SAID ? who : NULL;
}

static int read_texts(struct tar_members *m, const uint8_t *block)
{
	const struct tar_extra *path = who_says(m, TAR_PATH), *target = who_says(m, TAR_TARGET);
	const struct buf *sparse = &m->next.holes.path;
	int r;

	m->path.len = m->target.len = 0;
	if (sparse->len)
		r = buf_add(&m->path, sparse->data, sparse->len);
	else if (path)
		r = buf_add(&m->path, path->path.data, path->path.len);
	else
		r = tar_header_path(block, &m->path);
	if (r < 0)
		return r;
	return target ? buf_add(&m->target, target->target.data, target->target.len)
		      : tar_header_target(block, &m->target);
}

/* Folders and symbolic links have no bytes, whatever their size says: it may be that of the file
 * they lead to. So it is with hard links, but those of pax may have bytes: then no header follows.
 */
static int has_bytes(struct tar_members *m, char type)
{
	const uint8_t *block;
	int r;

	if (!type || !strchr("123456", type))
		return 1;
	if (type != '1')
		return 0;
	r = tar_block_at(m, m->at + TAR_BLOCK, &block);
	return r != 0 ? (r < 0 ? r : 0) : !tar_block_empty(block) && !tar_header_sound(block);
}

/* --- holes ------------------------------------------------------------------------------------ */

/* Of a sparse file by GNU tar, each header says whether another block of the map follows. */
static int read_gnu_map(struct tar_members *m, const uint8_t *block, struct err *err)
{
	enum { FIELDS = 386, MORE = 482, SIZE = 483, MORE_BEHIND = 504 };
	struct tar_holes *holes = &m->next.holes;
	bool more = block[MORE];
	int64_t size;
	int r = tar_holes_take_fields(holes, block + FIELDS, 4, err);

	if (!tar_number(block + SIZE, 12, &size) || size < 0)
		return err_set(err, -EBADMSG, "its size is no number");
	holes->size = (uint64_t)size;
	while (r == 0 && more) {
		m->at += TAR_BLOCK;
		r = tar_block_at(m, m->at, &block);
		if (r == 1)
			return err_set(err, -EBADMSG, "truncated: the file ends within it");
		if (r == 0)
			r = tar_holes_take_fields(holes, block, 21, err);
		more = r == 0 && block[MORE_BEHIND];
	}
	return r;
}

/* Takes the map in front of the bytes of the member off these. */
static int read_front_map(struct tar_members *m, uint64_t *offset, uint64_t *size, struct err *err)
{
	size_t used = 0;
	int r = 1;

	for (size_t len = TAR_BLOCK; r == 1; len *= 2) {
		const uint8_t *text;

		if (len / 2 >= min(*size, EXTENDED_MOST))
			return err_set(err, -EBADMSG, "the map of its holes has no end");
		len = (size_t)min(len, *size);
		r = foreign_get(m->source, *offset, len, &text, err);
		if (r == 0)
			r = tar_holes_take_front(&m->next.holes,
						 (struct foreign_text){(const char *)text, len},
						 &used, err);
	}
	if (r < 0)
		return r;
	used = (used + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	if (used > *size)
		return err_set(err, -EBADMSG, "the map of its holes has no end");
	*offset += used;
	*size -= used;
	return 0;
}

static int take_pieces(struct tar_members *m, uint64_t offset)
{
	const uint64_t *map = BUF_ITEMS(&m->next.holes.map, const uint64_t);
	int r = 0;

	m->pieces.len = 0;
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&m->next.holes.map, *map); i += 2) {
		struct foreign_piece piece = {map[i], offset, map[i + 1]};

		offset += piece.len;
		if (piece.len)
			r = buf_add(&m->pieces, &piece, sizeof(piece));
	}
	return r;
}

/* Sets what a member with holes has. */
static int read_holes(struct tar_members *m, struct archive_member *ret, struct err *err)
{
	const struct tar_holes *holes = &m->next.holes;
	uint64_t offset = ret->offset, stored = ret->size;
	int r = holes->in_front ? read_front_map(m, &offset, &stored, err) : 0;

	if (r == 0)
		r = tar_holes_check(holes, stored, &ret->holes, err);
	if (r == 0)
		r = take_pieces(m, offset);
	if (r < 0)
		return r;
	ret->size = holes->size;
	/* An empty map is one, too. */
	ret->pieces = m->pieces.len ? BUF_ITEMS(&m->pieces, const struct foreign_piece) : &no_piece;
	ret->piece_count = BUF_COUNT(&m->pieces, struct foreign_piece);
	return 0;
}

/* --- a member --------------------------------------------------------------------------------- */

static int read_member(struct tar_members *m, const struct tar_header *header,
		       struct archive_member *ret, struct err *err)
{
	const struct tar_extra *mtime = who_says(m, TAR_MTIME), *size = who_says(m, TAR_SIZE);
	const struct tar_extra *own = &m->next;
	bool extended = is_extended(header->type);
	int bytes = has_bytes(m, header->type), r = 0;

	*ret = (struct archive_member){
		.number = m->number,
		.kind = tar_kind_of(m, header->type),
		.path = {m->path.data, m->path.len},
		.target = {m->target.data, m->target.len},
		.label = own->label,
		.labelled = own->labelled,
		.class = {own->class.len ? own->class.data : NULL, own->class.len},
		.bad = {own->bad.data, own->bad.len},
		.mode = header->mode,
		.mtime = mtime ? mtime->mtime : date_of((struct timespec){.tv_sec = header->mtime}),
		.offset = m->at + TAR_BLOCK,
		.size = size && !extended ? size->size : header->size};
	if (bytes <= 0)
		ret->size = 0;
	if (bytes < 0)
		return bytes;
	if (ret->size > sub_sat(m->end, ret->offset))
		return cut_off_within(m, err);
	m->at = ret->offset + (ret->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	if (m->next.holes.sparse && ret->kind == ARCHIVE_FILE && !extended)
		r = read_holes(m, ret, err);
	return r == -EBADMSG ? tar_damaged(m, err_text(err, r), err) : r;
}

/* The name of a volume, and what GNU and Solaris add, are no members. */
static bool is_remark(char type)
{
	return type && strchr("VAE", type);
}

int tar_members_next(struct tar_members *m, struct archive_member *ret, struct err *err)
{
	tar_extra_release(&m->next);
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
		if (r < 0)
			return r;
		if (r == 0 && header.type == 'S')
			r = read_gnu_map(m, block, err);
		if (r == -EBADMSG)
			return tar_damaged(m, err_text(err, r), err);
		if (r == 0)
			r = read_member(m, &header, ret, err);
		if (r)
			return r;
		if (is_extended(header.type))
			continue;
		if (!is_remark(header.type)) {
			m->number++;
			return 0;
		}
		tar_extra_release(&m->next);
	}
}

void tar_members_release(struct tar_members *m)
{
	buf_release(&m->path);
	buf_release(&m->target);
	buf_release(&m->pieces);
	tar_extra_release(&m->all);
	tar_extra_release(&m->next);
}
