#include "pack/foreign/settings.h"

const char *const foreign_layout_names[] = {"auto", "tree", "classes", NULL};
const char *const foreign_folders_names[] = {"auto", "names", "numbers", NULL};
