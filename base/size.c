#include "base/size.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 10^18 parts of 2^40 bytes fit into 128 bits. Further digits are worth less than a byte, and are
 * dropped. */
#define FRACTION_DIGITS 18

typedef unsigned __int128 uint128;

/* The number of bits the unit shifts by, or -1: "", "B", "K", "KB", "KiB" ... */
static int read_unit(const char *text)
{
	static const char letters[] = "KMGT";
	const char *found = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;
	int shift = found ? 10 * (int)(found - letters + 1) : 0;

	text += found != NULL;
	if (!*text || strcmp(text, "B") == 0 || (found && strcmp(text, "iB") == 0))
		return shift;
	return -1;
}

int size_parse(const char *text, uint64_t *ret_bytes)
{
	uint128 whole = 0, bytes, fraction = 0, scale = 1;
	const char *at = text, *point;
	int shift;

	for (; isdigit((unsigned char)*at); at++)
		if (whole <= INT64_MAX) /* else it is too large already */
			whole = whole * 10 + (unsigned)(*at - '0');
	if (at == text)
		return -EINVAL;
	if (*at == '.') {
		for (point = at++; isdigit((unsigned char)*at); at++) {
			if (at - point > FRACTION_DIGITS)
				continue;
			fraction = fraction * 10 + (unsigned)(*at - '0');
			scale *= 10;
		}
		if (at == point + 1)
			return -EINVAL;
	}
	shift = read_unit(at);
	if (shift < 0)
		return -EINVAL;
	bytes = (whole << shift) + (fraction << shift) / scale;
	if (bytes > INT64_MAX)
		return -ERANGE;
	*ret_bytes = (uint64_t)bytes;
	return 0;
}

const char *size_format(uint64_t bytes, char buf[static SIZE_TEXT])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, SIZE_TEXT, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
		return buf;
	}
	/* 1023.5 would be rounded to 1024 of the smaller unit. */
	for (; value >= 1023.5 && units[unit + 1]; unit++)
		value /= 1024;
	snprintf(buf, SIZE_TEXT, value >= 100 ? "%.0f %ciB" : "%.3g %ciB", value, units[unit]);
	return buf;
}

const char *count_format(uint64_t count, char buf[static SIZE_TEXT])
{
	char digits[SIZE_TEXT];
	size_t left = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *out = buf;

	for (const char *digit = digits; left > 0; left--) {
		*out++ = *digit++;
		if (left % 3 == 1 && left > 1)
			*out++ = ',';
	}
	*out = '\0';
	return buf;
}

const char *count_noun(uint64_t count, const char *noun, char buf[static SIZE_TEXT])
{
	size_t len = strlen(count_format(count, buf));

	snprintf(buf + len, SIZE_TEXT - len, " %s%s", noun, count == 1 ? "" : "s");
	return buf;
}
