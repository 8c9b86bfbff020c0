/* The page of a report without its data: HTML with its style and its script, which draw what the
 * JSON in the element "data" says. */
#ifndef PACK_TOOL_REPORT_PAGE_H
#define PACK_TOOL_REPORT_PAGE_H

/* The first bytes of every page. */
#define REPORT_BEGINS "<!DOCTYPE html>\n<!-- a report of foldpack -->\n"
/* Where the data belongs; once in the page. */
#define REPORT_DATA "{DATA}"

extern const char report_page[]; /* up to a NUL at report_page_end */
extern const char report_page_end[];

#endif
