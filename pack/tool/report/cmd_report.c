/* foldpack report: makes one page to look at a dataset: figures, what is worth a look, charts,
 * pictures.
 *
 * The page is page.html around one JSON object:
 *
 *	{"name", "version",
 *	 "info":     what foldpack info --json -v says, without the path,
 *	 "synsets":  {id: name} of classes that are called by ids of WordNet,
 *	 "images":   statistics_json(),
 *	 "findings": findings_json(),
 *	 "sheet":    contact_sheet_json()}
 *
 * and, for browsers that run no script, findings_html(). It needs no network, and is always the
 * same for the same pack. */
#include "base/io.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/cli/cmd.h"
#include "pack/tool/report/contact_sheet.h"
#include "pack/tool/report/findings.h"
#include "pack/tool/report/synsets.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The first bytes of every page. */
#define REPORT_BEGINS "<!DOCTYPE html>\n<!-- a report of foldpack -->\n"

#define SAMPLES	  6
#define PLAIN	  "{PLAIN}" /* where in page.html the findings belong, */
#define DATA	  "{DATA}"  /* and the JSON behind them */
#define CHECK_ALL (1 * GIB) /* of images take seconds to read, even from a hard disk */

/* page.html; a NUL is at report_page_end. */
__asm__(".pushsection .rodata\n"
	".global report_page, report_page_end\n"
	"report_page: .incbin \"pack/tool/report/page.html\"\n"
	"report_page_end: .byte 0\n"
	".popsection\n");
extern const char report_page[], report_page_end[];

struct settings {
	struct cmd_common common;
	const char *output;
	uint64_t samples;
};

static const struct opt options[] = {
	OPT_STRING('o', "output", "FILE", struct settings, output,
		   "where to write the page; - is standard output"),
	OPT_NUMBER(0, "samples", "N", struct settings, samples,
		   "pictures of each class (default: 6; 0: none)"),
	CMD_PROGRESS_OPTIONS(struct settings),
	CMD_PACK_OPTIONS(struct settings),
	OPT_END,
};

static const struct opt_command command = {
	.name = "foldpack report",
	.synopsis = "[options] PACK -o FILE",
	.summary =
		"Writes one HTML page about the dataset in PACK: what is in it, what is worth a\n"
		"look, charts, and pictures of each class.",
	.examples = "foldpack report train.lmdb -o report.html",
	.table = options,
	.elsewhere = CMD_ELSEWHERE,
};

/* --- the page --------------------------------------------------------------------------- */

/* What the page is made from. */
struct report {
	struct summary summary;
	struct anomalies anomalies;
	struct statistics *statistics;
	struct duplicates duplicates;
	uint8_t *copies; /* duplicates_mark() */
	struct contact_sheet sheet;
	struct contact_sheet_source source;
};

static void release_report(struct report *report)
{
	summary_release(&report->summary);
	anomalies_release(&report->anomalies);
	statistics_free(report->statistics);
	duplicates_release(&report->duplicates);
	free(report->copies);
	contact_sheet_release(&report->sheet);
}

static int picture_done(void *context, uint64_t bytes)
{
	progress_add(context, 1, bytes);
	return interrupt_pending() ? -EINTR : 0;
}

/* Without checksums, duplicates cannot be found. */
static int find_duplicates(struct dataset *dataset, struct report *report)
{
	const struct classes *classes = &report->summary.classes;
	int r;

	report->copies = calloc(dataset_entries(dataset) / 8 + (size_t)1, 1);
	if (!report->copies)
		return -ENOMEM;
	if (dataset_is_unchecked(dataset)) {
		log_notice("the format has no checksums: duplicates are not looked for");
		return 0;
	}
	r = duplicates_new(dataset, classes, report->statistics->entries,
			   report->statistics->image_count, &report->duplicates);
	return r < 0 ? r : duplicates_mark(&report->duplicates, classes, report->copies);
}

static int measure_dataset(struct dataset *dataset, uint32_t samples, struct progress *progress,
			   struct report *report)
{
	struct contact_sheet_source *source = &report->source;
	int r = summary_new(dataset, &report->summary);

	if (r == 0)
		r = anomalies_init(&report->anomalies, dataset_entries(dataset));
	if (r == 0)
		r = statistics_new(dataset, &report->summary, &report->anomalies,
				   &report->statistics);
	if (r == 0)
		r = find_duplicates(dataset, report);
	if (r < 0)
		return r;
	*source = (struct contact_sheet_source){.dataset = dataset,
						.summary = &report->summary,
						.statistics = report->statistics,
						.copies = report->copies,
						.check_all = CHECK_ALL,
						.done = picture_done,
						.context = progress};
	r = contact_sheet_new(source, samples, &report->sheet);
	if (r < 0)
		return r;
	progress->files_total = report->sheet.read_count;
	progress->bytes_total = report->sheet.read_bytes;
	r = contact_sheet_read(&report->sheet, source, &report->anomalies);
	return r < 0 ? r : statistics_measure(report->statistics, &report->anomalies);
}

static struct findings findings_of(struct dataset *dataset, const struct report *report)
{
	return (struct findings){&report->anomalies, &report->duplicates, dataset,
				 &report->summary.classes};
}

static void add_synsets(const struct classes *classes, struct json *json)
{
	json_object(json, "synsets");
	for (uint32_t i = 0; i < classes->label_count; i++) {
		const struct class_label *label = &classes->labels[i];
		size_t len;
		const char *name = synset_name(label->name, label->name_len, &len);
		char id[16];

		if (!name)
			continue;
		snprintf(id, sizeof(id), "%.*s", (int)label->name_len, label->name);
		json_bytes(json, id, name, len);
	}
	json_end(json);
}

static int add_data(struct dataset *dataset, const char *name, const struct report *report,
		    struct json *json)
{
	const struct findings findings = findings_of(dataset, report);
	int r;

	json_object(json, NULL);
	json_string(json, "name", name);
	json_string(json, "version", FOLDFS_VERSION);
	json_object(json, "info");
	summary_json(dataset_info(dataset), &report->summary, true, json);
	json_end(json);
	add_synsets(findings.classes, json);
	json_object(json, "images");
	statistics_json(report->statistics, json);
	json_end(json);
	json_array(json, "findings");
	r = findings_json(&findings, json);
	json_end(json);
	json_object(json, "sheet");
	if (r == 0)
		r = contact_sheet_json(&report->sheet, &report->source, json);
	json_end(json);
	json_end(json);
	return r < 0 ? r : buf_error(json->buf);
}

/* Only "<" could end a script element. JSON has it only in strings, where it may be escaped. */
static void add_html(struct buf *page, const struct buf *data)
{
	const char *at = data->data, *end = at + data->len;

	while (at < end) {
		const char *found = memchr(at, '<', (size_t)(end - at));

		buf_add(page, at, (size_t)((found ? found : end) - at));
		if (found)
			buf_adds(page, "\\u003c");
		at = found ? found + 1 : end;
	}
}

/* What a browser shows that runs no script: the name, what is in it, what is worth a look. */
static void add_plain(struct dataset *dataset, const char *name, const struct report *report,
		      struct buf *page)
{
	const struct findings findings = findings_of(dataset, report);
	const struct dataset_info *info = dataset_info(dataset);
	char files[SIZE_TEXT], bytes[SIZE_TEXT], images[SIZE_TEXT];

	buf_adds(page, "<h1>");
	findings_add_name(page, name, strlen(name));
	buf_addf(page, "</h1>\n<p>%s, %s; %s in %u classes</p>\n",
		 count_noun(info->super->files + info->super->hardlinks, "file", files),
		 size_format(info->super->bytes, bytes),
		 count_noun(report->statistics->image_count, "image", images),
		 findings.classes->label_count);
	findings_html(&findings, page);
}

/* Adds page.html up to `mark`, from *at, which then is behind that; NULL: its rest. */
static void add_page(struct buf *page, const char **at, const char *mark)
{
	const char *end = mark ? strstr(*at, mark) : report_page_end;

	buf_add(page, *at, (size_t)(end - *at));
	*at = end + (mark ? strlen(mark) : 0);
}

/* --- the file --------------------------------------------------------------------------- */

/* Only an earlier report or an empty file may be replaced. */
static int check_output(const char *path, struct err *err)
{
	char begins[sizeof(REPORT_BEGINS)] = "";
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s", strerror(errno));
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST,
			       "not a regular file; '-o -' writes to standard output");
	n = io_pread(fd, begins, sizeof(begins) - 1, 0);
	if (n < 0)
		return (int)n;
	if (n > 0 && strcmp(begins, REPORT_BEGINS) != 0)
		return err_set(
			err, -EEXIST,
			"exists, and is not a report of foldpack; choose another name, or remove "
			"it");
	return 0;
}

/* Readers of the file see the old page or the new one, never a part. */
static int write_file(const char *path, const struct buf *page)
{
	SCOPE_CLOSE int fd = io_put(path, 0666, &(struct iovec){page->data, page->len}, 1);

	return fd < 0 ? fd : 0;
}

static int write_output(const char *path, const struct buf *page)
{
	int r;

	if (strcmp(path, "-") == 0) {
		fwrite(page->data, 1, page->len, stdout);
		return 0; /* exit_finish() reports errors */
	}
	r = write_file(path, page);
	if (r < 0)
		log_error("%s: %s", path, strerror(-r));
	return r;
}

/* --- the command ------------------------------------------------------------------------ */

static const char *shown_name(const char *pack)
{
	const char *slash = strrchr(pack, '/');

	return slash && slash[1] ? slash + 1 : pack;
}

static int make_page(struct dataset *dataset, const char *pack, uint64_t samples,
		     struct progress *progress, struct buf *page, int *ret_unread)
{
	SCOPE(release_report) struct report report = {0};
	SCOPE(buf_release) struct buf data = BUF_INIT;
	struct json json = json_begin(&data);
	const char *at = report_page;
	int r = measure_dataset(dataset, samples > UINT32_MAX ? UINT32_MAX : (uint32_t)samples,
				progress, &report);

	if (r == 0)
		r = add_data(dataset, shown_name(pack), &report, &json);
	if (r < 0)
		return r;
	add_page(page, &at, PLAIN);
	add_plain(dataset, shown_name(pack), &report, page);
	add_page(page, &at, DATA);
	add_html(page, &data);
	add_page(page, &at, NULL);
	r = buf_error(page);
	if (r == 0 && report.anomalies.lists[ANOMALY_DAMAGED].count)
		*ret_unread = -EBADMSG;
	else if (r == 0 && report.anomalies.lists[ANOMALY_UNREADABLE].count)
		*ret_unread = -EIO;
	return r;
}

static int write_report(struct dataset *dataset, const char *pack, const struct settings *settings,
			int *ret_unread)
{
	SCOPE(buf_release) struct buf page = BUF_INIT;
	struct progress progress;
	int r;

	progress_begin(&progress, "reading", cmd_progress(&settings->common));
	r = make_page(dataset, pack, settings->samples, &progress, &page, ret_unread);
	progress_end(&progress);
	if (r < 0 && r != -EINTR)
		log_error("%s: %s", pack, err_text(NULL, r));
	return r < 0 ? r : write_output(settings->output, &page);
}

static int report_to_output(struct dataset *dataset, const char *pack,
			    const struct settings *settings)
{
	int unread = 0; /* why some bytes could not be read */
	struct err err = {0};
	int r = strcmp(settings->output, "-") ? check_output(settings->output, &err) : 0;

	if (r < 0)
		return log_fail(EXIT_FAILED, "%s: %s", settings->output, err_text(&err, r));
	r = write_report(dataset, pack, settings, &unread);
	if (r == -EINTR) {
		log_error("%s: interrupted; nothing was written", settings->output);
		return interrupt_die();
	}
	if (r == 0 && unread == -EIO)
		return log_fail(
			EXIT_FAILED,
			"%s: some images cannot be read; the report was written and names them; "
			"check the storage",
			pack);
	if (r == 0 && unread)
		return log_fail(
			EXIT_DAMAGED,
			"%s: damaged; the report was written and names what it found, 'foldpack "
			"verify' names all",
			pack);
	return (int)exit_status_of(r);
}

/* One word too many is the page's place, where '-o' is not there. */
static int refuse_words(const struct settings *settings, const char *word)
{
	struct err err = {0};

	if (!word)
		return cmd_usage_error(&command, "where to? '-o FILE' is missing");
	err_set(&err, 0,
		settings->output ? "unexpected argument '%s'"
				 : "unexpected argument '%s'; the page's place is '-o FILE'",
		word);
	return cmd_usage_error(&command, err.text);
}

int cmd_report(int argc, char **argv)
{
	SCOPE(cmd_close) struct dataset *dataset = NULL;
	struct settings settings = {.samples = SAMPLES};
	const struct cmd_line line = CMD_LINE(&command, &settings, 1, 2);
	char **args;
	int r = cmd_parse(&line, argc, argv, &args);

	if (r != CMD_RUN)
		return r;
	if (!settings.output || args[1])
		return refuse_words(&settings, args[1]);
	r = strcmp(settings.output, "-") ? cmd_check_local(settings.output) : EXIT_DONE;
	if (r == EXIT_DONE)
		r = cmd_open(args[0], &settings.common, &dataset);
	if (r == EXIT_DONE)
		r = cmd_load(args[0], dataset, DATASET_IMAGES | DATASET_CHECKSUMS);
	if (r != EXIT_DONE)
		return r;
	interrupt_catch();
	return exit_finish(report_to_output(dataset, args[0], &settings));
}
