/* The terminal, taken for pages: all of foldstat that knows curses.
 *
 * The caller blocks the signals that curses would catch, SIGINT, SIGTERM, SIGTSTP and SIGWINCH, and
 * calls screen_free() on every way out. One screen at a time. */
#pragma once

#include "base/err.h"
#include "fs/stat/page.h"

struct screen;

/* Takes the terminal that is standard input and output. Returns NULL with a sentence if it is of a
 * kind that cannot show pages. */
struct screen *screen_new(struct err *err);

/* Gives the terminal back as it was. */
void screen_free(struct screen *screen);

/* How large it is now. */
void screen_size(struct screen *screen, int *ret_rows, int *ret_columns);

void screen_show(struct screen *screen, const struct page *page);

/* The next show draws all of it, whatever else was written there. */
void screen_redraw(struct screen *screen);

/* A key that was pressed, 0 if none was. Arrows and Tab are 'n' and 'N', for next and back. */
int screen_key(struct screen *screen);

/* Gives the terminal back, stops the process as SIGTSTP does, and takes it again. */
void screen_suspend(struct screen *screen);
