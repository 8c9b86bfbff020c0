/* The page of a report, page.html, as it stands in the source. The Makefile knows that this file
 * depends on it. */
#include "pack/tool/report/page.h"

__asm__(".pushsection .rodata\n"
	".global report_page, report_page_end\n"
	"report_page: .incbin \"pack/tool/report/page.html\"\n"
	"report_page_end: .byte 0\n"
	".popsection\n");
