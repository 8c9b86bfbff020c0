#include "pack/foreign/encoding/numpy_integer.h"
#include "base/le.h"
#include <string.h>

bool numpy_integer(const char *type, const void *bytes, uint64_t size, int64_t *ret)
{
	bool is_signed = type[0] == 'i';
	uint64_t number = 0;

	if ((!is_signed && type[0] != 'u') || !type[1] || !strchr("1248", type[1]) || type[2] ||
	    size != (uint64_t)(type[1] - '0'))
		return false;
	memcpy(&number, bytes, (size_t)size);
	number = le64toh(number);
	if (is_signed && size < 8 && number >> (8 * size - 1))
		number |= UINT64_MAX << 8 * size;
	if (!is_signed && number > INT64_MAX)
		return false;
	*ret = (int64_t)number;
	return true;
}
