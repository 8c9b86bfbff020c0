/* LMDB of CRNN and deep-text-recognition: "image-000000001" is an encoded image and
 * "label-000000001" its text, numbered from 1; "num-samples" says how many, in decimal. Keys of a
 * kind come together, images first. The texts become labels.tsv: a line an image, its path, a tab,
 * the text. */
#include "base/scope.h"
#include "pack/foreign/format.h"
#include <inttypes.h>
#include <string.h>

#define DIGITS	  9
#define TEXT_MAX  4096 /* bytes of a label */
#define TEXTS_MAX ((size_t)1 << 30)

struct texts {
	struct buf numbers; /* uint32_t: of the images, in the order of the tree */
	struct buf lines;
	size_t next; /* image whose text is not known */
	uint64_t unknown;
	uint64_t orphans; /* texts without an image */
	uint64_t others;  /* records of other kinds */
	uint64_t samples; /* as num-samples says; 0: it does not */
};

static void texts_release(struct texts *texts)
{
	buf_release(&texts->numbers);
	buf_release(&texts->lines);
}

/* The number of a key as "image-000000001"; 0: it is none. */
static uint32_t number_of(const struct walker_record *record, const char *kind)
{
	size_t len = strlen(kind);
	uint64_t number;

	if (!record->key || record->key_len != len + DIGITS || memcmp(record->key, kind, len) != 0)
		return 0;
	return foreign_text_number((struct foreign_text){(const char *)record->key + len, DIGITS},
				   &number) == DIGITS
		       ? (uint32_t)number
		       : 0;
}

static int crnn_probe(struct foreign_source *source)
{
	return number_of(&source->first, "image-") > 0;
}

static int add_image(struct foreign_tree *tree, const struct walker_record *record, uint32_t number,
		     struct texts *texts, struct err *err)
{
	const struct foreign_file file = {.record = number - 1,
					  .label = FOREIGN_NO_LABEL,
					  .name = {(const char *)record->key + 6, DIGITS},
					  .plain = true,
					  .offset = record->offset,
					  .size = record->size,
					  .head = {(const char *)record->value, record->size},
					  .in_memory = record->value != NULL};
	int r = foreign_add(tree, &file, err);

	return r < 0 ? r : buf_add(&texts->numbers, &number, sizeof(number));
}

/* Whether there is an image of this number, which becomes the next. Both come in order. */
static bool find_image(struct texts *texts, uint32_t number)
{
	const uint32_t *numbers = BUF_ITEMS(&texts->numbers, const uint32_t);
	size_t count = BUF_COUNT(&texts->numbers, *numbers);

	while (texts->next < count && numbers[texts->next] < number) {
		texts->next++;
		texts->unknown++;
	}
	return texts->next < count && numbers[texts->next] == number;
}

/* A tab or a new line in the text would end it. */
static int add_line(struct foreign_text path, const uint8_t *text, size_t len, struct buf *lines)
{
	buf_add(lines, path.data, path.len);
	buf_add(lines, "\t", 1);
	for (size_t i = 0; i < len; i++)
		buf_add(lines, text[i] < ' ' ? (const uint8_t *)" " : &text[i], 1);
	return buf_add(lines, "\n", 1);
}

static int add_text(struct foreign_source *source, struct foreign_tree *tree,
		    const struct walker_record *record, uint32_t number, struct texts *texts,
		    struct err *err)
{
	const uint8_t *text;
	int r;

	if (record->size > TEXT_MAX)
		return err_set(err, -EBADMSG, "record %" PRIu32 ": a label of %" PRIu64 " bytes",
			       number - 1, record->size);
	if (texts->lines.len > TEXTS_MAX)
		return err_set(err, -EFBIG, "more than 1 GiB of labels");
	r = foreign_get(source, record->offset, (size_t)record->size, &text, err);
	if (r < 0)
		return r;
	if (!find_image(texts, number)) {
		texts->orphans++;
		return 0;
	}
	return add_line(foreign_tree_path(tree, texts->next++), text, (size_t)record->size,
			&texts->lines);
}

static int take_count(struct foreign_source *source, const struct walker_record *record,
		      struct texts *texts, struct err *err)
{
	const uint8_t *text;
	int r;

	if (record->size > 20)
		return err_set(err, -EBADMSG, "num-samples is not a number");
	r = foreign_get(source, record->offset, (size_t)record->size, &text, err);
	if (r == 0)
		foreign_text_number((struct foreign_text){(const char *)text, (size_t)record->size},
				    &texts->samples);
	return r;
}

static int take(struct foreign_source *source, struct foreign_tree *tree,
		const struct walker_record *record, struct texts *texts, struct err *err)
{
	uint32_t number = number_of(record, "image-");

	if (number)
		return add_image(tree, record, number, texts, err);
	number = number_of(record, "label-");
	if (number)
		return add_text(source, tree, record, number, texts, err);
	if (foreign_text_is((struct foreign_text){(const char *)record->key, record->key_len},
			    "num-samples"))
		return take_count(source, record, texts, err);
	texts->others++;
	return 0;
}

static int finish(struct foreign_tree *tree, struct texts *texts, struct err *err)
{
	uint64_t images = BUF_COUNT(&texts->numbers, uint32_t);
	int r;

	find_image(texts, UINT32_MAX);
	if (images == 0)
		return err_set(err, -EBADMSG, "no record has a key as image-000000001");
	r = foreign_tree_note_count(tree, texts->unknown, "%" PRIu64 " images have no text");
	if (r == 0)
		r = foreign_tree_note_count(tree, texts->orphans,
					    "%" PRIu64 " texts without an image are left out");
	if (r == 0)
		r = foreign_tree_note_count(tree, texts->others,
					    "%" PRIu64
					    " records with other keys, as lexicons, are left out");
	if (r == 0 && texts->samples && texts->samples != images)
		r = foreign_tree_note(tree, "%" PRIu64 " images, where num-samples says %" PRIu64,
				      images, texts->samples);
	if (r < 0 || texts->lines.len == 0)
		return r;
	return foreign_add_text(tree, "labels.tsv", texts->lines.data, texts->lines.len, err);
}

static int crnn_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(texts_release) struct texts texts = {0};
	struct walker_record record;
	int r = walker_first(source->walker, &record, err);

	while (r == 0) {
		r = take(source, tree, &record, &texts, err);
		if (r == 0)
			r = walker_next(source->walker, &record, err);
	}
	return r < 0 ? r : finish(tree, &texts, err);
}

const struct foreign_format crnn_format = {
	.name = "crnn",
	.lmdb = true,
	.probe = crnn_probe,
	.scan = crnn_scan,
};
