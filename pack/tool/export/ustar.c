#include "pack/tool/export/ustar.h"

#include "base/scope.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define OCTAL_MAX (((uint64_t)1 << 33) - 1) /* of 11 digits */

/* As POSIX has it. */
struct ustar {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char uname[32], gname[32];
	char major[8], minor[8];
	char prefix[155];
	char rest[12];
};

_Static_assert(sizeof(struct ustar) == USTAR_BLOCK, "a header is a block");

int ustar_pad(uint64_t size, struct buf *to)
{
	static const char zeros[USTAR_BLOCK];

	return buf_add(to, zeros, (size_t)(-size % USTAR_BLOCK));
}

/* `room` bytes: digits and a NUL. */
static void put_octal(char *field, size_t room, uint64_t value)
{
	field[--room] = '\0';
	while (room) {
		field[--room] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

/* A name over 100 bytes is cut at a slash: at most 155 bytes before it and 100 after it. Returns
 * whether the name fits. */
static bool put_name(struct ustar *header, const char *name, size_t len)
{
	const char *slash;
	size_t before;

	if (len <= sizeof(header->name)) {
		memcpy(header->name, name, len);
		return true;
	}
	slash = memchr(name + len - sizeof(header->name) - 1, '/', sizeof(header->name));
	before = slash ? (size_t)(slash - name) : 0;
	if (before == 0 || before > sizeof(header->prefix)) {
		memcpy(header->name, name, sizeof(header->name));
		return false;
	}
	memcpy(header->prefix, name, before);
	memcpy(header->name, slash + 1, len - before - 1);
	return true;
}

/* The sum of all bytes, those of the checksum being blanks. */
static void put_checksum(struct ustar *header)
{
	const uint8_t *bytes = (const uint8_t *)header;
	uint32_t sum = 0;

	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += bytes[i];
	put_octal(header->checksum, 7, sum);
}

static void fill_header(struct ustar *header, const struct ustar_member *member, char type)
{
	uint64_t mtime = member->mtime > 0 ? (uint64_t)member->mtime : 0;

	put_octal(header->mode, sizeof(header->mode), member->mode & 07777);
	put_octal(header->uid, sizeof(header->uid), 0);
	put_octal(header->gid, sizeof(header->gid), 0);
	put_octal(header->size, sizeof(header->size), member->size);
	put_octal(header->mtime, sizeof(header->mtime), mtime < OCTAL_MAX ? mtime : OCTAL_MAX);
	header->type = type;
	memcpy(header->magic, "ustar", 6);
	memcpy(header->version, "00", 2);
	put_octal(header->major, sizeof(header->major), 0);
	put_octal(header->minor, sizeof(header->minor), 0);
	put_checksum(header);
}

/* --- pax -------------------------------------------------------------------------------- */

/* Adds "LENGTH key=value\n", where the length counts its own digits. */
static void add_pax(struct buf *to, const char *key, const char *value, size_t len)
{
	size_t rest = 1 + strlen(key) + 1 + len + 1, all = rest + 1;

	while ((size_t)snprintf(NULL, 0, "%zu", all) + rest != all)
		all++;
	buf_addf(to, "%zu %s=", all, key);
	buf_add(to, value, len);
	buf_add(to, "\n", 1);
}

static bool is_utf8(const char *text, size_t len)
{
	uint32_t character;
	size_t n = 1;

	for (; len && n; text += n, len -= n)
		n = utf8_decode(text, len, &character);
	return n != 0;
}

/* A path that is not UTF-8 is marked as bytes. */
static void add_path(struct buf *to, const struct ustar_member *member)
{
	if (!is_utf8(member->name, member->name_len))
		add_pax(to, "hdrcharset", "BINARY", strlen("BINARY"));
	add_pax(to, "path", member->name, member->name_len);
}

static void add_size(struct buf *to, uint64_t size)
{
	char text[24];

	add_pax(to, "size", text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, size));
}

static void add_pax_header(const struct ustar_member *member, const struct buf *values,
			   struct buf *to)
{
	struct ustar header = {0};
	struct ustar_member pax = {.size = values->len, .mode = 0644, .mtime = member->mtime};

	memcpy(header.name, "././@PaxHeader", 14);
	fill_header(&header, &pax, 'x');
	buf_add(to, &header, sizeof(header));
	buf_add(to, values->data, values->len);
	ustar_pad(values->len, to);
	to->failed |= values->failed;
}

int ustar_header(const struct ustar_member *member, struct buf *to)
{
	SCOPE(buf_release) struct buf values = BUF_INIT;
	struct ustar_member fits = *member;
	struct ustar header = {0};

	if (!put_name(&header, member->name, member->name_len))
		add_path(&values, member);
	if (member->size > OCTAL_MAX) {
		add_size(&values, member->size);
		fits.size = 0;
	}
	if (values.len || values.failed)
		add_pax_header(member, &values, to);
	fill_header(&header, &fits, '0');
	return buf_add(to, &header, sizeof(header));
}
