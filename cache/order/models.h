/* Where in the outputs of torch's generator the weights of well-known models end.
 *
 *	torch.manual_seed(42); model = resnet50(num_classes=10); for .. in DataLoader(shuffle=True)
 *
 * RandomSampler draws each epoch's seed from the generator that made the weights before. How many
 * outputs a model takes follows from its architecture and its number of classes: so many for all
 * but the last layer, and so many for each class. Scripts make it for the classes of the dataset,
 * or for ImageNet's 1000, or for these and then put a last layer of their own in its place.
 * Pure. */
#pragma once

#include <stdint.h>

#define MODELS_BEGIN  524288 /* the first outputs: after a small model, or none */
#define MODELS_WINDOW 512    /* outputs after a model that may be the seed */
#define MODELS_END    300000000

struct models_span {
	uint64_t begin, end; /* outputs, by number */
};

/* The outputs that may be the first seed of a script for a dataset of `classes` classes (0: not
 * known), as spans that rise and lie apart, the first from 0 to MODELS_BEGIN, none that begins
 * after MODELS_END. From malloc; NULL: no memory. */
struct models_span *models_spans(uint32_t classes, unsigned *ret_count);
