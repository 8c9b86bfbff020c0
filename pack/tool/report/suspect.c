#include "pack/tool/report/suspect.h"

#include "pack/tool/image/image.h"
#include "pack/tool/read/classes.h"

bool suspect_image(const char *name, size_t name_len, const struct dataset_image *image)
{
	return image->kind != IMAGE_UNKNOWN || image_named(name, name_len) != IMAGE_UNKNOWN;
}

enum suspect suspect_of(const char *name, size_t name_len, uint64_t size,
			const struct dataset_image *image)
{
	enum format_image named = image_named(name, name_len);

	if (image->kind == IMAGE_UNKNOWN && named == IMAGE_UNKNOWN)
		return SUSPECT_NOT;
	if (size == 0)
		return SUSPECT_EMPTY;
	if (image->kind == IMAGE_UNKNOWN)
		return SUSPECT_NO_IMAGE;
	if (image->width == 0 && size <= IMAGE_HEAD)
		return SUSPECT_NO_HEADER;
	if (!classes_takes(name, name_len))
		return SUSPECT_PASSED;
	return named == image->kind ? SUSPECT_NOT : SUSPECT_MISNAMED;
}
