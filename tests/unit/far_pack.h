/* A pack on a server, for tests of what reads ahead. */
#pragma once

#include "base/reader_file.h"
#include "pack/dataset_open.h"
#include "pack_fixture.h"
#include "tests/unit/far.h"
#include "tests/unit/patience.h"

/* The pack that the fixture has stored, seen through a far reader, which the dataset owns. */
static inline struct far *far_open(struct fixture *f)
{
	struct reader *near;
	struct far *far;

	finish(f);
	assert_done(reader_file_open(f->path, &near));
	far = far_new(near);
	far->owns = far->fails = true;
	far->settle = far_settle;
	assert_done(dataset_try_reader(&far->reader, &f->dataset, &f->err));
	assert_done(dataset_load(f->dataset, DATASET_CHECKSUMS, &f->err));
	far->reads = 0;
	return far;
}
