/* What the parts of a report share. Internal to report*.c. */
#ifndef PACK_TOOL_REPORT_REPORT_INTERNAL_H
#define PACK_TOOL_REPORT_REPORT_INTERNAL_H

#include "pack/tool/report/html.h"
#include "pack/tool/report/sheet.h"
#include "pack/tool/report/survey.h"

struct report {
	struct dataset *dataset;
	const struct survey *survey;
	struct sheet *sheet; /* written */
	struct html *html;
	uint32_t *ranked; /* labels, those with the most files first */
};

/* The style sheet of the page. */
extern const char report_style[];

/* The sections of the page, one after the other. */
void report_figures(struct report *report, const char *name);
int report_findings(struct report *report); /* 0 or -ENOMEM */
void report_charts(struct report *report);
void report_classes(struct report *report);

/* "train/cat", of a class. */
void report_class_name(struct report *report, uint32_t class);

#endif
