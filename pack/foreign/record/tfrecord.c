/* TFRecord of Examples (vahidk/tfrecord's writer.py; TensorFlow's example.proto, feature.proto). Of
 * a record:
 *
 *	u64 length | u32 crc of these 8 bytes | bytes | u32 crc of the bytes
 *
 * The crc is a masked CRC-32C. That of the bytes is not looked at: a scan does not read them all.
 */
#include "base/crc32c.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/format.h"
#include "pack/foreign/record/tf_example.h"
#include <inttypes.h>
#include <string.h>

/* --- the file --------------------------------------------------------------------------------- */

#define HEAD 12
#define FOOT 4

/* Of take_all(): what shows that labels are to be read otherwise. */
#define FROM_ZERO   1 /* one is 0 */
#define TAKES_FIRST 2 /* one of several numbers has others than 0 and 1, or more than another */

struct scan {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct tf_example example;
	uint64_t number;	  /* of the record */
	uint64_t images, classed; /* of these: with a label or a class */
	uint64_t odd_labels, more_labels, places, more_images;
	uint64_t integers;		/* of each label so far; 0: none was seen */
	uint64_t unclear;		/* the first record of several classes, */
	uint64_t ones, unclear_numbers; /* and how many numbers are its label; 0: there is none */
};

static void scan_release(struct scan *scan)
{
	for (size_t i = 0; i < TF_ROLES; i++)
		buf_release(&scan->example.texts[i]);
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool length_holds(const uint8_t *head)
{
	return crc32c_masked(head, 8) == le_get32(head + 8);
}

static int get_frame(struct foreign_source *source, uint64_t at, uint64_t *ret, struct err *err)
{
	const uint8_t *head;
	int r = foreign_get(source, at, HEAD, &head, err);

	if (r < 0)
		return r;
	if (!length_holds(head))
		return err_set(err, -EBADMSG,
			       "the checksum of its length, at byte %" PRIu64 ", does not hold",
			       at);
	*ret = le_get64(head);
	if (source->size - at < HEAD + FOOT || *ret > source->size - at - HEAD - FOOT)
		return err_set(err, -EBADMSG,
			       "truncated: %" PRIu64 " bytes at byte %" PRIu64
			       " of a file of %" PRIu64,
			       *ret, at + HEAD, source->size);
	return 0;
}

/* --- compressed ------------------------------------------------------------------------------- */

/* gzip (RFC 1952), or zlib (RFC 1950) of a usual level, and named as a TFRecord. */
static bool is_compressed(struct foreign_source *source, const uint8_t *head)
{
	bool gzip = head[0] == 0x1f && head[1] == 0x8b;
	bool zlib = head[0] == 0x78 && (head[0] << 8 | head[1]) % 31 == 0;

	return (gzip || zlib) && (strstr(source->path, "tfrec") || strstr(source->path, ".record"));
}

static int tfrecord_probe(struct foreign_source *source)
{
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, HEAD, &head, &len);

	if (r < 0 || len < HEAD)
		return r;
	return length_holds(head) || is_compressed(source, head);
}

/* --- records ---------------------------------------------------------------------------------- */

static int add(struct scan *scan, struct err *err)
{
	const struct tf_example *example = &scan->example;
	struct foreign_file file = {.record = scan->number,
				    .label = example->label,
				    .class = example->class,
				    .name = foreign_text_after(example->name, '/'),
				    .offset = example->offset,
				    .size = example->size};

	if (file.name.len == 0)
		file.name.data = NULL;
	file.plain = file.name.data && !memchr(file.name.data, '.', file.name.len);
	if (scan->source->settings->classes && example->label != FOREIGN_NO_LABEL)
		file.class = (struct foreign_text){0};
	scan->images++;
	if (example->is_guess && example->label != FOREIGN_NO_LABEL)
		foreign_tree_counted(scan->tree, LABELS_FROM_ONE);
	scan->classed += example->label != FOREIGN_NO_LABEL || example->class.data;
	scan->odd_labels += example->is_odd;
	scan->more_labels += example->more_labels;
	scan->places += example->is_place;
	if (example->is_place || example->more_labels)
		foreign_tree_several(scan->tree, example->is_place ? LABELS_PLACES : LABELS_FIRSTS);
	scan->more_images += example->more_images;
	return foreign_add(scan->tree, &file, err);
}

/* Labels that are one of many have as many numbers in each record. */
static bool is_like_others(struct scan *scan)
{
	uint64_t before = scan->integers, count = scan->example.integers;

	if (scan->example.takes_first || scan->example.size == 0 || count == 0)
		return true;
	scan->integers = count;
	return before == 0 || before == count;
}

static int take_all(struct scan *scan, struct err *err)
{
	uint64_t len;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < scan->source->size; at += HEAD + len + FOOT) {
		r = get_frame(scan->source, at, &len, err);
		if (r == 0)
			r = tf_example_read(&scan->example, scan->source, at + HEAD, len, err);
		if (r < 0)
			return err_set(err, r, "record %" PRIu64 ": %s", scan->number,
				       err_text(err, r));
		if (scan->example.is_zero)
			return FROM_ZERO;
		if (scan->example.is_list || !is_like_others(scan))
			return TAKES_FIRST;
		if (scan->example.numbers && !scan->unclear_numbers) {
			scan->unclear = scan->number;
			scan->ones = scan->example.ones;
			scan->unclear_numbers = scan->example.numbers;
		}
		if (scan->example.size > 0)
			r = add(scan, err);
		scan->number++;
	}
	return r;
}

static int restart(struct scan *scan, struct err *err)
{
	int r = foreign_tree_restart(scan->tree, err);

	scan->number = scan->images = scan->classed = 0;
	scan->odd_labels = scan->more_labels = scan->places = scan->more_images = 0;
	scan->unclear_numbers = 0;
	if (r == 0)
		r = foreign_tree_prefix(scan->tree);
	if (scan->example.from_zero)
		foreign_tree_counted(scan->tree, LABELS_FROM_ZERO);
	return r;
}

/* Begins anew where labels prove to be others than they were taken for. */
static int take_as_counted(struct scan *scan, struct err *err)
{
	int r;

	while ((r = take_all(scan, err)) > 0) {
		scan->example.from_zero |= r == FROM_ZERO;
		scan->example.takes_first |= r == TAKES_FIRST;
		r = restart(scan, err);
		if (r < 0)
			return r;
	}
	if (r == 0 && scan->unclear_numbers)
		return err_set(err, -EOPNOTSUPP,
			       "record %" PRIu64 ": its label is %" PRIu64
			       " numbers, of which %" PRIu64
			       " are 1, and so not one class: --label-key names another, or none",
			       scan->unclear, scan->unclear_numbers, scan->ones);
	return r;
}

/* Names the fields of the first record. */
static int get_keys(struct foreign_source *source, struct buf *ret, struct err *err)
{
	uint64_t len;
	int r = get_frame(source, 0, &len, err);

	return r < 0 ? r : tf_example_keys(source, HEAD, len, ret, err);
}

static int lack_image(struct foreign_source *source, struct err *err)
{
	SCOPE(buf_release) struct buf keys = BUF_INIT;
	const char *key = source->settings->image_key;
	int r = get_keys(source, &keys, err);

	return r < 0 ? r
		     : err_set(err, -EOPNOTSUPP,
			       "no record has an image as %s; --image-key names another of: %s",
			       key ? key : TF_IMAGE_KEYS, keys.len ? keys.data : "none");
}

static int lack_label(struct scan *scan, struct err *err)
{
	SCOPE(buf_release) struct buf keys = BUF_INIT;
	const char *key = scan->source->settings->label_key;
	int r = get_keys(scan->source, &keys, err);

	if (r == 0 && key)
		return err_set(err, -EINVAL,
			       "no record has a label as %s; --label-key names another of: %s", key,
			       keys.len ? keys.data : "none");
	return r < 0 || keys.len == 0
		       ? r
		       : foreign_tree_note(scan->tree,
					   "no record has a label as %s, so that all images are in "
					   "images: --label-key names another of: %s",
					   "image/class/label or label", keys.data);
}

static int note_counts(struct scan *scan, struct err *err)
{
	static const char *const texts[] = {
		"%" PRIu64 " records without an image are left out",
		"%" PRIu64
		" records have a label that is neither an integer nor a name, which is "
		"taken as none",
		"%" PRIu64 " records have several labels, of which the first counts",
		"%" PRIu64
		" records have a label of several numbers, of which the place of the only "
		"1 counts",
		"%" PRIu64 " records have several images, of which the first is shown"};
	const uint64_t counts[] = {scan->number - scan->images, scan->odd_labels, scan->more_labels,
				   scan->places, scan->more_images};
	int r = scan->classed || scan->odd_labels ? 0 : lack_label(scan, err);

	return r < 0 ? r : foreign_tree_note_counts(scan->tree, counts, texts, 5);
}

static int tfrecord_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(scan_release) struct scan scan = {.source = source, .tree = tree};
	const uint8_t *head;
	int r = foreign_get(source, 0, HEAD, &head, err);

	if (r == 0 && is_compressed(source, head))
		return err_set(err, -EOPNOTSUPP,
			       "a compressed TFRecord cannot be read in place: decompress it");
	if (r == 0)
		r = foreign_tree_prefix(tree);
	if (r == 0)
		r = take_as_counted(&scan, err);
	if (r == 0 && scan.images == 0)
		r = lack_image(source, err);
	return r < 0 ? r : note_counts(&scan, err);
}

const struct foreign_format tfrecord_format = {
	.name = "tfrecord",
	.takes = FOREIGN_TAKES_KEYS,
	.streamed = true,
	.probe = tfrecord_probe,
	.scan = tfrecord_scan,
};
