#include "pack/set_name.h"
#include "base/name.h"
#include <string.h>

#define DIGITS_MOST 18

bool set_name_number(const char **at, uint64_t *ret, int *ret_digits)
{
	const char *start = *at;

	*ret = 0;
	while (**at >= '0' && **at <= '9' && *at - start < DIGITS_MOST)
		*ret = *ret * 10 + (uint64_t)(*(*at)++ - '0');
	*ret_digits = (int)(*at - start);
	return *ret_digits > 0;
}

bool set_name_parse(const char *name, struct set_name *ret)
{
	const char *end_of_name = name + name_query(name);
	const char *slash = memrchr(name, '/', (size_t)(end_of_name - name));
	const char *base = slash ? slash + 1 : name;

	for (const char *at = strchr(base, '-'); at && at < end_of_name; at = strchr(at + 1, '-')) {
		const char *end = at + 1;
		int digits;

		*ret = (struct set_name){
			.name = name, .base = (size_t)(base - name), .before = (size_t)(at - name)};
		if (!set_name_number(&end, &ret->number, &ret->digits) ||
		    strncmp(end, "-of-", 4) != 0)
			continue;
		end += 4;
		ret->after = end;
		if (!set_name_number(&ret->after, &ret->of, &digits) || ret->number >= ret->of ||
		    ret->of > NAMES_MOST)
			continue;
		ret->after_len = (size_t)(end_of_name - ret->after);
		return true;
	}
	return false;
}
