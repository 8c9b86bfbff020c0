/* Whatever the text, and in whatever parts it comes: it is harmless, or about some of the images,
 * and the same whether it comes at once or in parts. The first byte says how long these are. */
#include "base/scope.h"
#include "pack/tool/image/annotations.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define IMAGES 4

static struct photo_names names, odd; /* that cannot be cut, and that can be */

static void make_names(void)
{
	static const char *const whole[IMAGES] = {"a.jpg", "b_1.png", "0001.jpg", "v1.2.jpeg"};
	static const char *const parted[IMAGES] = {"c d.jpg", "a,b.png", "caf\xc3\xa9.jpg", "(1)"};

	for (size_t i = 0; i < IMAGES; i++) {
		must(photo_names_add(&names, whole[i]) == 0);
		must(photo_names_add(&odd, parted[i]) == 0);
	}
}

static void release(struct annotations_scan **scan)
{
	annotations_free(*scan);
}

static struct annotations look(const struct photo_names *of, const uint8_t *data, size_t size,
			       size_t part)
{
	SCOPE(release) struct annotations_scan *scan = NULL;
	struct annotations found = {0};
	size_t len = size < ANNOTATIONS_HEAD ? size : ANNOTATIONS_HEAD;
	int r = annotations_begin(of, "x/labels.txt", &scan);

	for (size_t at = 0; r == 0 && at < size; at += len, len = part) {
		len = len < size - at ? len : size - at;
		r = annotations_feed(scan, data + at, len);
	}
	if (r == 0)
		r = annotations_end(scan, &found);
	must(r == 0 || r == 1);
	must((found.images > 0) == (found.places > 0) && found.images <= IMAGES);
	return found;
}

/* The name of a file may be any bytes, too. */
static void use_name(const uint8_t *data, size_t size)
{
	char name[256] = "";

	memcpy(name, data, size < sizeof(name) ? size : sizeof(name) - 1);
	(void)photo_names_share(&names, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct annotations one, other;

	if (!names.count)
		make_names();
	if (size == 0)
		return 0;
	one = look(&names, data + 1, size - 1, size);
	other = look(&names, data + 1, size - 1, (size_t)data[0] + 1);
	must(one.places == other.places && one.images == other.images);
	(void)look(&odd, data + 1, size - 1, (size_t)data[0] + 1);
	use_name(data + 1, size - 1);
	return 0;
}
