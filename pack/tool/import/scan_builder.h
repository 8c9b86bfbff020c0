/* A scan whose entries become those of a builder, which has its root alone. */
#pragma once

#include "pack/scan.h"
#include "pack/write/builder.h"

struct scan_into scan_into_builder(struct builder *builder);
