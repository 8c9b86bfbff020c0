#include "fs/stat/screen.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS
#include <curses.h>
#include <term.h>
#undef columns /* term.h has macros for what a terminal can do */

struct screen {
	SCREEN *curses;
	attr_t attributes[PAGE_STYLES];
	short colors[PAGE_STYLES]; /* 0: that of the terminal */
};

/* On one without colors, or with NO_COLOR set, words say what colors do. */
static void choose_styles(struct screen *screen)
{
	static const short colors[PAGE_STYLES] = {
		[PAGE_GOOD] = COLOR_GREEN, [PAGE_WARN] = COLOR_YELLOW, [PAGE_BAD] = COLOR_RED};
	const char *none = getenv("NO_COLOR");

	screen->attributes[PAGE_TITLE] = A_BOLD;
	screen->attributes[PAGE_WARN] = A_BOLD;
	screen->attributes[PAGE_BAD] = A_BOLD | A_REVERSE;
	if (!has_colors() || (none && *none) || start_color() == ERR || use_default_colors() == ERR)
		return;
	for (int i = 0; i < PAGE_STYLES; i++) {
		if (colors[i] && init_pair((short)i, colors[i], -1) != ERR)
			screen->colors[i] = (short)i;
	}
	screen->attributes[PAGE_WARN] = A_NORMAL;
}

struct screen *screen_new(struct err *err)
{
	struct screen *screen = calloc(1, sizeof(*screen));
	const char *term = getenv("TERM"), *place = NULL;
	int known;

	if (!screen) {
		err_set(err, -ENOMEM, "no memory");
		return NULL;
	}
	set_escdelay(25);
	/* Whether the terminal is known, and characters can be put anywhere: to be asked before
	 * newterm(), which leaks memory where it fails. */
	if (setupterm(NULL, STDOUT_FILENO, &known) != ERR) {
		place = tigetstr("cup");
		if (del_curterm(cur_term) == ERR || place == (const char *)-1)
			place = NULL;
	}
	screen->curses = place ? newterm(NULL, stdout, stdin) : NULL;
	if (!screen->curses) {
		screen_free(screen);
		err_set(err, -ENOTTY,
			"the terminal (TERM=%s) is unknown, or cannot show pages: use another "
			"TERM, or an INTERVAL instead of '-w', which prints lines",
			term ? term : "");
		return NULL;
	}
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	choose_styles(screen);
	return screen;
}

void screen_free(struct screen *screen)
{
	if (!screen)
		return;
	if (screen->curses) {
		endwin();
		delscreen(screen->curses);
	}
	free(screen);
}

void screen_size(struct screen *screen, int *ret_rows, int *ret_columns)
{
	struct winsize size;

	(void)screen;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col &&
	    is_term_resized(size.ws_row, size.ws_col))
		resizeterm(size.ws_row, size.ws_col);
	*ret_rows = LINES;
	*ret_columns = COLS;
}

void screen_show(struct screen *screen, const struct page *page)
{
	erase();
	for (int row = 0; row < page->rows; row++) {
		const struct page_cell *cells = page->cells + row * page->columns;

		for (int column = 0; column < page->columns; column++) {
			wchar_t text[2] = {cells[column].character, 0};
			enum page_style style = cells[column].style;
			cchar_t cell;

			if (!text[0])
				continue;
			setcchar(&cell, text, screen->attributes[style], screen->colors[style],
				 NULL);
			mvadd_wch(row, column, &cell);
		}
	}
	refresh();
}

void screen_redraw(struct screen *screen)
{
	(void)screen;
	clearok(stdscr, TRUE);
}

int screen_key(struct screen *screen)
{
	int key = getch();

	(void)screen;
	switch (key) {
	case ERR:
		return 0;
	case '\t':
	case KEY_RIGHT:
	case KEY_DOWN:
		return 'n';
	case KEY_BTAB:
	case KEY_LEFT:
	case KEY_UP:
		return 'N';
	default:
		return key;
	}
}

void screen_suspend(struct screen *screen)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, before;
	sigset_t stop, blocked;

	endwin();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &standard, &before);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &blocked); /* here it stops */
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	sigaction(SIGTSTP, &before, NULL);
	screen_redraw(screen);
}
