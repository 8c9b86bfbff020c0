/* How much a server may say. What is more is an error that names the bound, before it takes memory:
 * the same table is in foldfs-remote(7). Bytes, where nothing else is said. */
#pragma once

#include "base/name.h"
#include "base/size.h"

#define BOUND_HEADERS	   (64 * KIB)
#define BOUND_ANSWER	   (64 * KIB) /* of a service that gives credentials */
#define BOUND_REFUSAL	   (4 * KIB)  /* of an answer that is no success: the rest is not read */
#define BOUND_REDIRECTS	   5	      /* of a request */
#define BOUND_REFUSALS	   3	     /* of a request, each followed by other credentials, or URLs */
#define BOUND_PAGE	   (4 * MIB) /* of a listing */
#define BOUND_PAGES	   1000
#define BOUND_NEXT	   (4 * KIB)  /* what names the next page */
#define BOUND_NAME	   (4 * KIB)  /* of a file that is listed */
#define BOUND_NAMES	   NAMES_MOST /* files that match */
#define BOUND_OBJECTS	   20000000   /* below a prefix, */
#define BOUND_OBJECT_PAGES 1000000    /* and pages of their listing */
