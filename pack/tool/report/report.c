#include "pack/tool/report/report.h"

#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/report/contact_sheet.h"
#include "pack/tool/report/duplicates.h"
#include <string.h>

#define DATA	  "{DATA}"  /* where the JSON belongs in page.html */
#define CHECK_ALL (1 * GIB) /* of images are read in seconds, even from a hard disk */

/* page.html; a NUL is at report_page_end. */
__asm__(".pushsection .rodata\n"
	".global report_page, report_page_end\n"
	"report_page: .incbin \"pack/tool/report/page.html\"\n"
	"report_page_end: .byte 0\n"
	".popsection\n");
extern const char report_page[], report_page_end[];

/* What the page is made from. */
struct report {
	struct summary summary;
	struct anomalies anomalies;
	struct statistics *statistics;
	struct duplicates duplicates;
	struct contact_sheet sheet;
	struct contact_sheet_source source;
};

static void release_report(struct report *report)
{
	summary_release(&report->summary);
	anomalies_release(&report->anomalies);
	statistics_free(report->statistics);
	duplicates_release(&report->duplicates);
	contact_sheet_release(&report->sheet);
}

static int measure(const struct report_params *params, struct report *report)
{
	struct dataset *dataset = params->dataset;
	struct contact_sheet_source *source = &report->source;
	int r = summary_new(dataset, &report->summary);

	if (r == 0)
		r = anomalies_init(&report->anomalies, dataset_entries(dataset));
	if (r == 0)
		r = statistics_new(dataset, &report->summary, &report->anomalies,
				   &report->statistics);
	if (r == 0)
		r = duplicates_new(dataset, &report->summary.classes, report->statistics->entries,
				   report->statistics->image_count, &report->duplicates);
	if (r < 0)
		return r;
	*source = (struct contact_sheet_source){.dataset = dataset,
						.summary = &report->summary,
						.statistics = report->statistics,
						.check_all = CHECK_ALL,
						.done = params->done,
						.context = params->context};
	r = contact_sheet_new(source, params->samples, &report->sheet);
	if (r < 0)
		return r;
	params->total(params->context, report->sheet.read_count, report->sheet.read_bytes);
	return contact_sheet_read(&report->sheet, source, &report->anomalies);
}

static int add_data(const struct report_params *params, const struct report *report,
		    struct json *json)
{
	const struct classes *classes = &report->summary.classes;
	int r;

	json_object(json, NULL);
	json_string(json, "name", params->name);
	json_string(json, "version", FOLDFS_VERSION);
	json_object(json, "info");
	summary_json(dataset_info(params->dataset), &report->summary, true, json);
	json_end(json);
	json_object(json, "images");
	statistics_json(report->statistics, json);
	json_end(json);
	json_array(json, "findings");
	r = anomalies_json(&report->anomalies, params->dataset, classes, json);
	if (r == 0)
		r = duplicates_json(&report->duplicates, params->dataset, classes, json);
	json_end(json);
	json_object(json, "sheet");
	if (r == 0)
		r = contact_sheet_json(&report->sheet, &report->source, json);
	json_end(json);
	json_end(json);
	return r < 0 ? r : json_finish(json);
}

/* Inside of a script element only "<" could end it. In JSON it stands in strings alone, where it
 * may be written as an escape. */
static int add_escaped(struct buf *page, const struct buf *data)
{
	const char *at = data->data, *end = at + data->len;
	int r = 0;

	while (r == 0 && at < end) {
		const char *found = memchr(at, '<', (size_t)(end - at));

		r = buf_add(page, at, (size_t)((found ? found : end) - at));
		if (r == 0 && found)
			r = buf_adds(page, "\\u003c");
		at = found ? found + 1 : end;
	}
	return r;
}

int report_write(const struct report_params *params, struct buf *page, uint64_t *ret_damaged)
{
	SCOPE(release_report) struct report report = {0};
	SCOPE(buf_release) struct buf data = BUF_INIT;
	struct json json = json_begin(&data);
	const char *place = strstr(report_page, DATA);
	const char *rest = place + strlen(DATA);
	int r = measure(params, &report);

	if (r == 0)
		r = add_data(params, &report, &json);
	if (r == 0)
		r = buf_add(page, report_page, (size_t)(place - report_page));
	if (r == 0)
		r = add_escaped(page, &data);
	if (r == 0)
		r = buf_add(page, rest, (size_t)(report_page_end - rest));
	if (r == 0)
		*ret_damaged = report.anomalies.lists[ANOMALY_DAMAGED].count;
	return r;
}
