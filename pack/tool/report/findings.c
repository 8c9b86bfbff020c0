#include "pack/tool/report/findings.h"

#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/utf8.h"
#include <string.h>

/* Words of the page's script; those of check.h have the same meaning here. */
static const struct kind {
	const char *word;
	bool bad;
	enum anomaly anomaly; /* ANOMALY_NONE: copies */
	enum duplicate_reach reach;
	const char *one, *many, *means;
} kinds[] = {
	{"damaged", true, ANOMALY_DAMAGED, 0, "file is damaged in the pack",
	 "files are damaged in the pack",
	 "The bytes do not match their checksum. Only the images that this report reads were "
	 "compared: foldpack verify names all that is damaged."},
	{DAMAGE_UNREADABLE, true, ANOMALY_UNREADABLE, 0, "file cannot be read",
	 "files cannot be read",
	 "The storage of the pack gives an error, which says nothing about the bytes."},
	{"copies-in-splits", true, ANOMALY_NONE, DUPLICATE_SPLITS,
	 "image is in more than one split", "images are in more than one split",
	 "What a model was trained on is what it is tested on."},
	{"copies-in-classes", true, ANOMALY_NONE, DUPLICATE_CLASSES,
	 "image is in more than one class", "images are in more than one class",
	 "The same picture has contradicting labels."},
	{"empty-class", true, ANOMALY_EMPTY_CLASS, 0, "class has no image", "classes have no image",
	 "ImageFolder raises on a folder without one."},
	{"missing-class", true, ANOMALY_MISSING_LABEL, 0, "class is not in every split",
	 "classes are not in every split",
	 "ImageFolder numbers the classes of each split separately: one number then means "
	 "different classes in different splits."},
	{"empty", true, ANOMALY_EMPTY, 0, "image is empty", "images are empty",
	 "Named like images, without a byte: a loader that opens them raises."},
	{"not-an-image", true, ANOMALY_NOT_IMAGE, 0, "file is named like an image, but is none",
	 "files are named like images, but are none",
	 "Their first bytes are those of no known kind of image. ImageFolder goes by the name, and "
	 "PIL then raises."},
	{"no-size", true, ANOMALY_NO_SIZE, 0, "image has a broken header",
	 "images have broken headers",
	 "They begin like images, but do not say a size: cut off, or overwritten."},
	{"truncated", true, ANOMALY_TRUNCATED, 0, "image is truncated", "images are truncated",
	 "They end too early: PIL raises on them, or their lower rows are missing."},
	{"corrupt", true, ANOMALY_CORRUPT, 0, "image is corrupt", "images are corrupt",
	 "Their parts do not fit together, or decoders refuse them."},
	{"link-leaves", true, ANOMALY_LINK_LEAVES, 0, "link leads out of the dataset",
	 "links lead out of the dataset",
	 "A job reads whatever is there on its own machine, or nothing; foldpack create "
	 "--dereference packs the files instead."},
	{"link-dangles", true, ANOMALY_LINK_DANGLES, 0, "link leads to nothing",
	 "links lead to nothing", "A loader that opens them raises."},
	{"not-taken", false, ANOMALY_NOT_TAKEN, 0, "image is passed over by ImageFolder",
	 "images are passed over by ImageFolder",
	 "It goes by the suffix of the name, and takes none of these."},
	{"wrong-extension", false, ANOMALY_MISNAMED, 0,
	 "image is of another kind than its name says",
	 "images are of another kind than their names say",
	 "PIL and torchvision go by the content; some other decoders go by the name."},
	{"copies-in-class", false, ANOMALY_NONE, DUPLICATE_CLASS, "image is there more than once",
	 "images are there more than once",
	 "Copies within one class: they weigh more than others."},
	{"imbalance", false, ANOMALY_IMBALANCE, 0, "split has classes of very unequal sizes",
	 "splits have classes of very unequal sizes",
	 "The largest class has at least 10 times the files of the smallest."},
	{"tiny", false, ANOMALY_TINY, 0, "image is tiny", "images are tiny",
	 "They have less than 1/64 of the pixels of the median width and height."},
	{"huge", false, ANOMALY_HUGE, 0, "image is huge", "images are huge",
	 "They have more than 64 times the pixels of the median width and height: each one holds "
	 "up a worker."},
	{"wide", false, ANOMALY_WIDE, 0, "image is very wide", "images are very wide",
	 "More than four times as wide as high: a square crop shows little of them."},
	{"high", false, ANOMALY_HIGH, 0, "image is very high", "images are very high",
	 "More than four times as high as wide: a square crop shows little of them."},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool is_copies(const struct kind *kind)
{
	return kind->anomaly == ANOMALY_NONE;
}

static uint64_t count_of(const struct findings *findings, const struct kind *kind)
{
	return is_copies(kind) ? findings->duplicates->totals[kind->reach].groups
			       : findings->anomalies->lists[kind->anomaly].count;
}

static void add_title(const struct findings *findings, const struct kind *kind, struct buf *title)
{
	uint64_t count = count_of(findings, kind);

	buf_addf(title, "%s %s", count_format(count, (char[SIZE_TEXT]){0}),
		 count == 1 ? kind->one : kind->many);
}

static void add_meaning(const struct findings *findings, const struct kind *kind, struct buf *means)
{
	const struct duplicate_total *total = &findings->duplicates->totals[kind->reach];

	buf_adds(means, kind->means);
	if (!is_copies(kind))
		return;
	buf_addf(means, " %s of the same size and checksums",
		 count_noun(total->files, "file", (char[SIZE_TEXT]){0}));
	if (total->bytes)
		buf_addf(means, "; the copies take %s.",
			 size_format(total->bytes, (char[SIZE_TEXT]){0}));
	else
		buf_adds(means, ", stored once.");
}

/* --- JSON ------------------------------------------------------------------------------- */

static int add_kind(const struct findings *findings, const struct kind *kind, struct json *json)
{
	SCOPE(buf_release) struct buf title = BUF_INIT, means = BUF_INIT;
	int r;

	add_title(findings, kind, &title);
	add_meaning(findings, kind, &means);
	if (title.failed || means.failed)
		return -ENOMEM;
	json_object(json, NULL);
	json_string(json, "kind", kind->word);
	json_bool(json, "bad", kind->bad);
	json_string(json, "title", title.data);
	json_string(json, "means", means.data);
	json_u64(json, "count", count_of(findings, kind));
	json_array(json, "items");
	r = is_copies(kind) ? duplicates_items_json(findings->duplicates, kind->reach,
						    findings->dataset, findings->classes, json)
			    : anomalies_items_json(findings->anomalies, kind->anomaly,
						   findings->dataset, findings->classes, json);
	json_end(json);
	json_end(json);
	return r;
}

int findings_json(const struct findings *findings, struct json *json)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < KINDS; i++)
		if (count_of(findings, &kinds[i]))
			r = add_kind(findings, &kinds[i], json);
	return r;
}

/* --- HTML ------------------------------------------------------------------------------- */

void findings_add_name(struct buf *html, const char *name, size_t len)
{
	SCOPE(buf_release) struct buf shown = BUF_INIT;

	html->failed |= utf8_add_shown(&shown, name, len) < 0;
	for (size_t i = 0; i < shown.len; i++) {
		char c = shown.data[i];
		const char *escaped = c == '&'	 ? "&amp;"
				      : c == '<' ? "&lt;"
				      : c == '>' ? "&gt;"
				      : c == '"' ? "&quot;"
						 : NULL;

		if (escaped)
			buf_adds(html, escaped);
		else
			buf_add(html, &c, 1);
	}
}

static void add_path(const struct findings *findings, uint32_t entry, struct buf *html)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;

	html->failed |= dataset_path(findings->dataset, entry, &path) < 0;
	buf_adds(html, "<div>");
	if (path.len)
		findings_add_name(html, path.data, path.len);
	else
		buf_adds(html, "all classes");
	buf_adds(html, "</div>");
}

/* The group of copies that is the `number`th of this reach. */
static void add_copies(const struct findings *findings, enum duplicate_reach reach, uint64_t number,
		       struct buf *html)
{
	const struct duplicates *duplicates = findings->duplicates;
	const struct duplicate_group *group = duplicates->groups;

	while (group->reach != reach || number--)
		group++;
	for (uint32_t i = 0; i < min(group->count, DUPLICATES_NAMED); i++)
		add_path(findings, duplicates->files[group->first + i].entry, html);
}

static void add_items(const struct findings *findings, const struct kind *kind, struct buf *html)
{
	const struct anomaly_list *list = &findings->anomalies->lists[kind->anomaly];
	uint64_t count = count_of(findings, kind);

	buf_adds(html, "<ol class=\"paths\">");
	for (uint64_t i = 0; i < min(count, FINDINGS_SHOWN); i++) {
		buf_adds(html, "<li>");
		if (is_copies(kind))
			add_copies(findings, kind->reach, i, html);
		else
			add_path(findings, anomaly_entries(list)[i], html);
		buf_adds(html, "</li>");
	}
	buf_adds(html, "</ol>");
	if (count > FINDINGS_SHOWN)
		buf_addf(html, "<p>and %s more</p>",
			 count_format(count - FINDINGS_SHOWN, (char[SIZE_TEXT]){0}));
}

static void add_card(const struct findings *findings, const struct kind *kind, struct buf *html)
{
	buf_addf(html, "<article class=\"card%s\"><h3>", kind->bad ? " bad" : "");
	add_title(findings, kind, html);
	buf_addf(html, "<span>%s</span></h3><p>", kind->bad ? "problem" : "note");
	add_meaning(findings, kind, html);
	buf_adds(html, "</p>");
	add_items(findings, kind, html);
	buf_adds(html, "</article>\n");
}

void findings_html(const struct findings *findings, struct buf *html)
{
	bool found = false;

	buf_adds(html, "<h2>Worth a look</h2>\n<div class=\"cards\">\n");
	for (size_t i = 0; i < KINDS; i++) {
		if (count_of(findings, &kinds[i]) == 0)
			continue;
		found = true;
		add_card(findings, &kinds[i], html);
	}
	if (!found)
		buf_adds(html, "<p class=\"calm\">Nothing found.</p>\n");
	buf_adds(html, "</div>\n");
}
