#include "base/clock.h"
#include "base/lines.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SAY_EVERY 1024 /* files */
#define SAY_FIRST (3 * CLOCK_SECOND)
#define SAY_AGAIN (15 * CLOCK_SECOND)

#define PIECE_MOST ((uint64_t)1 << 30) /* bytes of a row of pieces */
#define HOLES_MOST ((uint64_t)1 << 40) /* bytes of a file that are in no piece */
#define FILES_MOST (UINT32_MAX / 2)    /* with their folders: entries are counted in 32 bits */

/* --- lists ------------------------------------------------------------------------------------ */

static int note_uncounted(struct foreign_tree *tree, const char *list, uint64_t line, size_t label)
{
	SCOPE_FREE char *text = NULL;

	if (asprintf(&text,
		     "%s: empty lines and comments are not counted: line %" PRIu64 " is label %zu",
		     list, line, label) < 0)
		return -ENOMEM;
	foreign_tree_note(tree, &(struct notice){.text = text});
	return 0;
}

static int find_items(struct foreign_tree *tree, struct tree_list *list, struct err *err)
{
	bool noted = list != &tree->classes;
	struct foreign_text item;
	struct err why = {0};
	uint64_t last = 0;
	struct lines lines;
	int r = lines_begin(list->text.data, list->text.len, &lines, &why);

	if (r < 0)
		return err_set(err, r, "%s: %s", list->name, why.text);
	while (r == 0 && lines_next(&lines, &item.data, &item.len)) {
		size_t number = BUF_COUNT(&list->items, item);

		r = buf_add(&list->items, &item, sizeof(item));
		/* A label is the place of its name in the list, which may not be what a blank line
		 * meant. */
		if (r == 0 && number && lines.line != last + 1 && !noted) {
			r = note_uncounted(tree, list->name, lines.line, number);
			noted = true;
		}
		last = lines.line;
	}
	if (r == 0 && list->items.len == 0)
		r = err_set(err, -EINVAL, "%s: an empty list", list->name);
	return r;
}

static int read_list(struct foreign_tree *tree, const char *name, struct tree_list *ret,
		     struct err *err)
{
	int r;

	if (!name)
		return 0;
	ret->name = name;
	r = foreign_read_named(tree->source, name, &ret->text, err);
	return r < 0 ? r : find_items(tree, ret, err);
}

int foreign_tree_init(struct foreign_tree *tree, struct foreign_source *source, struct err *err)
{
	int r;

	*tree = (struct foreign_tree){.source = source, .notes = NOTICES_INIT, .most_label = -1};
	r = read_list(tree, source->settings->classes, &tree->classes, err);
	foreign_text_flatten(tree->classes.text.data, tree->classes.text.len);
	if (r < 0)
		return r;
	tree_choose_folders(tree);
	return read_list(tree, source->settings->names, &tree->names, err);
}

void foreign_tree_release(struct foreign_tree *tree)
{
	buf_release(&tree->rows);
	buf_release(&tree->paths);
	buf_release(&tree->targets);
	buf_release(&tree->text);
	buf_release(&tree->made);
	buf_release(&tree->members);
	buf_release(&tree->members_text);
	notices_release(&tree->notes);
	buf_release(&tree->classes.text);
	buf_release(&tree->classes.items);
	buf_release(&tree->names.text);
	buf_release(&tree->names.items);
	label_classes_release(&tree->found);
	free(tree->prefix);
	reader_free(tree->unpacked);
}

int foreign_tree_restart(struct foreign_tree *tree, struct err *err)
{
	struct foreign_source *source = tree->source;

	foreign_tree_release(tree);
	return foreign_tree_init(tree, source, err);
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Pieces come one after the other, within the file and within its size; what lies between them is
 * bounded, as a row stands for so many bytes of it. */
static int check_pieces(const struct foreign_file *file, uint64_t all, struct err *err)
{
	uint64_t end = 0, stored = 0;

	for (size_t i = 0; i < file->piece_count; i++) {
		const struct foreign_piece *piece = &file->pieces[i];

		if (piece->offset > all || piece->len > all - piece->offset)
			return err_set(err, -EBADMSG,
				       "record %" PRIu64 ": a piece of it is not in the file",
				       file->record);
		if (piece->at < end || piece->at > file->size ||
		    piece->len > file->size - piece->at)
			return err_set(err, -EBADMSG,
				       "record %" PRIu64 ": a piece of it is out of order",
				       file->record);
		end = piece->at + piece->len;
		stored += piece->len;
	}
	return file->size - stored <= HOLES_MOST
		       ? 0
		       : err_set(err, -EBADMSG, "record %" PRIu64 ": nearly all of it is holes",
				 file->record);
}

/* Whether its bytes lie in the source, or in its page, or in what was unpacked. */
static int check_place(const struct foreign_tree *tree, const struct foreign_file *file,
		       struct err *err)
{
	uint64_t bytes = file->pixels ? foreign_pixels_bytes(file->pixels) : file->size;
	struct reader_identity unpacked = {0};
	uint64_t all = tree->source->size;

	if (file->packed)
		all = file->packed->size;
	else if (file->unpacked)
		all = tree->unpacked && reader_identity(tree->unpacked, &unpacked) == 0
			      ? unpacked.size
			      : 0;
	if (file->pixels && (bytes == 0 || file->size != bytes))
		return err_set(err, -EBADMSG,
			       "record %" PRIu64 ": %" PRIu64 " bytes are not %u x %u pixels",
			       file->record, file->size, file->pixels->width, file->pixels->height);
	if (file->pieces)
		return check_pieces(file, all, err);
	if (file->offset > all || bytes > all - file->offset)
		return err_set(err, -EBADMSG,
			       "record %" PRIu64 ": its %" PRIu64 " bytes at %" PRIu64
			       " are not all in the %s",
			       file->record, bytes, file->offset, file->packed ? "page" : "file");
	return 0;
}

static int add_made(struct foreign_tree *tree, const struct virtual_row *row)
{
	tree->virtual_end = virtual_end(row);
	return buf_add(&tree->made, row, sizeof(*row));
}

/* Adds bytes of the source, and zeros behind them. */
static int add_piece(struct foreign_tree *tree, uint64_t offset, uint64_t len, uint64_t all)
{
	int r = 0;

	while (r == 0 && all > 0) {
		uint64_t piece = min(all, PIECE_MOST), stored = min(len, piece);
		const struct virtual_row made = {
			.start = tree->virtual_end,
			.offset = offset,
			.is_page = true,
			.page = {(uint32_t)stored, (uint32_t)piece, CODEC_HOLE}};

		r = add_made(tree, &made);
		offset += stored;
		len -= stored;
		all -= piece;
	}
	return r;
}

/* A file whose bytes are not as they are in the source. */
static int add_by_rows(struct foreign_tree *tree, const struct foreign_file *file,
		       struct tree_row *row)
{
	const struct foreign_piece *pieces = file->pieces;
	const struct foreign_packed *page = file->packed;
	/* The last piece ends where the next row may begin. */
	uint64_t end = (file->size + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
	struct virtual_row made = {.start = tree->virtual_end, .offset = file->offset};
	int r = 0;

	row->volume = TREE_MADE;
	row->offset = tree->virtual_end;
	if (pieces) {
		r = add_piece(tree, 0, 0, file->piece_count ? pieces[0].at : end);
		for (size_t i = 0; r == 0 && i < file->piece_count; i++)
			r = add_piece(tree, pieces[i].offset, pieces[i].len,
				      (i + 1 < file->piece_count ? pieces[i + 1].at : end) -
					      pieces[i].at);
		return r;
	}
	if (file->pixels) {
		made.pixels = *file->pixels;
		row->size = virtual_size(&made);
		return add_made(tree, &made);
	}
	if (!tree->made.len || tree->page != page->offset) {
		tree->page = page->offset;
		tree->page_start = tree->virtual_end;
		for (size_t i = 0; r == 0 && i < page->count; i++) {
			const struct codec_piece *piece = &page->pieces[i];

			made = (struct virtual_row){
				.start = tree->virtual_end,
				.offset = page->offset + piece->offset,
				.is_page = true,
				.page = {piece->packed, piece->unpacked, piece->codec}};
			r = add_made(tree, &made);
		}
	}
	row->offset = tree->page_start + file->offset;
	return r;
}

static int add_row(struct foreign_tree *tree, const struct tree_row *row, struct err *err)
{
	if (tree_count(tree) >= FILES_MOST)
		return err_set(err, -EOVERFLOW, "more files than can be counted");
	return buf_add(&tree->rows, row, sizeof(*row));
}

void foreign_tree_progress(struct foreign_tree *tree, uint64_t count)
{
	const struct foreign_settings *settings = tree->source->settings;
	uint64_t now;
	SCOPE_FREE char *line = NULL;

	if (!settings->notice || !count || count % SAY_EVERY)
		return;
	now = clock_ns();
	if (tree->say_next == 0)
		tree->say_next = now + SAY_FIRST;
	if (now < tree->say_next)
		return;
	tree->say_next = now + SAY_AGAIN;
	if (asprintf(&line, "%s: looking for its files, which is done once: %" PRIu64 " so far",
		     tree->source->shown, count) >= 0)
		settings->notice(line);
}

int foreign_add(struct foreign_tree *tree, const struct foreign_file *file, struct err *err)
{
	struct tree_row row = {.record = (uint32_t)file->record,
			       .kind = file->directory ? FORMAT_DIRECTORY : FORMAT_FILE,
			       .volume = file->unpacked ? TREE_UNPACKED : TREE_SOURCE,
			       .mode = (uint16_t)(file->mode & 07777),
			       .has_mode = file->mode != 0,
			       .mtime = file->mtime,
			       .offset = file->offset,
			       .size = file->size};
	bool bytes = !file->directory && !file->target.data && !file->second_name_of;
	int r = bytes ? check_place(tree, file, err) : 0;

	foreign_tree_progress(tree, tree_count(tree));
	if (r == 0)
		r = tree_name(tree, file, &row, err);
	if (r < 0)
		return r;
	if (file->target.data) {
		if (file->target.len > FOREIGN_PATH_MOST)
			return err_set(err, -EBADMSG,
				       "record %" PRIu64 ": its target is longer than 4095 bytes",
				       file->record);
		row.kind = FORMAT_SYMLINK;
		row.offset = tree->targets.len;
		row.size = file->target.len;
		r = buf_add(&tree->targets, file->target.data, file->target.len);
	} else if (file->second_name_of) {
		struct tree_row *first = &tree_rows(tree)[*file->second_name_of];

		if (!first->links) {
			first->links = ++tree->most_links;
			first->first_name = 1;
		}
		row.links = first->links;
		row.offset = first->offset;
		row.size = first->size;
		row.volume = first->volume;
		row.mode = first->mode;
		row.has_mode = first->has_mode;
		row.mtime = first->mtime;
	} else if (bytes && (file->pixels || file->packed || file->pieces)) {
		r = add_by_rows(tree, file, &row);
	}
	return r < 0 ? r : add_row(tree, &row, err);
}

struct foreign_text foreign_tree_path(const struct foreign_tree *tree, size_t i)
{
	const struct tree_row *row = &tree_rows(tree)[i];

	return (struct foreign_text){tree->paths.data + row->path, row->path_len};
}

void foreign_tree_drop(struct foreign_tree *tree, size_t i)
{
	struct tree_row *row = &tree_rows(tree)[i];

	if (row->class && !row->dropped)
		label_class_rows(&tree->found.rows)[row->class - 1].files--;
	row->dropped = 1;
}

int foreign_add_text(struct foreign_tree *tree, const char *path, const void *bytes, size_t len,
		     struct err *err)
{
	const struct foreign_file file = {.path = {path, strlen(path)}};
	struct tree_row row = {
		.kind = FORMAT_FILE, .volume = TREE_TEXT, .offset = tree->text.len, .size = len};
	int r = tree_name(tree, &file, &row, err);

	if (r == 0)
		r = buf_add(&tree->text, bytes, len);
	return r < 0 ? r : add_row(tree, &row, err);
}

void foreign_tree_note(struct foreign_tree *tree, const struct notice *note)
{
	notices_add(&tree->notes, tree->source->shown, note);
}
