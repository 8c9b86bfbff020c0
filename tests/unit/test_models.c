/* Where the weights of models end. The numbers are torch's: torch.manual_seed(0), the model, and
 * the place of what the generator gives next. */
#include "cache/order/streams.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdlib.h>

static bool is_in_a_span(uint32_t classes, uint64_t output)
{
	unsigned count;
	struct models_span *spans = models_spans(classes, &count);
	bool found = false;

	assert_non_null(spans);
	for (unsigned i = 0; i < count; i++)
		found = found || (output >= spans[i].begin && output < spans[i].end);
	free(spans);
	return found;
}

TEST(a_model_for_imagenet_ends_in_a_span_whatever_the_classes)
{
	assert_true(is_in_a_span(0, 22846824 + 3)); /* resnet18 of torchvision */
	assert_true(is_in_a_span(2, 22846824 + 3));
	assert_true(is_in_a_span(10, 172973800 + 3)); /* vit of transformers */
	assert_true(is_in_a_span(37, 276701672 + 3)); /* vgg16 */
}

TEST(a_model_for_the_classes_of_the_dataset_ends_in_a_span)
{
	assert_true(is_in_a_span(2, 22333824 + 513 * 2 + 3));
	assert_true(is_in_a_span(2, 171439874 + 3)); /* vit of transformers */
	assert_false(is_in_a_span(200, 22333824 + 513 * 2 + 3));
	assert_false(is_in_a_span(0, 22333824 + 513 * 2 + 3));
}

TEST(a_new_last_layer_for_the_classes_ends_in_a_span)
{
	assert_true(is_in_a_span(120, 22846824 + 513 * 120 + 3));
	assert_false(is_in_a_span(0, 22846824 + 513 * 120 + 3));
}

TEST(the_first_outputs_are_a_span)
{
	assert_true(is_in_a_span(0, 0));
	assert_true(is_in_a_span(1000, MODELS_BEGIN - 1));
	assert_false(is_in_a_span(0, MODELS_BEGIN));
}

TEST(spans_rise_and_lie_apart)
{
	static const uint32_t classes[] = {0, 1, 2, 10, 100, 1000, 21841, UINT32_MAX};

	for (unsigned i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		unsigned count;
		struct models_span *spans = models_spans(classes[i], &count);

		assert_non_null(spans);
		assert_int_equal(spans[0].begin, 0);
		for (unsigned j = 0; j < count; j++)
			assert_true(spans[j].end > spans[j].begin);
		for (unsigned j = 1; j < count; j++)
			assert_true(spans[j].begin > spans[j - 1].end);
		free(spans);
	}
}
