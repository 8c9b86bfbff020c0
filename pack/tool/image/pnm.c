#include "pack/tool/image/pnm.h"

#include <errno.h>

static size_t skip_space(const uint8_t *data, size_t len, size_t at)
{
	while (at < len && (pnm_is_space(data[at]) || data[at] == '#')) {
		if (data[at] == '#')
			while (at < len && data[at] != '\n')
				at++;
		else
			at++;
	}
	return at;
}

/* The next number, after white space and comments: not 0, and it ends before `len`. */
static int next_number(const uint8_t *data, size_t len, size_t *at, uint32_t *ret)
{
	size_t first = skip_space(data, len, *at), i;
	uint32_t number = 0;

	if (first == *at && first < len)
		return -EINVAL;
	for (i = first; i < len && data[i] >= '0' && data[i] <= '9'; i++) {
		if (number > (UINT32_MAX - 9) / 10)
			return -EINVAL;
		number = number * 10 + data[i] - '0';
	}
	if (i == len)
		return -ENODATA;
	if (number == 0 || !pnm_is_space(data[i]))
		return -EINVAL;
	*at = i;
	*ret = number;
	return 0;
}

int pnm_header(const uint8_t *data, size_t len, struct pnm *ret)
{
	struct pnm pnm = {.most = 1, .channels = 1};
	size_t at = 2;
	int r;

	if (len < 2)
		return -ENODATA;
	if (data[0] != 'P' || data[1] < '1' || data[1] > '6')
		return -EINVAL;
	pnm.plain = data[1] <= '3';
	pnm.bits = data[1] == '1' || data[1] == '4';
	if (data[1] == '3' || data[1] == '6')
		pnm.channels = 3;
	r = next_number(data, len, &at, &pnm.width);
	if (r == 0)
		r = next_number(data, len, &at, &pnm.height);
	if (r == 0 && !pnm.bits)
		r = next_number(data, len, &at, &pnm.most);
	if (r < 0)
		return r;
	if (pnm.most > UINT16_MAX)
		return -EINVAL;
	pnm.samples = at + 1;
	*ret = pnm;
	return 0;
}
