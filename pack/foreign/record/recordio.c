/* MXNet's RecordIO of images (im2rec.py), of which the .idx is not needed. A frame, and the record
 * in it:
 *
 *	u32 magic | u32 part << 29 | length | bytes, padded with zeros to a multiple of 4
 *	u32 flag, f32 label, u64 id, u64 id2 | f32 label[flag] | image
 *
 * Where the magic number is among the bytes of a record, at a multiple of 4, the record is in parts
 * there, and the one with which the frame of the next part begins stands for it. The .lst beside
 * the file, which im2rec.py makes records from, has a line a record: its number, its labels and the
 * path of its image, between tabs. */
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/foreign/format.h"
#include "pack/foreign/source.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define MAGIC	    0xced7230au
#define FRAME_HEAD  8
#define LENGTH_MASK ((1u << 29) - 1)
#define HEADER	    24	    /* of a record */
#define SEVERAL_MAX 65536   /* labels of a record, of which one may be set */
#define CLASSES_MAX 0x1p24f /* a float has every whole number up to it */

enum recordio_part { RECORDIO_WHOLE, RECORDIO_FIRST, RECORDIO_NEXT, RECORDIO_LAST };

struct recordio_frame {
	uint64_t offset; /* of the bytes */
	uint32_t length;
	enum recordio_part part;
	uint64_t end; /* where the next one begins */
};

struct recordio_list {
	struct buf text;
	struct buf rows; /* struct row: by number */
};

/* Counts of records that the user is told of at the end. */
enum told { EMPTY, SEVERAL, PLACES, MANY, ODD, TOLD };

static const char *const told_text[TOLD] = {
	[EMPTY] = "%" PRIu64 " records without an image are left out",
	[SEVERAL] = "%" PRIu64 " records have several labels: the first counts",
	[PLACES] = "%" PRIu64
		   " records have a label of several numbers, of which the place of the "
		   "only 1 counts",
	[MANY] = "%" PRIu64
		 " records have several classes, as not one of the numbers of their label "
		 "is 1, which is taken as none",
	[ODD] = "%" PRIu64 " records have a label that is no number of a class",
};

/* --- frames ----------------------------------------------------------------------------------- */

static int recordio_frame_probe(struct foreign_source *source)
{
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, FRAME_HEAD, &head, &len);

	if (r < 0 || len < FRAME_HEAD)
		return r;
	return le_get32(head) == MAGIC && le_get32(head + 4) >> 29 <= RECORDIO_FIRST;
}

static int check_frame(const struct foreign_source *source, bool within,
		       const struct recordio_frame *frame, struct err *err)
{
	if (frame->length > source->size - frame->offset)
		return err_set(err, -EBADMSG,
			       "truncated: %" PRIu32 " bytes at byte %" PRIu64
			       " of a file of %" PRIu64,
			       frame->length, frame->offset, source->size);
	if (frame->part > RECORDIO_LAST || within != (frame->part >= RECORDIO_NEXT))
		return err_set(err, -EBADMSG, "part %u at byte %" PRIu64 " is out of order",
			       frame->part, frame->offset - FRAME_HEAD);
	return 0;
}

/* The frame that begins at frame->end; `within` a record, one that is not its first. -EBADMSG: no
 * frame, truncated, or parts out of order. */
static int recordio_frame_next(struct foreign_source *source, bool within,
			       struct recordio_frame *frame, struct err *err)
{
	struct recordio_frame next = {.offset = frame->end + FRAME_HEAD};
	const uint8_t *head;
	uint32_t word;
	int r = foreign_get(source, frame->end, FRAME_HEAD, &head, err);

	if (r < 0)
		return r;
	if (le_get32(head) != MAGIC)
		return err_set(err, -EBADMSG, "no magic number at byte %" PRIu64, frame->end);
	word = le_get32(head + 4);
	next.length = word & LENGTH_MASK;
	next.part = word >> 29;
	next.end = next.offset + (((uint64_t)next.length + 3) & ~UINT64_C(3));
	r = check_frame(source, within, &next, err);
	if (r == 0)
		*frame = next;
	return r;
}

/* --- the list --------------------------------------------------------------------------------- */

struct row {
	uint64_t number;
	struct foreign_text path;
};

/* "a/b.jpg", and not the number that other lists have there. */
static bool is_path(struct foreign_text text)
{
	struct foreign_text suffix = foreign_text_after(text, '.');

	return suffix.len && suffix.len < text.len && isalpha((unsigned char)*suffix.data);
}

static int take_line(struct recordio_list *list, struct foreign_text line)
{
	struct row row = {.path = foreign_text_after(line, '\t')};
	size_t digits = foreign_text_number(line, &row.number);
	bool taken = digits && digits < 20 && digits < line.len && line.data[digits] == '\t';

	return taken && is_path(row.path) ? buf_add(&list->rows, &row, sizeof(row)) : 0;
}

static int take_lines(struct recordio_list *list)
{
	struct foreign_text rest = {list->text.data, list->text.len}, line;
	int r = 0;

	while (r == 0 && foreign_text_line(&rest, &line))
		r = take_line(list, line);
	return r;
}

/* Lines that are not as above do not count. */
static int recordio_list_read(struct recordio_list *list, struct foreign_source *source,
			      struct err *err)
{
	int r = foreign_read_beside(source, ".lst", &list->text, err);

	if (r < 0 || list->text.len == 0)
		return r == -ENOENT ? 0 : r;
	r = take_lines(list);
	if (r == 0)
		buf_sort(&list->rows, sizeof(struct row), search_compare64);
	return r;
}

static void recordio_list_release(struct recordio_list *list)
{
	buf_release(&list->text);
	buf_release(&list->rows);
}

static struct foreign_text recordio_list_find(const struct recordio_list *list, uint64_t number)
{
	const struct row key = {.number = number};
	const struct row *row = buf_find(&list->rows, &key, sizeof(key), search_compare64);

	return row ? row->path : (struct foreign_text){0};
}

struct scan {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct recordio_list list;
	uint64_t number;   /* of the record */
	bool within;	   /* a record in parts */
	struct buf pieces; /* struct foreign_piece: of the record, which has so many bytes */
	uint64_t length;
	uint32_t labels;  /* of each record so far; 0: none was seen */
	bool takes_first; /* of several, as not all are 0 or 1, or some records have more */
	uint64_t told[TOLD];
};

static void scan_release(struct scan *scan)
{
	recordio_list_release(&scan->list);
	buf_release(&scan->pieces);
}

static int fault(const struct scan *scan, int code, struct err *err)
{
	return err_set(err, code, "record %" PRIu64 ": %s", scan->number, err_text(err, code));
}

/* --- a record --------------------------------------------------------------------------------- */

static int64_t take_label(struct scan *scan, float label)
{
	if (label == -1)
		return FOREIGN_NO_LABEL;
	if (label >= 0 && label < CLASSES_MAX && (float)(int64_t)label == label)
		return (int64_t)label;
	scan->told[ODD]++;
	return FOREIGN_NO_LABEL;
}

static void take_path(struct scan *scan, uint64_t id, struct foreign_file *file)
{
	struct foreign_text path = recordio_list_find(&scan->list, id);

	file->name = path;
	if (!path.data || !memchr(path.data, '/', path.len) || scan->source->settings->classes)
		return;
	file->name = foreign_text_after(path, '/');
	file->class = (struct foreign_text){path.data, path.len - file->name.len - 1};
	file->class_is_path = true;
}

static int add_part(struct scan *scan, uint64_t offset, uint64_t len)
{
	const struct foreign_piece piece = {.at = scan->length, .offset = offset, .len = len};

	scan->length += len;
	return buf_add(&scan->pieces, &piece, sizeof(piece));
}

/* Copies bytes of the record, which it has. */
static int get_bytes(struct scan *scan, uint64_t at, uint8_t *ret, size_t len, struct err *err)
{
	const struct foreign_piece *piece = BUF_ITEMS(&scan->pieces, const struct foreign_piece);
	const uint8_t *bytes;
	int r = 0;

	for (size_t done = 0, some; r == 0 && done < len; done += some) {
		while (at + done >= piece->at + piece->len)
			piece++;
		some = (size_t)min(len - done, piece->at + piece->len - at - done);
		r = foreign_get(scan->source, piece->offset + at + done - piece->at, some, &bytes,
				err);
		if (r == 0)
			memcpy(ret + done, bytes, some);
	}
	return r;
}

/* The image is what comes behind `at` of the record. */
static void take_image(struct scan *scan, uint64_t at, struct foreign_file *file)
{
	struct foreign_piece *piece = BUF_ITEMS(&scan->pieces, struct foreign_piece);
	size_t count = BUF_COUNT(&scan->pieces, *piece);

	for (; piece->at + piece->len <= at; piece++)
		count--;
	file->offset = piece->offset + at - piece->at;
	piece->len -= at - piece->at;
	piece->offset = file->offset;
	piece->at = at;
	if (count == 1)
		return;
	for (size_t i = 0; i < count; i++)
		piece[i].at -= at;
	file->pieces = piece;
	file->piece_count = count;
}

#define TAKES_FIRST 1 /* of what follows: begin anew, since of several labels the first counts */

static float float_at(const uint8_t *bytes)
{
	uint32_t bits = le_get32(bytes);
	float ret;

	memcpy(&ret, &bits, sizeof(ret));
	return ret;
}

/* Where all are 0 or 1: the place of the only 1, as of one class of many; or no label. */
static int take_several(struct scan *scan, uint32_t count, int64_t *ret, struct err *err)
{
	SCOPE_FREE uint8_t *all = calloc(count, sizeof(float));
	unsigned ones = 0;
	int r = all ? get_bytes(scan, HEADER, all, count * sizeof(float), err) : -ENOMEM;

	*ret = FOREIGN_NO_LABEL;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		float label = float_at(all + i * sizeof(float));

		if (label != 0 && label != 1)
			return TAKES_FIRST;
		ones += label == 1;
		*ret = label == 1 ? i : *ret;
	}
	if (r == 0 && ones != 1)
		*ret = FOREIGN_NO_LABEL;
	if (r == 0 && ones == 1)
		foreign_tree_several(scan->tree, LABELS_PLACES);
	scan->told[ones == 1 ? PLACES : MANY]++;
	return r;
}

static int take_labels(struct scan *scan, uint32_t count, int64_t *ret, struct err *err)
{
	uint8_t label[sizeof(float)];
	uint32_t before = scan->labels;
	int r;

	scan->labels = count ? count : 1;
	if (!scan->takes_first && before && before != scan->labels)
		return TAKES_FIRST;
	if (count > 1 && count <= SEVERAL_MAX && !scan->takes_first)
		return take_several(scan, count, ret, err);
	r = get_bytes(scan, count ? HEADER : 4, label, sizeof(label), err);
	if (r < 0)
		return r;
	if (count > 1)
		foreign_tree_several(scan->tree, LABELS_FIRSTS);
	scan->told[SEVERAL] += count > 1;
	*ret = take_label(scan, float_at(label));
	return 0;
}

static int take_record(struct scan *scan, struct foreign_file *file, struct err *err)
{
	uint8_t header[HEADER];
	uint64_t image;
	uint32_t flag;
	int r;

	if (scan->length < HEADER)
		return err_set(err, -EBADMSG, "%" PRIu64 " bytes are no image record",
			       scan->length);
	r = get_bytes(scan, 0, header, HEADER, err);
	if (r < 0)
		return r;
	flag = le_get32(header);
	image = HEADER + (uint64_t)flag * sizeof(float);
	if (image > scan->length)
		return err_set(err, -EBADMSG, "%" PRIu32 " labels in %" PRIu64 " bytes", flag,
			       scan->length);
	file->size = scan->length - image;
	if (file->size == 0)
		return 0;
	r = take_labels(scan, flag, &file->label, err);
	if (r != 0)
		return r;
	take_path(scan, le_get64(header + 8), file);
	take_image(scan, image, file);
	return 0;
}

static int add(struct scan *scan, struct err *err)
{
	struct foreign_file file = {.record = scan->number};
	int r = take_record(scan, &file, err);

	if (r != 0)
		return r < 0 ? fault(scan, r, err) : r;
	if (file.size > 0)
		return foreign_add(scan->tree, &file, err);
	scan->told[EMPTY]++;
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int take_frame(struct scan *scan, const struct recordio_frame *frame, struct err *err)
{
	int r = 0;

	if (!scan->within)
		scan->length = scan->pieces.len = 0;
	else
		r = add_part(scan, frame->offset - FRAME_HEAD, sizeof(uint32_t)); /* MAGIC */
	if (r == 0)
		r = add_part(scan, frame->offset, frame->length);
	scan->within = frame->part == RECORDIO_FIRST || frame->part == RECORDIO_NEXT;
	if (r != 0 || scan->within)
		return r;
	r = add(scan, err);
	scan->number++;
	return r;
}

static int take_all(struct scan *scan, struct err *err)
{
	struct recordio_frame frame = {0};
	int r = 0;

	while (r == 0 && frame.end < scan->source->size) {
		r = recordio_frame_next(scan->source, scan->within, &frame, err);
		if (r < 0)
			return fault(scan, r, err);
		r = take_frame(scan, &frame, err);
	}
	if (r == 0 && scan->within)
		r = err_set(err, -EBADMSG, "record %" PRIu64 ": its last part is missing",
			    scan->number);
	return r;
}

static int recordio_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(scan_release) struct scan scan = {.source = source, .tree = tree};
	int r = foreign_tree_prefix(tree);

	if (r == 0)
		r = recordio_list_read(&scan.list, source, err);
	if (r == 0)
		r = take_all(&scan, err);
	if (r == TAKES_FIRST) {
		scan.takes_first = true;
		scan.number = 0;
		memset(scan.told, 0, sizeof(scan.told));
		r = foreign_tree_restart(tree, err);
		if (r == 0)
			r = foreign_tree_prefix(tree);
		if (r == 0)
			r = take_all(&scan, err);
	}
	return r < 0 ? r : foreign_tree_note_counts(tree, scan.told, told_text, TOLD);
}

const struct foreign_format recordio_format = {
	.name = "recordio",
	.streamed = true,
	.probe = recordio_frame_probe,
	.scan = recordio_scan,
};
