#include "pack/tool/image/transform.h"

#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/image/bitmap.h"
#include "pack/tool/image/image.h"
#include "pack/tool/image/jpeg.h"

/* An image that is decoded at a fraction of its size is still this many times larger than the
 * result. Compared with resizing all of it, photographs at 64 pixels have 33 dB and more (median
 * 42) with 1, 42 and more (median 51) with 2, 48 and more (median 53) with 3. */
#define HEADROOM 2

#define MEMORY GIB /* for the pixels of one image */

/* One image on its way. */
struct job {
	const struct transform *how;
	const uint8_t *data;
	size_t len;
	struct jpeg_head jpeg;
	uint32_t width, height; /* to be */
};

static void job_release(struct job *job)
{
	jpeg_head_release(&job->jpeg);
}

bool transform_is_wanted(const struct transform *how)
{
	return how->resize || how->max_side || how->store != STORE_KEEP || how->optimize;
}

bool transform_decodes(const struct transform *how)
{
	return how->store == STORE_BMP || how->store == STORE_PPM;
}

int transform_check(const struct transform *how, struct err *err)
{
	bool makes_jpegs = how->resize || how->max_side || how->store == STORE_JPEG;

	if (how->quality > 100)
		return err_set(err, -EINVAL, "a quality is 1 to 100");
	if (how->quality && !makes_jpegs)
		return err_set(
			err, -EINVAL,
			"a quality is for images that are encoded: with --resize, --max-side "
			"or --store=jpeg");
	return 0;
}

/* --- sizes ---------------------------------------------------------------------------- */

/* side * to / from, but at least one pixel. */
static uint32_t scaled(uint32_t side, uint32_t to, uint32_t from)
{
	uint32_t result = (uint32_t)((uint64_t)side * to / from);

	return result ? result : 1;
}

void transform_size(const struct transform *how, uint32_t *width, uint32_t *height)
{
	uint32_t *shorter = *width <= *height ? width : height;
	uint32_t *longer = *width <= *height ? height : width;

	if (how->resize && how->resize < *shorter) {
		*longer = scaled(*longer, how->resize, *shorter);
		*shorter = how->resize;
	}
	if (how->max_side && how->max_side < *longer) {
		*shorter = scaled(*shorter, how->max_side, *longer);
		*longer = how->max_side;
	}
}

static bool is_resized(const struct job *job)
{
	return job->width != job->jpeg.width || job->height != job->jpeg.height;
}

int transform_check_memory(uint32_t width, uint32_t height, uint32_t shrink, unsigned pixel_bytes,
			   struct err *err)
{
	uint64_t need = (uint64_t)width * height / shrink / shrink * pixel_bytes;
	char need_text[SIZE_TEXT], most_text[SIZE_TEXT];

	if (need <= MEMORY)
		return 0;
	return err_set(err, -EFBIG,
		       "%ux%u pixels need %s of memory, and %s are the most for one image", width,
		       height, size_format(need, need_text), size_format(MEMORY, most_text));
}

/* --- making --------------------------------------------------------------------------- */

static int make_pixels(const struct job *job, struct pixels *ret, struct err *err)
{
	const struct jpeg_head *head = &job->jpeg;
	unsigned bytes = head->colour == JPEG_GREY ? 1 : head->colour == JPEG_CMYK ? 4 : 3;
	struct resize how = {.from_width = head->width,
			     .from_height = head->height,
			     .shrink = 8,
			     .width = job->width,
			     .height = job->height};
	SCOPE(pixels_release) struct pixels decoded = {0};
	int r;

	/* The decoder may shrink the image by so much. */
	while (how.shrink > 1 && (head->width / how.shrink < HEADROOM * (uint64_t)job->width ||
				  head->height / how.shrink < HEADROOM * (uint64_t)job->height))
		how.shrink /= 2;
	r = transform_check_memory(head->width, head->height, how.shrink, bytes, err);
	if (r == 0)
		r = jpeg_decode(job->data, job->len, how.shrink, &decoded, err);
	if (r < 0)
		return r;
	if (is_resized(job))
		return resize(&how, &decoded, ret);
	*ret = decoded;
	decoded = (struct pixels){0};
	return 0;
}

static int make_jpeg(const struct job *job, struct buf *out, struct err *err)
{
	uint32_t quality = job->how->quality ? job->how->quality : TRANSFORM_QUALITY;
	SCOPE(pixels_release) struct pixels pixels = {0};
	int r = make_pixels(job, &pixels, err);

	return r < 0 ? r
		     : jpeg_encode(&pixels, quality, job->jpeg.ycck, &job->jpeg.segments, out, err);
}

/* Why a JPEG stays one where images are stored decoded; NULL: it does not. */
static const char *not_decoded(const struct job *job)
{
	if (job->jpeg.colour == JPEG_CMYK)
		return "CMYK, which no decoded image could say";
	return job->jpeg.orientation == 1
		       ? NULL
		       : "EXIF asks to turn it, which no decoded image could say";
}

static int work_on_jpeg(const struct job *job, struct buf *out, struct err *err)
{
	SCOPE(pixels_release) struct pixels pixels = {0};
	int r;

	if (transform_decodes(job->how) && !not_decoded(job)) {
		r = make_pixels(job, &pixels, err);
		if (r < 0)
			return r;
		return job->how->store == STORE_BMP ? bitmap_bmp(&pixels, out)
						    : bitmap_ppm(&pixels, out);
	}
	if (is_resized(job))
		return make_jpeg(job, out, err);
	if (job->how->store == STORE_JPEG) {
		r = make_jpeg(job, out, err);
		if (r < 0 || (r == 0 && out->len < job->len))
			return r;
	}
	r = 1;
	if (job->how->optimize) {
		out->len = 0;
		r = jpeg_optimize(job->data, job->len, out, err);
		if (r == 0 && job->jpeg.baseline && out->len >= job->len)
			r = 1;
	}
	if (r == 1 && transform_decodes(job->how))
		err_set(err, 1, "%s", not_decoded(job));
	return r;
}

/* 0, 1 where it stays, or an error. */
static int job_init(struct job *job, const uint8_t *data, size_t len, struct err *err)
{
	struct dataset_image image;
	int r;

	image_inspect(data, len, &image);
	if (image.kind != IMAGE_JPEG)
		return 1;
	job->data = data;
	job->len = len;
	r = jpeg_head_read(data, len, &job->jpeg, err);
	if (r < 0)
		return r;
	if (job->jpeg.colour == JPEG_OTHER)
		return err_set(err, 1, "neither grey nor colour");
	job->width = job->jpeg.width;
	job->height = job->jpeg.height;
	transform_size(job->how, &job->width, &job->height);
	return 0;
}

int transform_image(const struct transform *how, const uint8_t *data, size_t len, struct buf *out,
		    struct err *err)
{
	SCOPE(job_release) struct job job = {.how = how};
	int r = job_init(&job, data, len, err);

	if (r == 0)
		r = work_on_jpeg(&job, out, err);
	/* What cannot be decoded here, or what no image of the format asked for can hold, stays. */
	return r == -ENOTSUP || r == -EINVAL ? 1 : r;
}
