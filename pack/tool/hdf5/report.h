/* What foldpack-hdf5 tells foldpack, which starts it as
 *
 *	foldpack-hdf5 TAR REPORTS FILE
 *
 * TAR and REPORTS are descriptors of pipes. The images of FILE go into TAR as a tar; in the path of
 * one with a label, a name of HDF5_LABEL and the number stands for the class. A report goes
 * into REPORTS once the file is open, and another one at the end. */
#ifndef PACK_TOOL_HDF5_REPORT_H
#define PACK_TOOL_HDF5_REPORT_H

#include "base/err.h"

#define HDF5_PROGRAM "foldpack-hdf5"
#define HDF5_LABEL   '\x1f'

struct hdf5_report {
	int error; /* 0 or -errno, and its sentence */
	struct err err;
};

#endif
