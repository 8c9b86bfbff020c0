"""What measurements of a folder mean: pure, no clock and no I/O. doc/doctor.md has the arithmetic.

`measured` is what _measure.measure() returns and `foldfs-doctor --json` shows:

    files, folders, listed_s, complete   of the listing
    bytes                                of a file, on average
    processors, memory                   that this process may use
    rates       {"read"|"decode"|"both"|"resized": {workers: [images/s of each round]}}
    open_share  {workers: [part of the reading that is opening]}
    open_us     [the first time, again], medians
    warm        part of the bytes that was in memory in spite of all, None: nobody knows
    resize      [pixels, how many times fewer bytes]
    others      part of the processors' time that other programs had meanwhile
    bad         part of the images that could not be read or decoded
"""

from __future__ import annotations

from statistics import median

FEWEST = 2000  # files: fewer are read in less time than workers take to start
CLEAR = 1.1
SMALLER = 1.1  # times fewer bytes: less is not worth a word
BUSY = 0.1  # of the processors
SOME = 0.02  # of the bytes in memory: a run that is not cold


class Ratio:
    """a / b, from the lowest to the highest that rounds of both allow."""

    def __init__(self, a, b=(1,)):
        self.low, self.high = min(a) / max(b), max(a) / min(b)

    def __str__(self):
        return between(self.low, self.high, "{:.2f}" if self.high < 10 else "{:.0f}")

    def at_least(self, least):
        self.low, self.high = max(self.low, least), max(self.high, least)
        return self


def between(low, high, form):
    low, high = form.format(low), form.format(high)
    return low if low == high else f"{low} to {high}"


def clearly_more(a, b):
    return min(a) > max(b) and median(a) > CLEAR * median(b)


def best_workers(rates):
    """The fewest that are not clearly worse than the best."""
    best = max(rates, key=lambda workers: median(rates[workers]))
    return min(workers for workers in rates if not clearly_more(rates[best], rates[workers]))


def cause(measured, workers=None, wanted=None):
    """(what holds the training back, workers in question)"""
    if measured["files"] < FEWEST:
        return "too few to time" if measured["complete"] else "metadata", workers
    rates = measured["rates"]
    best = best_workers(rates["both"])
    workers = workers or best
    read, decode, both = (rates[kind][workers] for kind in ("read", "decode", "both"))
    if wanted and wanted <= min(both):
        return "nothing", workers
    if best > workers and clearly_more(rates["both"][best], both):
        return "too few workers", workers
    if median(read) >= median(decode):
        return "decoding", workers
    if median(measured["open_share"][workers]) >= 0.5:
        return "metadata", workers
    return "storage", workers


def conclude(measured, workers=None, wanted=None):
    """An object for --json: the cause, bounds as [lowest, highest], and all in words."""
    found, workers = cause(measured, workers, wanted)
    result = {"cause": found, "workers": workers}
    if measured["files"] < FEWEST:
        return {**result, "words": [too_few(measured), inodes(measured)]}
    rates = measured["rates"]
    read, decode, both = (rates[kind][workers] for kind in ("read", "decode", "both"))
    reading = [1 / (1 + max(read) / min(decode)), 1 / (1 + min(read) / max(decode))]
    mount = Ratio(decode, both).at_least(1)
    [(many, resized)] = rates["resized"].items()
    smaller = Ratio(resized, both).at_least(1)
    words = [because(found, measured, workers, wanted, reading)]
    if found == "nothing":
        words.append("Neither a mount nor smaller images would make it faster.")
    else:
        words += [what_of_mount(mount, found), *what_came(measured, found),
                  what_of_resize(measured, workers, many, smaller)]
    words += [inodes(measured), *opening(measured), memory(measured), cold(measured)]
    result.update(reading=reading, mount=[mount.low, mount.high],
                  resize=[smaller.low, smaller.high])
    return {**result, "words": [*words, *bad(measured), *busy(measured)]}


# --- in words ------------------------------------------------------------------------------------

def count(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number):
    for unit in ("bytes", "KB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def percent(low, high):
    return between(100 * low, 100 * high, "{:.0f}") + " %"


def too_few(measured):
    if not measured["complete"]:
        return ("Metadata hold the training back: the listing found "
                f"{count(measured['files'], 'image')} in {measured['listed_s']:.0f} s. Nothing "
                "else was measured.")
    return (f"Too few to time: {count(measured['files'], 'file')}. Fewer than {FEWEST:,} are read "
            "before a rate can be told from chance.")


def because(found, measured, workers, wanted, reading):
    rates = measured["rates"]
    both = rates["both"][workers]
    with_ = f"With {count(workers, 'worker')}, "
    share = f"{percent(*reading)} of an image's time is reading"
    if found == "nothing":
        return (f"Nothing holds the training back: with {count(workers, 'worker')} at least "
                f"{min(both):,.0f} images/s come, and {wanted:,.0f} are wanted.")
    if found == "too few workers":
        best = best_workers(rates["both"])
        return (f"Too few workers hold the training back: num_workers={best} brings "
                f"{Ratio(rates['both'][best], both)} times the images of {workers}.")
    both_named = " Neither is clearly slower than the other." if reading[0] < 0.5 < reading[1] \
        else ""
    if found == "decoding":
        rest = percent(1 - reading[1], 1 - reading[0])
        return (f"Decoding holds the training back. {with_}{rest} of an image's time is decoding, "
                f"the rest is reading.{both_named}")
    if found == "storage":
        return f"Storage holds the training back. {with_}{share}, the rest decoding.{both_named}"
    opening_ = measured["open_share"][workers]
    return (f"Metadata hold the training back: names and inodes. {with_}{share}, and "
            f"{percent(min(opening_), max(opening_))} of that is opening files.{both_named}")


def what_of_mount(mount, found):
    if mount.high <= CLEAR:
        return ("A mount cannot make this faster: if reading took no time, there would be "
                f"{mount} times the images. On a fast disk it may be slower.")
    also = ", with as many workers as now" if found == "too few workers" else ""
    return (f"A mount makes reading faster, not decoding. At most it brings {mount} times the "
            f"images{also}; what it does bring was not measured.")


def what_came(measured, found):
    """Whether requests or bytes are what is slow, the user may know: the limit of a volume."""
    if found in ("storage", "metadata"):
        most = max(max(rounds) for rounds in measured["rates"]["read"].values())
        yield (f"At most {size(most * measured['bytes'])}/s came from this storage, of {most:,.0f} "
               "files. If it gives no more bytes, as a volume or a network card with such a limit, "
               "a mount gets no more; if requests are what is slow, a mount sends fewer, larger "
               "ones.")


def what_of_resize(measured, workers, many, bound):
    pixels, fewer = measured["resize"]
    if fewer < SMALLER:
        return f"--resize {pixels} would change little: the images are no larger."
    decode = Ratio(measured["rates"]["resized"][many], measured["rates"]["decode"][many])
    also = f" with {count(many, 'worker')}" if many != workers else ""
    return (f"--resize {pixels} makes images of {fewer:.1f} times fewer bytes; "
            f"they decode {decode} times as fast. At most that brings {bound} times the images"
            f"{also}.")


def inodes(measured):
    files, folders = measured["files"], measured["folders"]
    seconds = f"{measured['listed_s']:.1f} s"
    if not measured["complete"]:
        return (f"More than {count(files + folders, 'inode')}, where a pack is one: the listing "
                f"had not come to an end after {seconds}. All this is of the files found by then.")
    return (f"{count(files + folders, 'inode')} ({count(files, 'file')}, "
            f"{count(folders, 'folder')}) would be one. Listing them took {seconds}.")


def opening(measured):
    first, again = measured["open_us"]
    before = (" Most were known already, as after a listing by somebody: the first epoch after a "
              "boot may be slower." if first < CLEAR * again else "")
    yield f"To open a file took {first:,.0f} us, and again {again:,.0f} us.{before}"


def memory(measured):
    total, free = measured["bytes"] * measured["files"], measured["memory"]
    if not measured["complete"]:
        return "Whether all of it stays in memory after an epoch is not known."
    if total <= free / 2:
        return (f"All of it, about {size(total)}, stays in {size(free)} of memory: from the second "
                "epoch on, storage is no limit.")
    return (f"All of it, about {size(total)}, does not stay in {size(free)} of memory: each epoch "
            "reads from storage.")


def cold(measured):
    warm = measured["warm"]
    if warm is None:
        return ("How cold the reading was, the kernel does not say of these files: part of them "
                "may have been in memory.")
    if warm > SOME:
        return (f"{percent(warm, warm)} of the bytes were in memory in spite of all: cold, "
                "reading is slower than here.")
    return "All reading was cold: the kernel had nothing of the files in memory."


def busy(measured):
    if measured["others"] > BUSY:
        yield (f"Other programs had {100 * measured['others']:.0f} % of the processors meanwhile: "
               "all of this is beside them.")


def bad(measured):
    if measured["bad"]:
        yield f"{100 * measured['bad']:.2g} % of the images could not be read or decoded."
