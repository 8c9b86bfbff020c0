/* Embeds page.html: the page of a report without its data, for report.c. */
__asm__(".pushsection .rodata\n"
	".global report_page, report_page_end\n"
	"report_page: .incbin \"pack/tool/report/page.html\"\n"
	"report_page_end: .byte 0\n"
	".popsection\n");
