#include "pack/foreign/archive/tar_header.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

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
		/* What is shifted out must be as the sign, and so must the bit that then comes
		 * first. */
		if (value >> 55 != sign)
			return false;
		value = value << 8 | byte;
	}
	*ret = (int64_t)value;
	return true;
}

/* No digits at all are 0, as old programs have it for folders. */
static bool read_tar_number(const uint8_t *field, size_t len, int64_t *ret)
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
	return read_tar_number(block + SUM, SUM_LEN, &said) && (said == sum || said == with_sign) &&
	       !tar_block_empty(block);
}

int tar_header_read(const uint8_t *block, struct tar_header *ret, struct err *err)
{
	struct tar_header header = {.type = (char)block[TYPE]};
	size_t len = strnlen((const char *)block, NAME_LEN);
	int64_t mode, size;

	if (!read_tar_number(block + MODE, 8, &mode))
		return err_set(err, -EBADMSG, "its mode is no number");
	if (!read_tar_number(block + SIZE, 12, &size) || size < 0)
		return err_set(err, -EBADMSG, "its size is no number");
	if (!read_tar_number(block + MTIME, 12, &header.mtime))
		return err_set(err, -EBADMSG, "its time is no number");
	header.mode = (mode_t)mode & 07777;
	header.size = (uint64_t)size;
	header.ends_in_slash = len && block[len - 1] == '/';
	*ret = header;
	return 0;
}

static int add_tar_field(const uint8_t *field, size_t len, struct buf *ret)
{
	return buf_add(ret, field, strnlen((const char *)field, len));
}

/* GNU tar has other things in the place of the prefix, and another magic. */
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

struct pax_text {
	const char *at, *end;
};

static bool read_decimal(struct pax_text *text, uint64_t *ret)
{
	const char *begin = text->at;
	uint64_t value = 0;

	for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text->at - '0'), &value))
			return false;
	*ret = value;
	return text->at > begin;
}

/* "-12.345": digits after the ninth do not count. Times that 64 bits of nanoseconds cannot hold are
 * refused. */
static bool read_time(struct pax_text text, int64_t *ret)
{
	bool negative = text.at < text.end && *text.at == '-';
	int64_t unit = SECOND / 10, ns;
	uint64_t seconds;

	text.at += negative;
	if (!read_decimal(&text, &seconds) || seconds >= INT64_MAX / SECOND)
		return false;
	ns = (int64_t)seconds * SECOND;
	if (text.at < text.end && *text.at++ != '.')
		return false;
	for (; text.at < text.end; text.at++, unit /= 10) {
		if (*text.at < '0' || *text.at > '9')
			return false;
		ns += unit * (*text.at - '0');
	}
	*ret = negative ? -ns : ns;
	return true;
}

static int take_pax_text(struct buf *to, struct pax_text value)
{
	to->len = 0;
	return buf_add(to, value.at, (size_t)(value.end - value.at));
}

static bool is_pax_key(struct pax_text key, const char *name)
{
	return (size_t)(key.end - key.at) == strlen(name) &&
	       memcmp(key.at, name, strlen(name)) == 0;
}

/* An empty value takes back what was said before. */
static int take_pax_record(struct tar_extra *extra, struct pax_text key, struct pax_text value,
			   struct err *err)
{
	static const char sparse[] = "GNU.sparse.";

	if (is_pax_key(key, "path"))
		return take_pax_text(&extra->path, value);
	if (is_pax_key(key, "linkpath"))
		return take_pax_text(&extra->target, value);
	if (is_pax_key(key, "size")) {
		extra->has_size = value.at < value.end;
		if (extra->has_size && (!read_decimal(&value, &extra->size) ||
					value.at < value.end || extra->size > INT64_MAX))
			return err_set(err, -EBADMSG,
				       "its pax header has a size that is no number");
	} else if (is_pax_key(key, "mtime")) {
		extra->has_mtime = value.at < value.end;
		if (extra->has_mtime && !read_time(value, &extra->mtime))
			return err_set(err, -EBADMSG,
				       "its pax header has a time that is no number");
	} else if ((size_t)(key.end - key.at) >= strlen(sparse) &&
		   memcmp(key.at, sparse, strlen(sparse)) == 0) {
		extra->sparse = true;
	}
	return 0;
}

int tar_extra_read(struct tar_extra *extra, const char *records, size_t len, struct err *err)
{
	struct pax_text all = {records, records + len};
	int r = 0;

	while (r == 0 && all.at < all.end) {
		struct pax_text key, value, head = all;
		uint64_t length;
		const char *equals;

		if (!read_decimal(&head, &length) || length > (uint64_t)(all.end - all.at) ||
		    head.at == all.end || *head.at++ != ' ' || head.at >= all.at + length ||
		    all.at[length - 1] != '\n')
			return err_set(err, -EBADMSG, "its pax header has a record of no length");
		head.end = all.at + length - 1;
		equals = memchr(head.at, '=', (size_t)(head.end - head.at));
		if (!equals)
			return err_set(err, -EBADMSG, "its pax header has a record without '='");
		key = (struct pax_text){head.at, equals};
		value = (struct pax_text){equals + 1, head.end};
		r = take_pax_record(extra, key, value, err);
		all.at += length;
	}
	return r;
}

void tar_extra_release(struct tar_extra *extra)
{
	buf_release(&extra->path);
	buf_release(&extra->target);
	*extra = (struct tar_extra){0};
}
