#include "pack/foreign/message.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define ERRNO_MOST 4095

int message_broken(struct err *err)
{
	return err_set(err, -EPROTO, "the script that reads it says what makes no sense");
}

const char *message_field(struct message *message)
{
	const char *field = message->at;

	if (field == message->end)
		return NULL;
	message->at += strlen(field) + 1;
	return field;
}

/* The one with which a text begins, behind which a blank or its end follows. */
static bool cut_number(const char **text, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*ret = strtoull(*text, &end, 10);
	*text = end + (*end == ' ');
	return errno == 0 && (!*end || *end == ' ');
}

static bool is_number(const char *field, uint64_t *ret)
{
	return cut_number(&field, ret) && !*field;
}

bool message_number(struct message *message, uint64_t *ret)
{
	const char *field = message_field(message);

	return field && is_number(field, ret);
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file, and what it points to. */
struct row {
	struct foreign_file file;
	struct foreign_pixels pixels;
	struct buf pieces; /* struct foreign_piece */
	uint32_t first;	   /* the file that it is a second name of */
	const struct maker_pages *pages;
};

static void row_release(struct row *row)
{
	buf_release(&row->pieces);
}

static struct foreign_text text_of(const char *field)
{
	return (struct foreign_text){field, strlen(field)};
}

static bool is_signed(const char *field, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(field, &end, 10);
	return *field && !*end && errno == 0;
}

static bool is_pixels(const char *field, struct foreign_pixels *ret)
{
	static const char *const layouts[] = {[FOREIGN_RGB] = "rgb",
					      [FOREIGN_BGR] = "bgr",
					      [FOREIGN_GRAY] = "gray",
					      [FOREIGN_PLANAR_BGR] = "planar-bgr"};
	char layout[16];

	if (sscanf(field, "%" SCNu32 " %" SCNu32 " %15s", &ret->width, &ret->height, layout) != 3)
		return false;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (strcmp(layouts[i], layout) == 0) {
			ret->layout = (enum foreign_layout)i;
			return true;
		}
	return false;
}

/* Of which there may be none. */
static bool is_pieces(const char *field, struct row *row)
{
	static const struct foreign_piece none;
	struct foreign_piece piece;

	while (*field)
		if (!cut_number(&field, &piece.at) || !cut_number(&field, &piece.offset) ||
		    !cut_number(&field, &piece.len) ||
		    buf_add(&row->pieces, &piece, sizeof(piece)) < 0)
			return false;
	row->file.pieces =
		row->pieces.len ? BUF_ITEMS(&row->pieces, const struct foreign_piece) : &none;
	row->file.piece_count = BUF_COUNT(&row->pieces, piece);
	return true;
}

static bool is_first(const char *field, struct row *row)
{
	uint64_t number;

	if (!is_number(field, &number) || number > UINT32_MAX)
		return false;
	row->first = (uint32_t)number;
	row->file.second_name_of = &row->first;
	return true;
}

/* A letter, and what follows it. */
static bool take_field(const char *field, struct row *row)
{
	struct foreign_file *file = &row->file;
	const char *value = field + 1;
	uint64_t number;

	switch (*field) {
	case 'r':
		return is_number(value, &file->record);
	case 'o':
		return is_number(value, &file->offset);
	case 's':
		return is_number(value, &file->size);
	case 'l':
		return is_signed(value, &file->label);
	case 'q':
		file->plain = true;
		/* fall through */
	case 'p':
		file->path = text_of(value);
		return true;
	case 'a':
		file->above = text_of(value);
		return true;
	case 'C':
		file->class_is_path = true;
		/* fall through */
	case 'c':
		file->class = text_of(value);
		return true;
	case 'N':
		file->plain = true;
		/* fall through */
	case 'n':
		file->name = text_of(value);
		return true;
	case 'm':
		if (!is_number(value, &number))
			return false;
		file->mode = (mode_t)number;
		return true;
	case 'M':
		return is_signed(value, &file->mtime);
	case 'x':
		file->pixels = &row->pixels;
		return is_pixels(value, &row->pixels);
	case 'k':
		file->packed = &row->pages->place;
		return file->packed->count > 0;
	case 'h':
		return is_pieces(value, row);
	case 'd':
		file->directory = true;
		return true;
	case 't':
		file->target = text_of(value);
		return true;
	case 'u':
		file->unpacked = true;
		return true;
	case '2':
		return is_first(value, row);
	default:
		return false;
	}
}

/* A second name is that of a file. */
static bool has_first(const struct foreign_tree *tree, const struct row *row)
{
	return !row->file.second_name_of ||
	       (row->first < tree_count(tree) && tree_rows(tree)[row->first].kind == FORMAT_FILE);
}

static int add_file(struct message *message, const struct maker_pages *pages,
		    struct foreign_tree *tree, struct err *err)
{
	SCOPE(row_release) struct row row = {.file = {.label = FOREIGN_NO_LABEL}, .pages = pages};
	const char *field;

	while ((field = message_field(message))) {
		if (*field == 'b' || *field == 'B') { /* all that is left: it may have NULs */
			row.file.in_memory = *field == 'b';
			row.file.head.data = field + 1;
			row.file.head.len = (size_t)(message->end - field) - 2;
			break;
		}
		if (!take_field(field, &row))
			return message_broken(err);
	}
	if (row.file.packed && (row.file.pixels || row.file.pieces))
		return message_broken(err);
	if (row.file.packed && row.file.offset <= row.file.packed->size) {
		row.file.in_memory = true;
		row.file.head.data = (const char *)pages->held.data + row.file.offset;
		row.file.head.len =
			(size_t)min(row.file.size, row.file.packed->size - row.file.offset);
	}
	return has_first(tree, &row) ? foreign_add(tree, &row.file, err) : message_broken(err);
}

/* --- what else is said ------------------------------------------------------------------------ */

static const struct {
	const char *what;
	int error;
} failures[] = {{"damaged", -EBADMSG},
		{"unsupported", -EOPNOTSUPP},
		{"unread", -ENOPKG},
		{"option", -EINVAL},
		{"memory", -ENOMEM}};

#define FAILURES (sizeof(failures) / sizeof(*failures))

/* Returns the error, with its sentence, or the system's if that is empty. */
static int fail(int error, const char *sentence, struct err *err)
{
	return err_set(err, error, "%s", *sentence ? sentence : strerror(-error));
}

int message_fail(struct message *message, struct err *err)
{
	const char *what = message_field(message), *sentence = message_field(message);
	uint64_t number;

	if (!sentence)
		return message_broken(err);
	for (size_t i = 0; i < FAILURES; i++)
		if (strcmp(failures[i].what, what) == 0)
			return fail(failures[i].error, sentence, err);
	return is_number(what, &number) && number > 0 && number <= ERRNO_MOST
		       ? fail(-(int)number, sentence, err)
		       : message_broken(err);
}

int message_answer_failure(int error, const struct err *err, struct buf *ret)
{
	const char *sentence = err_text(err, error);

	for (size_t i = 0; i < FAILURES; i++)
		if (failures[i].error == error)
			return buf_addf(ret, "%s%c%s%c", failures[i].what, 0, sentence, 0);
	return buf_addf(ret, "%d%c%s%c", -error, 0, sentence, 0);
}

static int note(struct message *message, struct foreign_tree *tree, struct err *err)
{
	const char *sentence = message_field(message);

	return sentence ? foreign_tree_note(tree, "%s", sentence) : message_broken(err);
}

static int name_classes(struct message *message, struct foreign_tree *tree)
{
	SCOPE(buf_release) struct buf names = BUF_INIT;
	const char *field;
	int r = 0;

	while (r == 0 && (field = message_field(message))) {
		struct foreign_text name = text_of(field);

		r = buf_add(&names, &name, sizeof(name));
	}
	return r < 0 ? r
		     : foreign_tree_classes(tree, BUF_ITEMS(&names, const struct foreign_text),
					    BUF_COUNT(&names, struct foreign_text));
}

static int add_text(struct message *message, struct foreign_tree *tree, struct err *err)
{
	const char *path = message_field(message);

	/* Its bytes end with the NUL of a field, and may have others. */
	if (!path || message->at == message->end)
		return message_broken(err);
	return foreign_add_text(tree, path, message->at, (size_t)(message->end - message->at) - 1,
				err);
}

static int note_style(struct message *message, struct foreign_tree *tree, struct err *err)
{
	uint64_t counted, several;

	if (!message_number(message, &counted) || counted > LABELS_FROM_ZERO ||
	    !message_number(message, &several) || several > LABELS_FIRSTS)
		return message_broken(err);
	foreign_tree_counted(tree, (enum labels_counted)counted);
	foreign_tree_several(tree, (enum labels_several)several);
	return 0;
}

static int note_lacking(struct message *message, struct foreign_tree *tree, struct err *err)
{
	uint64_t count;

	if (!message_number(message, &count))
		return message_broken(err);
	foreign_tree_lacks(tree, count);
	return 0;
}

/* --- archives --------------------------------------------------------------------------------- */

/* The number of a file that was added. */
static bool take_file(struct message *message, const struct foreign_tree *tree, uint64_t *ret)
{
	return message_number(message, ret) && *ret < tree_count(tree);
}

static int drop(struct message *message, struct foreign_tree *tree, struct err *err)
{
	uint64_t file;

	if (!take_file(message, tree, &file))
		return message_broken(err);
	foreign_tree_drop(tree, (size_t)file);
	return 0;
}

static int change(struct message *message, struct foreign_tree *tree, struct err *err)
{
	uint64_t file, mode;
	const char *field;
	int64_t mtime;

	if (!take_file(message, tree, &file) || !message_number(message, &mode) ||
	    !(field = message_field(message)) || !is_signed(field, &mtime))
		return message_broken(err);
	foreign_tree_attr(tree, (size_t)file, (mode_t)mode, mtime);
	return 0;
}

static int leave_out(struct message *message, const struct foreign_watch *watch, struct err *err)
{
	const char *path = message_field(message), *what = message_field(message);
	uint64_t flaw;

	if (!watch || !what || !message_number(message, &flaw) || flaw > FOREIGN_UNWANTED)
		return message_broken(err);
	return watch->left_out(watch->context, path, what, (enum foreign_flaw)flaw);
}

static int tell_damage(struct message *message, const struct foreign_watch *watch, struct err *err)
{
	const char *sentence = message_field(message);
	struct err why = {0};
	int r;

	if (!sentence)
		return message_broken(err);
	r = fail(-EBADMSG, sentence, &why);
	if (watch)
		r = watch->broken(watch->context, r, &why);
	return r < 0 ? fail(r, sentence, err) : 0;
}

int message_take(struct message *message, const struct maker_pages *pages,
		 struct foreign_tree *tree, struct err *err)
{
	switch (message->letter) {
	case 'F':
		return add_file(message, pages, tree, err);
	case 'N':
		return note(message, tree, err);
	case 'C':
		return name_classes(message, tree);
	case 'T':
		return add_text(message, tree, err);
	case 'P':
		return foreign_tree_prefix(tree);
	case 'L':
		return note_lacking(message, tree, err);
	case 'G':
		return note_style(message, tree, err);
	case 'Z':
		return foreign_tree_restart(tree, err);
	case 'X':
		return drop(message, tree, err);
	case 'M':
		return change(message, tree, err);
	case 'O':
		return leave_out(message, tree->source->settings->watch, err);
	case 'H':
		return tell_damage(message, tree->source->settings->watch, err);
	default:
		return message_broken(err);
	}
}
