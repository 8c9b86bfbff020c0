#include "pack/foreign/archive/tar_header.h"
#include "base/date.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define SECOND INT64_C(1000000000)

enum { NAME = 0, MODE = 100, SIZE = 124, MTIME = 136, SUM = 148, TYPE = 156, TARGET = 157 };
enum { MAGIC = 257, PREFIX = 345 };
enum { NAME_LEN = 100, SUM_LEN = 8, PREFIX_LEN = 155 };

/* --- numbers ---------------------------------------------------------------------------------- */

static bool read_tar_binary(const uint8_t *field, size_t len, int64_t *ret)
{
	bool negative = field[0] & 0x40;
	uint64_t sign = negative ? 0x1ff : 0, value = negative ? UINT64_MAX : 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t byte = field[i];

		if (i == 0)
			byte = (uint8_t)((byte & 0x7f) | (negative ? 0x80 : 0));
		/* The bits that are shifted out, and the new first bit, must all be equal to the
		 * sign. */
		if (value >> 55 != sign)
			return false;
		value = value << 8 | byte;
	}
	*ret = (int64_t)value;
	return true;
}

bool tar_number(const uint8_t *field, size_t len, int64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	if (field[0] & 0x80)
		return read_tar_binary(field, len, ret);
	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
		if (value >> 60)
			return false;
		value = value << 3 | (uint64_t)(field[i] - '0');
	}
	*ret = (int64_t)value;
	return i == len || field[i] == ' ' || field[i] == '\0';
}

/* --- the block -------------------------------------------------------------------------------- */

bool tar_block_empty(const uint8_t *block)
{
	return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

bool tar_header_sound(const uint8_t *block)
{
	int64_t sum = 0, with_sign = 0, said;

	for (unsigned i = 0; i < TAR_BLOCK; i++) {
		uint8_t byte = i >= SUM && i < SUM + SUM_LEN ? ' ' : block[i];

		sum += byte;
		with_sign += (int8_t)byte;
	}
	return tar_number(block + SUM, SUM_LEN, &said) && (said == sum || said == with_sign) &&
	       !tar_block_empty(block);
}

int tar_header_read(const uint8_t *block, struct tar_header *ret, struct err *err)
{
	struct tar_header header = {.type = (char)block[TYPE]};
	int64_t mode, size;

	if (!tar_number(block + SIZE, 12, &size) || size < 0)
		return err_set(err, -EBADMSG, "its size is no number");
	if (!tar_number(block + MTIME, 12, &header.mtime))
		header.mtime = 0;
	if (tar_number(block + MODE, 8, &mode))
		header.mode = S_IFREG | ((mode_t)mode & 07777);
	header.size = (uint64_t)size;
	*ret = header;
	return 0;
}

static int add_tar_field(const uint8_t *field, size_t len, struct buf *ret)
{
	return buf_add(ret, field, strnlen((const char *)field, len));
}

/* GNU tar has other fields where the prefix is, and another magic number. */
int tar_header_path(const uint8_t *block, struct buf *ret)
{
	bool prefixed = memcmp(block + MAGIC, "ustar", 6) == 0 && block[PREFIX];
	int r = prefixed ? add_tar_field(block + PREFIX, PREFIX_LEN, ret) : 0;

	if (r == 0 && prefixed)
		r = buf_add(ret, "/", 1);
	return r < 0 ? r : add_tar_field(block + NAME, NAME_LEN, ret);
}

int tar_header_target(const uint8_t *block, struct buf *ret)
{
	return add_tar_field(block + TARGET, NAME_LEN, ret);
}

/* --- pax -------------------------------------------------------------------------------------- */

static size_t take_number(struct foreign_text *text, uint64_t *ret)
{
	size_t digits = foreign_text_number(*text, ret);

	text->data += digits;
	text->len -= digits;
	return digits;
}

/* "-12.345": digits after the ninth, and what follows the number, are ignored, as by tar. Seconds
 * of more than 64 bits are refused. */
static bool read_time(struct foreign_text text, int64_t *ret)
{
	bool negative = text.len && *text.data == '-';
	struct timespec time = {0};
	int64_t unit = SECOND / 10;
	uint64_t seconds;

	text.data += negative;
	text.len -= negative;
	if (!take_number(&text, &seconds) || seconds > INT64_MAX)
		return false;
	time.tv_sec = (time_t)seconds;
	for (size_t i = 1; text.len && *text.data == '.' && i < text.len; i++, unit /= 10) {
		if (text.data[i] < '0' || text.data[i] > '9')
			break;
		time.tv_nsec += unit * (text.data[i] - '0');
	}
	if (negative)
		time = (struct timespec){-time.tv_sec, -time.tv_nsec};
	*ret = date_of(time);
	return true;
}

/* A global one is that of all members: with a longer one, a small tar would take minutes. */
static int take_pax_text(struct buf *to, enum tar_said *said, struct foreign_text value,
			 struct err *err)
{
	if (value.len > FOREIGN_PATH_MOST)
		return err_set(err, -EBADMSG, "its pax header has a path of over 4095 bytes");
	*said = value.len ? TAR_SAID : TAR_TAKEN_BACK;
	to->len = 0;
	return buf_add(to, value.data, value.len);
}

static int take_pax_size(struct tar_extra *extra, struct foreign_text value, struct err *err)
{
	extra->said[TAR_SIZE] = value.len ? TAR_SAID : TAR_TAKEN_BACK;
	if (value.len &&
	    (!take_number(&value, &extra->size) || value.len || extra->size > INT64_MAX))
		return err_set(err, -EBADMSG, "its pax header has a size that is no number");
	return 0;
}

static int take_text(struct buf *to, struct foreign_text value)
{
	to->len = 0;
	return buf_add(to, value.data, value.len);
}

static int take_label(struct tar_extra *extra, struct foreign_text value, struct err *err)
{
	extra->labelled = value.len > 0;
	if (extra->labelled && !foreign_text_label(value, &extra->label))
		return err_set(err, -EBADMSG, "its pax header has a label that is no number");
	return 0;
}

/* An empty value takes an earlier one back. */
static int take_pax_record(struct tar_extra *extra, struct foreign_text key,
			   struct foreign_text value, struct err *err)
{
	if (foreign_text_is(key, "path"))
		return take_pax_text(&extra->path, &extra->said[TAR_PATH], value, err);
	if (foreign_text_is(key, "linkpath"))
		return take_pax_text(&extra->target, &extra->said[TAR_TARGET], value, err);
	if (foreign_text_is(key, "size"))
		return take_pax_size(extra, value, err);
	if (foreign_text_is(key, "mtime")) {
		if (value.len == 0)
			extra->said[TAR_MTIME] = TAR_TAKEN_BACK;
		else if (read_time(value, &extra->mtime))
			extra->said[TAR_MTIME] = TAR_SAID;
	}
	if (foreign_text_is(key, "FOLDFS.label"))
		return take_label(extra, value, err);
	if (foreign_text_is(key, "FOLDFS.class"))
		return take_text(&extra->class, value);
	if (foreign_text_is(key, "FOLDFS.bad"))
		return take_text(&extra->bad, value);
	return tar_holes_take(&extra->holes, key, value, err);
}

int tar_extra_read(struct tar_extra *extra, const char *records, size_t len, struct err *err)
{
	int r = 0;

	for (uint64_t at = 0, length; r == 0 && at < len; at += length) {
		struct foreign_text key = {records + at, len - at}, value;
		const char *equals;

		if (!take_number(&key, &length) || length > len - at || key.len == 0 ||
		    *key.data != ' ' || key.data + 1 >= records + at + length ||
		    records[at + length - 1] != '\n')
			return err_set(err, -EBADMSG, "its pax header has a record of no length");
		key.data++;
		key.len = (size_t)(records + at + length - 1 - key.data);
		equals = memchr(key.data, '=', key.len);
		if (!equals)
			return err_set(err, -EBADMSG, "its pax header has a record without '='");
		value.data = equals + 1;
		value.len = (size_t)(key.data + key.len - value.data);
		key.len = (size_t)(equals - key.data);
		r = take_pax_record(extra, key, value, err);
	}
	return r;
}

void tar_extra_release(struct tar_extra *extra)
{
	buf_release(&extra->path);
	buf_release(&extra->target);
	buf_release(&extra->class);
	buf_release(&extra->bad);
	tar_holes_release(&extra->holes);
	*extra = (struct tar_extra){0};
}
