#include "pack/tool/report/survey.h"

#include "base/scope.h"
#include "pack/tool/image/image.h"
#include <stdlib.h>

#define AGAIN	 (4 * MIB) /* a header that is not within these is none */
#define FAR	 64	   /* times the median area: 8 times its side */
#define ELONGATE 4	   /* sides whose ratio is more are worth a look */

void survey_note(struct survey_list *list, uint32_t number)
{
	if (list->count < SURVEY_NAMED)
		list->first[list->count] = number;
	list->count++;
}

void survey_free(struct survey *survey)
{
	if (!survey)
		return;
	summary_release(&survey->summary);
	duplicates_release(&survey->duplicates);
	free(survey->images);
	free(survey->entries);
	free(survey);
}

static void scope_survey(struct survey **survey)
{
	survey_free(*survey);
}

/* What the passes share. */
struct pass {
	struct dataset *dataset;
	struct survey *survey;
	uint8_t *again; /* AGAIN bytes, when they are needed */
	struct sized {
		uint32_t width, height, entry;
	} * sized;
	uint64_t *bytes; /* of each image that has some */
};

static void release(struct pass *pass)
{
	free(pass->again);
	free(pass->sized);
	free(pass->bytes);
}

/* --- images ----------------------------------------------------------------------------- */

/* A camera's notes or a profile may be longer than what was looked at when it was packed; TIFFs
 * have their sizes at their ends. */
static int look_again(struct pass *pass, uint32_t number, struct dataset_image *image)
{
	ssize_t n;

	if (!pass->again)
		pass->again = malloc(AGAIN);
	if (!pass->again)
		return -ENOMEM;
	n = dataset_read(pass->dataset, number, pass->again, AGAIN, 0, true);
	if (n == -ENOMEM)
		return -ENOMEM;
	if (n < 0)
		survey_note(&pass->survey->unreadable, number);
	else
		image_inspect(pass->again, (size_t)n, image);
	return 0;
}

static int image_of(struct pass *pass, uint32_t number, const struct dataset_entry *entry,
		    struct dataset_image *ret)
{
	int r = dataset_image(pass->dataset, entry->inode, ret);

	if (r < 0)
		return r;
	if ((unsigned)ret->kind >= IMAGE_KINDS)
		ret->kind = IMAGE_UNKNOWN;
	if (ret->kind == IMAGE_UNKNOWN || ret->kind == IMAGE_TIFF || ret->width ||
	    entry->size <= IMAGE_HEAD)
		return 0;
	return look_again(pass, number, ret);
}

static void add_image(struct pass *pass, uint32_t number, const struct dataset_entry *entry,
		      const struct dataset_image *image)
{
	struct survey *survey = pass->survey;
	const struct classes *classes = &survey->summary.classes;
	uint32_t class = classes->of[number];
	enum suspect suspect = suspect_of(entry->name, entry->name_len, entry->size, image);

	survey->entries[survey->image_count++] = number;
	survey->images[class ? classes->list[class - 1].label : classes->label_count]++;
	if (suspect != SUSPECT_NOT)
		survey_note(&survey->suspects[suspect], number);
	if (image->width)
		pass->sized[survey->sides.count++] = (struct sized){
			.width = image->width, .height = image->height, .entry = number};
	if (entry->size)
		pass->bytes[survey->bytes.count++] = entry->size;
	if (entry->size > survey->bytes.most) {
		survey->bytes.most = entry->size;
		survey->bytes.longest = number;
	}
}

static bool is_file(const struct dataset_entry *entry)
{
	return format_is_file(entry->kind) || entry->kind == FORMAT_HARDLINK;
}

static int find_images(struct pass *pass)
{
	struct dataset_entry entry;
	struct dataset_image image;
	int r;

	for (uint32_t number = 0; number < dataset_entries(pass->dataset); number++) {
		dataset_entry(pass->dataset, number, &entry);
		if (!is_file(&entry))
			continue;
		r = image_of(pass, number, &entry, &image);
		if (r < 0)
			return r;
		if (suspect_image(entry.name, entry.name_len, &image))
			add_image(pass, number, &entry, &image);
	}
	return 0;
}

/* --- sizes ------------------------------------------------------------------------------ */

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void measure_side(const struct pass *pass, bool height, uint32_t *values,
			 struct summary_range *ret)
{
	uint64_t count = pass->survey->sides.count;

	for (uint64_t i = 0; i < count; i++)
		values[i] = height ? pass->sized[i].height : pass->sized[i].width;
	qsort(values, count, sizeof(*values), compare_u32);
	*ret = (struct summary_range){
		.min = values[0], .median = values[count / 2], .max = values[count - 1]};
}

/* The axis of all ratios of width to height, over at least 1:2 to 2:1, and as far to either
 * side: a list of portraits looks like one. */
static struct axis aspect_axis(const struct pass *pass)
{
	double most = 2;

	for (uint64_t i = 0; i < pass->survey->sides.count; i++) {
		double ratio = (double)pass->sized[i].width / pass->sized[i].height;

		if (ratio < 1)
			ratio = 1 / ratio;
		most = ratio > most ? ratio : most;
	}
	return axis_log(1 / most, most);
}

static void note_extremes(struct survey_sides *sides, const struct sized *image, double median)
{
	double area = (double)image->width * image->height;

	if (area * FAR < median)
		survey_note(&sides->tiny, image->entry);
	if (area > median * FAR)
		survey_note(&sides->huge, image->entry);
	if (image->width > (uint64_t)ELONGATE * image->height)
		survey_note(&sides->wide, image->entry);
	if (image->height > (uint64_t)ELONGATE * image->width)
		survey_note(&sides->narrow, image->entry);
}

static int measure_sides(struct pass *pass)
{
	struct survey_sides *sides = &pass->survey->sides;
	SCOPE_FREE uint32_t *values = malloc((sides->count + 1) * sizeof(*values));
	struct axis x, y, aspect;
	double median;

	if (!values)
		return -ENOMEM;
	if (sides->count == 0)
		return 0;
	measure_side(pass, false, values, &sides->width);
	measure_side(pass, true, values, &sides->height);
	median = (double)sides->width.median * sides->height.median;
	x = axis_log(sides->width.min, sides->width.max);
	y = axis_log(sides->height.min, sides->height.max);
	aspect = aspect_axis(pass);
	bin_plane_begin(&sides->plane, &x, &y);
	bins_begin(&sides->aspects, &aspect, sides->count);
	for (uint64_t i = 0; i < sides->count; i++) {
		const struct sized *image = &pass->sized[i];

		bin_plane_add(&sides->plane, image->width, image->height);
		bins_add(&sides->aspects, (double)image->width / image->height);
		note_extremes(sides, image, median);
	}
	return 0;
}

static void measure_bytes(struct pass *pass)
{
	struct survey_bytes *bytes = &pass->survey->bytes;
	struct axis axis;

	if (bytes->count == 0)
		return;
	qsort(pass->bytes, bytes->count, sizeof(*pass->bytes), compare_u64);
	bytes->least = pass->bytes[0];
	bytes->median = pass->bytes[bytes->count / 2];
	bytes->p99 = pass->bytes[bytes->count - 1 - bytes->count / 100];
	axis = axis_log((double)bytes->least, (double)bytes->most);
	bins_begin(&bytes->bins, &axis, bytes->count);
	for (uint64_t i = 0; i < bytes->count; i++)
		bins_add(&bytes->bins, (double)pass->bytes[i]);
}

/* --- classes ---------------------------------------------------------------------------- */

/* Where ImageFolder takes nothing at all, it is another kind of dataset. */
static void note_classes(struct survey *survey)
{
	const struct classes *classes = &survey->summary.classes;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < classes->count; i++)
		samples += classes->list[i].samples;
	for (uint32_t i = 0; samples && i < classes->count; i++)
		if (classes->list[i].samples == 0)
			survey_note(&survey->empty_classes, i);
	for (uint32_t i = 0; i < classes->label_count; i++)
		if (classes->labels[i].count < classes->split_count)
			survey_note(&survey->missing_labels, i);
}

/* --- the face --------------------------------------------------------------------------- */

static int allocate(struct pass *pass)
{
	struct survey *survey = pass->survey;
	size_t entries = dataset_entries(pass->dataset);

	survey->images = calloc(survey->summary.classes.label_count + 1, sizeof(*survey->images));
	survey->entries = malloc(entries * sizeof(*survey->entries));
	pass->sized = malloc(entries * sizeof(*pass->sized));
	pass->bytes = malloc(entries * sizeof(*pass->bytes));
	return survey->images && survey->entries && pass->sized && pass->bytes ? 0 : -ENOMEM;
}

static int measure(struct dataset *dataset, struct survey *survey)
{
	SCOPE(release) struct pass pass = {.dataset = dataset, .survey = survey};
	int r = allocate(&pass);

	if (r == 0)
		r = find_images(&pass);
	if (r == 0)
		r = measure_sides(&pass);
	if (r < 0)
		return r;
	measure_bytes(&pass);
	note_classes(survey);
	return 0;
}

int survey_new(struct dataset *dataset, struct survey **ret)
{
	SCOPE(scope_survey) struct survey *survey = calloc(1, sizeof(*survey));
	int r = survey ? summary_new(dataset, &survey->summary) : -ENOMEM;

	if (r == 0)
		r = measure(dataset, survey);
	if (r == 0)
		r = duplicates_new(dataset, &survey->summary.classes, survey->entries,
				   survey->image_count, &survey->duplicates);
	if (r < 0)
		return r;
	*ret = steal_ptr(&survey);
	return 0;
}
