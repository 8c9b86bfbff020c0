#include "pack/foreign/message.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
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

bool message_numbers(struct message *message, ...)
{
	bool right = true;
	va_list numbers;
	uint64_t *ret;

	va_start(numbers, message);
	while (right && (ret = va_arg(numbers, uint64_t *))) {
		const char *field = message_field(message);

		right = field && is_number(field, ret);
	}
	va_end(numbers);
	return right;
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file, and what it points to. */
struct row {
	struct foreign_file file;
	struct foreign_pixels pixels;
	struct buf pieces; /* struct foreign_piece */
	uint32_t first;	   /* the file that it is a second name of */
	const struct held_page *page;
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
		file->packed = &row->page->place;
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
		file->second_name_of = &row->first;
		if (!is_number(value, &number) || number > UINT32_MAX)
			return false;
		row->first = (uint32_t)number;
		return true;
	default:
		return false;
	}
}

static int add_file(struct message *message, const struct held_page *page,
		    struct foreign_tree *tree, struct err *err)
{
	SCOPE(row_release) struct row row = {.file = {.label = FOREIGN_NO_LABEL}, .page = page};
	struct foreign_file *file = &row.file;
	const char *field;

	while ((field = message_field(message))) {
		if (*field == 'b' || *field == 'B') { /* all that is left: it may have NULs */
			file->in_memory = *field == 'b';
			file->head.data = field + 1;
			file->head.len = (size_t)(message->end - field) - 2;
			break;
		}
		if (!take_field(field, &row))
			return MAKES_NO_SENSE;
	}
	if (file->packed && (file->pixels || file->pieces))
		return MAKES_NO_SENSE;
	if (file->packed && file->offset <= file->packed->size) {
		file->in_memory = true;
		file->head.data = page->bytes.data + file->offset;
		file->head.len = (size_t)min(file->size, file->packed->size - file->offset);
	}
	/* A second name is that of a file. */
	if (file->second_name_of &&
	    (row.first >= tree_count(tree) || tree_rows(tree)[row.first].kind != FORMAT_FILE))
		return MAKES_NO_SENSE;
	return foreign_add(tree, file, err);
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

/* What is said of archives. */
static int take_of_archive(struct message *message, struct foreign_tree *tree, struct err *err)
{
	const struct foreign_watch *watch = tree->source->settings->watch;
	const char *text, *what;
	uint64_t file, mode, flaw;
	struct tree_row *row;
	struct err why = {0};
	int64_t mtime;
	int r;

	switch (message->letter) {
	case 'X':
		if (!message_numbers(message, &file, NULL) || file >= tree_count(tree))
			return MAKES_NO_SENSE;
		foreign_tree_drop(tree, file);
		return 0;
	case 'M':
		if (!message_numbers(message, &file, &mode, NULL) || file >= tree_count(tree) ||
		    !(text = message_field(message)) || !is_signed(text, &mtime))
			return MAKES_NO_SENSE;
		row = &tree_rows(tree)[file];
		row->mode = (uint16_t)(mode & 07777);
		row->has_mode = mode != 0;
		row->mtime = mtime;
		return 0;
	case 'O':
		text = message_field(message);
		what = message_field(message);
		if (!watch || !what || !message_numbers(message, &flaw, NULL) ||
		    flaw > FOREIGN_UNWANTED)
			return MAKES_NO_SENSE;
		return watch->left_out(watch->context, text, what, (enum foreign_flaw)flaw);
	case 'H':
		text = message_field(message);
		if (!text)
			return MAKES_NO_SENSE;
		r = fail(-EBADMSG, text, &why);
		if (watch)
			r = watch->broken(watch->context, r, &why);
		return r < 0 ? fail(r, text, err) : 0;
	default:
		return MAKES_NO_SENSE;
	}
}

static int take_note(struct message *message, struct foreign_tree *tree)
{
	struct notice note = {.text = message_field(message)};

	note.example = message_field(message);
	while (message->at < message->end)
		if (note.numbers == NOTICE_COUNTS ||
		    !message_numbers(message, &note.counts[note.numbers++], NULL))
			return MAKES_NO_SENSE;
	if (!note.example)
		return MAKES_NO_SENSE;
	if (message->letter == 'L')
		tree->lacks += note.counts[0];
	foreign_tree_note(tree, &note);
	return 0;
}

static int take(struct message *message, const struct held_page *page, struct foreign_tree *tree,
		struct err *err)
{
	SCOPE(buf_release) struct buf names = BUF_INIT; /* struct foreign_text */
	uint64_t counted, several;
	struct foreign_text name;
	const char *text;

	switch (message->letter) {
	case 'F':
		return add_file(message, page, tree, err);
	case 'N':
	case 'L':
		return take_note(message, tree);
	case 'C':
		while ((text = message_field(message))) {
			name = text_of(text);
			buf_add(&names, &name, sizeof(name));
		}
		return names.failed
			       ? -ENOMEM
			       : foreign_tree_classes(tree,
						      BUF_ITEMS(&names, const struct foreign_text),
						      BUF_COUNT(&names, struct foreign_text));
	case 'T':
		text = message_field(message);
		if (!text || message->at == message->end)
			return MAKES_NO_SENSE;
		/* Its bytes end with the NUL of a field, and may have others. */
		return foreign_add_text(tree, text, message->at,
					(size_t)(message->end - message->at) - 1, err);
	case 'P':
		return foreign_tree_prefix(tree);
	case 'G':
		if (!message_numbers(message, &counted, &several, NULL) ||
		    counted > LABELS_FROM_ZERO || several > LABELS_FIRSTS)
			return MAKES_NO_SENSE;
		tree->style.counted = (enum labels_counted)counted;
		tree->style.several = (enum labels_several)several;
		return 0;
	case 'Z':
		return foreign_tree_restart(tree, err);
	default:
		return take_of_archive(message, tree, err);
	}
}

int message_take(struct message *message, const struct held_page *page, struct foreign_tree *tree,
		 struct err *err)
{
	int r = take(message, page, tree, err);

	return r == MAKES_NO_SENSE ? message_broken(err) : r;
}
