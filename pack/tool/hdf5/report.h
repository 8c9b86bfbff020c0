/* What foldpack-hdf5 tells foldpack, which starts it as
 *
 *	foldpack-hdf5 TAR REPORTS FILE [CLASSES]
 *
 * TAR and REPORTS are descriptors of pipes. The images of FILE go into TAR as a tar. A report goes
 * into REPORTS once the file is open, and another one at the end. */
#ifndef PACK_TOOL_HDF5_REPORT_H
#define PACK_TOOL_HDF5_REPORT_H

#include "base/err.h"

#define HDF5_PROGRAM "foldpack-hdf5"

struct hdf5_report {
	int error; /* 0 or -errno, and its sentence */
	struct err err;
};

#endif
