/* What is worth a look, the worst first. */
#include "base/scope.h"
#include "pack/tool/report/report_internal.h"

#define GROUP_NAMED 6  /* of the copies of an image, so many are named */
#define UNEVEN	    10 /* times the smallest class: an imbalance to be told */

struct findings {
	struct report *report;
	struct html *html;
	struct buf path;
	int error; /* of finding a path */
	unsigned count;
};

static void release(struct findings *findings)
{
	buf_release(&findings->path);
}

/* --- one finding ------------------------------------------------------------------------ */

enum weight { BAD, NOTE };

static void begin(struct findings *findings, enum weight weight)
{
	if (findings->count++ == 0)
		html_put(findings->html, "<ul class=\"findings\">\n");
	html_putf(findings->html, "<li class=\"found %s\"><h3>", weight == BAD ? "bad" : "note");
}

/* Behind the headline: what it means. */
static void explain(struct findings *findings, const char *about)
{
	html_put(findings->html, "</h3><p>");
	html_string(findings->html, about);
}

static void end(struct findings *findings)
{
	html_put(findings->html, "</li>\n");
}

static void begin_names(struct findings *findings, uint64_t count)
{
	html_putf(findings->html, "</p><details%s><summary>which</summary><ul class=\"names\">\n",
		  count <= 3 ? " open=\"open\"" : "");
}

static void end_names(struct findings *findings, uint64_t count, uint64_t named)
{
	html_put(findings->html, "</ul>");
	if (count > named) {
		html_put(findings->html, "<p>and ");
		html_count(findings->html, count - named);
		html_put(findings->html, " more</p>");
	}
	html_put(findings->html, "</details>");
}

static void put_path(struct findings *findings, uint32_t entry)
{
	int r;

	findings->path.len = 0;
	r = dataset_path(findings->report->dataset, entry, &findings->path);
	if (r < 0) {
		findings->error = r;
		return;
	}
	html_put(findings->html, "<bdi>");
	html_text(findings->html, findings->path.data, findings->path.len);
	html_put(findings->html, "</bdi>");
}

static uint64_t named_of(const struct survey_list *list)
{
	return list->count < SURVEY_NAMED ? list->count : SURVEY_NAMED;
}

static void put_entries(struct findings *findings, const struct survey_list *list)
{
	begin_names(findings, list->count);
	for (uint64_t i = 0; i < named_of(list); i++) {
		html_put(findings->html, "<li>");
		put_path(findings, list->first[i]);
		html_put(findings->html, "</li>\n");
	}
	end_names(findings, list->count, named_of(list));
}

/* --- files ------------------------------------------------------------------------------ */

struct wording {
	enum weight weight;
	const char *one, *many; /* behind the number */
	const char *about;
};

static void find_files(struct findings *findings, const struct wording *wording,
		       const struct survey_list *list)
{
	if (list->count == 0)
		return;
	begin(findings, wording->weight);
	html_count(findings->html, list->count);
	html_putf(findings->html, " %s", list->count == 1 ? wording->one : wording->many);
	explain(findings, wording->about);
	put_entries(findings, list);
	end(findings);
}

static void find_damage(struct findings *findings)
{
	static const struct wording lost = {
		BAD, "file is damaged in the pack", "files are damaged in the pack",
		"The record cannot be read, or does not fit its checksum. Only the pictures of "
		"this "
		"page were read: foldpack verify names all that is damaged."};
	static const struct wording broken = {BAD, "image is broken", "images are broken",
					      "Found among the pictures of the contact sheet, "
					      "whose headers were checked and which "
					      "were decoded; the others were not."};

	find_files(findings, &lost, &findings->report->survey->unreadable);
	find_files(findings, &lost, &findings->report->sheet->unreadable);
	find_files(findings, &broken, &findings->report->sheet->broken);
}

static void find_suspects(struct findings *findings)
{
	static const struct wording wordings[SUSPECT_KINDS] = {
		[SUSPECT_EMPTY] = {BAD, "image is empty", "images are empty",
				   "Named like images, without a byte: a loader that opens them "
				   "raises."},
		[SUSPECT_NO_IMAGE] = {BAD, "file is named like an image, and is none",
				      "files are named like images, and are none",
				      "Their first bytes are those of no image that is known here. "
				      "ImageFolder goes by the name, and PIL then raises."},
		[SUSPECT_NO_HEADER] = {BAD, "image has a broken header",
				       "images have broken headers",
				       "They begin like images, but do not say a size: cut off, or "
				       "overwritten."},
		[SUSPECT_PASSED] = {NOTE, "image is passed over by ImageFolder",
				    "images are passed over by ImageFolder",
				    "It goes by the suffix of the name, and these have none that "
				    "it takes."},
		[SUSPECT_MISNAMED] = {NOTE, "image is of another kind than its name says",
				      "images are of another kind than their names say",
				      "PIL and torchvision go by the content; some other decoders "
				      "go by the name."},
	};

	for (unsigned i = 0; i < SUSPECT_KINDS; i++)
		find_files(findings, &wordings[i], &findings->report->survey->suspects[i]);
}

static void find_extremes(struct findings *findings)
{
	static const struct wording tiny = {
		NOTE, "image is tiny", "images are tiny",
		"They have less than 1/64 of the pixels of the median width and height."};
	static const struct wording huge = {
		NOTE, "image is huge", "images are huge",
		"They have more than 64 times the pixels of the median width and height: each one "
		"holds up a worker."};
	static const struct wording wide = {NOTE, "image is very wide", "images are very wide",
					    "More than four times as wide as high: a square crop "
					    "shows little of them."};
	static const struct wording narrow = {NOTE, "image is very high", "images are very high",
					      "More than four times as high as wide: a square crop "
					      "shows little of them."};
	const struct survey_sides *sides = &findings->report->survey->sides;

	find_files(findings, &tiny, &sides->tiny);
	find_files(findings, &huge, &sides->huge);
	find_files(findings, &wide, &sides->wide);
	find_files(findings, &narrow, &sides->narrow);
}

/* --- copies ----------------------------------------------------------------------------- */

static void put_group(struct findings *findings, const struct duplicate_group *group)
{
	const uint32_t *entries = findings->report->survey->duplicates.entries + group->first;

	html_put(findings->html, "<li>");
	for (uint32_t i = 0; i < group->count && i < GROUP_NAMED; i++) {
		html_put(findings->html, i ? "<br/>" : "");
		put_path(findings, entries[i]);
	}
	if (group->count > GROUP_NAMED) {
		html_put(findings->html, "<br/>and ");
		html_count(findings->html, group->count - GROUP_NAMED);
		html_put(findings->html, " more");
	}
	html_put(findings->html, "</li>\n");
}

static void put_groups(struct findings *findings, enum duplicate_reach reach)
{
	const struct duplicates *duplicates = &findings->report->survey->duplicates;
	uint64_t count = duplicates->sums[reach].groups, named = 0;

	begin_names(findings, count);
	for (uint64_t i = 0; i < duplicates->group_count && named < SURVEY_NAMED; i++) {
		if (duplicates->groups[i].reach != reach)
			continue;
		put_group(findings, &duplicates->groups[i]);
		named++;
	}
	end_names(findings, count, named);
}

static void find_copies(struct findings *findings, enum duplicate_reach reach)
{
	static const struct wording wordings[DUPLICATE_REACHES] = {
		[DUPLICATE_SPLITS] = {BAD, "image is in more than one split",
				      "images are in more than one split",
				      "What a model was trained on is what it is tested on."},
		[DUPLICATE_CLASSES] = {BAD, "image is in more than one class",
				       "images are in more than one class",
				       "The same picture under contradicting labels."},
		[DUPLICATE_CLASS] = {NOTE, "image is there more than once",
				     "images are there more than once",
				     "Copies within one class: they weigh more than others."},
	};
	const struct duplicate_sum *sum = &findings->report->survey->duplicates.sums[reach];
	const struct wording *wording = &wordings[reach];

	if (sum->groups == 0)
		return;
	begin(findings, wording->weight);
	html_count(findings->html, sum->groups);
	html_putf(findings->html, " %s", sum->groups == 1 ? wording->one : wording->many);
	explain(findings, wording->about);
	html_put(findings->html, " ");
	html_number_of(findings->html, sum->files, "file");
	html_put(findings->html, " of the same size and checksums; the copies take ");
	html_size(findings->html, sum->bytes);
	html_put(findings->html, ".");
	put_groups(findings, reach);
	end(findings);
}

/* --- classes ---------------------------------------------------------------------------- */

static void find_empty_classes(struct findings *findings)
{
	const struct survey_list *list = &findings->report->survey->empty_classes;

	if (list->count == 0)
		return;
	begin(findings, BAD);
	html_count(findings->html, list->count);
	html_put(findings->html,
		 list->count == 1 ? " class has no image" : " classes have no image");
	explain(findings, "ImageFolder raises on a folder without one.");
	begin_names(findings, list->count);
	for (uint64_t i = 0; i < named_of(list); i++) {
		html_put(findings->html, "<li>");
		report_class_name(findings->report, list->first[i]);
		html_put(findings->html, "</li>\n");
	}
	end_names(findings, list->count, named_of(list));
	end(findings);
}

/* A label, and the splits that it is in. */
static void put_label(struct findings *findings, const struct class_label *label)
{
	const struct classes *classes = &findings->report->survey->summary.classes;

	html_put(findings->html, "<li><bdi>");
	html_text(findings->html, label->name, label->name_len);
	html_put(findings->html, "</bdi>, only in ");
	for (uint32_t i = 0; i < label->count && i < GROUP_NAMED; i++) {
		uint32_t class = classes->by_label[label->first + i];
		const struct class_split *split = &classes->splits[classes->list[class].split];

		html_put(findings->html, i ? ", <bdi>" : "<bdi>");
		html_text(findings->html, split->name, split->name_len);
		html_put(findings->html, "</bdi>");
	}
	html_put(findings->html, label->count > GROUP_NAMED ? ", ...</li>\n" : "</li>\n");
}

static void find_missing_labels(struct findings *findings)
{
	const struct survey_list *list = &findings->report->survey->missing_labels;
	const struct classes *classes = &findings->report->survey->summary.classes;

	if (list->count == 0)
		return;
	begin(findings, BAD);
	html_count(findings->html, list->count);
	html_put(findings->html, list->count == 1 ? " class is not in every split"
						  : " classes are not in every split");
	explain(findings,
		"ImageFolder numbers the classes of each split by themselves: one number "
		"then means different classes in different splits.");
	begin_names(findings, list->count);
	for (uint64_t i = 0; i < named_of(list); i++)
		put_label(findings, &classes->labels[list->first[i]]);
	end_names(findings, list->count, named_of(list));
	end(findings);
}

static void find_imbalance(struct findings *findings, uint32_t split)
{
	const struct summary *summary = &findings->report->survey->summary;
	const struct class_sizes *sizes = &summary->class_sizes[split];
	const struct class_split *here = &summary->classes.splits[split];

	if (sizes->imbalance < UNEVEN)
		return;
	begin(findings, NOTE);
	html_put(findings->html, "the largest class");
	if (summary->classes.split) {
		html_put(findings->html, " of <bdi>");
		html_text(findings->html, here->name, here->name_len);
		html_put(findings->html, "</bdi>");
	}
	html_putf(findings->html, " has %.3g times the files of the smallest", sizes->imbalance);
	explain(findings, "");
	html_put(findings->html, "From ");
	html_count(findings->html, sizes->least);
	html_put(findings->html, " to ");
	html_number_of(findings->html, sizes->most, "file");
	html_put(findings->html, " a class, the median has ");
	html_count(findings->html, sizes->median);
	html_put(findings->html, ".</p>");
	end(findings);
}

/* --- all of them ------------------------------------------------------------------------ */

int report_findings(struct report *report)
{
	SCOPE(release) struct findings findings = {.report = report, .html = report->html};

	html_put(report->html, "<section><h2>Worth a look</h2>\n");
	find_damage(&findings);
	find_copies(&findings, DUPLICATE_SPLITS);
	find_copies(&findings, DUPLICATE_CLASSES);
	find_empty_classes(&findings);
	find_missing_labels(&findings);
	find_suspects(&findings);
	find_copies(&findings, DUPLICATE_CLASS);
	for (uint32_t i = 0; i < report->survey->summary.classes.split_count; i++)
		find_imbalance(&findings, i);
	find_extremes(&findings);
	html_put(report->html, findings.count ? "</ul>"
					      : "<p class=\"calm\">Nothing: no copies, no "
						"broken headers, no empty classes.</p>");
	html_put(report->html, "</section>\n");
	return findings.error;
}
