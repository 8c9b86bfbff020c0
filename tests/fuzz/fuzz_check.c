/* Checks whatever bytes it is given as an image, at the level and under the name that the first of
 * them says. A finding must be whole. */
#include "pack/tool/image/check.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"a.jpg", "a.png", "a.gif", "a.webp",
					    "a.bmp", "a.ppm", "a.tif", "a"};
	struct check_finding finding;
	int r;

	if (size == 0)
		return 0;
	r = check_image(data[0] & 1 ? CHECK_DECODE : CHECK_HEADER, names[data[0] >> 1 & 7],
			data + 1, size - 1, &finding);
	must(r == 0 || r == 1);
	must(r == 0 || (finding.damage[0] && finding.text[0]));
	return 0;
}
