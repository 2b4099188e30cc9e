"""Dates as people write them: ISO, "July 5, 1990", "5. Januar 1990", "05/07/1990 14:30", "2024年1月5日".

Whether the day or the month comes first is settled over the whole column (`read_dates`); where the column does
not tell, it is guessed and the guess is said.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

_MONTHS = {
    1: "january jan januar jänner janvier janv enero ene gennaio gen janeiro januari",
    2: "february feb februar février févr fév febrero febbraio febbr fevereiro fev februari",
    3: "march mar märz mär mrz mars marzo março maart mrt",
    4: "april apr avril avr abril abr aprile",
    5: "may mai mayo maggio mag maio mei",
    6: "june jun juni juin junio giugno giu junho",
    7: "july jul juli juillet juil julio luglio lug julho",
    8: "august aug août aout agosto ago augustus",
    9: "september sep sept septembre septiembre settembre set setembro",
    10: "october oct oktober okt octobre octubre ottobre ott outubro out",
    11: "november nov novembre noviembre novembro",
    12: "december dec dezember dez décembre déc diciembre dic dicembre dezembro",
}
_MONTH = {name: number for number, names in _MONTHS.items() for name in names.split()}

_TIME = (
    r"(?:(?:T|,?\s+|,?\s+at\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?"
)
_WORD = r"[^\W\d_]{3,10}"
_FORMS = tuple(
    re.compile(form + _TIME)
    for form in (
        r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})",
        r"(?P<a>\d{1,2})(?P<sep>/)(?P<b>\d{1,2})(?P=sep)(?P<y>\d{2})",
        r"(?P<a>\d{2})(?P<sep>[-.])(?P<b>\d{2})(?P=sep)(?P<y>\d{2})",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?[\s-]*(?:of\s|de\s)?(?P<name>{_WORD})\.?[\s,-]*(?:of\s|de\s)?(?P<y>\d{{4}}|'?\d{{2}})",
        rf"(?P<name>{_WORD})\.?\s*(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s+(?P<y>\d{{4}})",
        rf"(?P<name>{_WORD})\.?,?\s+(?:of\s|de\s)?(?P<y>\d{{4}})",
        rf"(?P<y>\d{{4}})[\s-](?P<name>{_WORD})\.?[\s-](?P<d>\d{{1,2}})",
        r"(?P<y>\d{4})年\s?(?P<m>\d{1,2})月\s?(?P<d>\d{1,2})日",
    )
)
# So much of a column of dates may be years only, and so much a day that does not exist (31 April).
MOST_YEARS = 0.34
MOST_IMPOSSIBLE = 0.05
_WEEKDAY = re.compile(
    r"(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)(?:day|nesday|sday|rsday|urday)?\.?,?\s+", re.IGNORECASE
)
_NOTES = re.compile(r"(?:\s*(?:\[[^\]]{1,12}\]|[*†‡§]))+$")


@dataclass(frozen=True, slots=True)
class Written:
    """One cell. `order` is "" where day and month are certain, else the separator between the two open numbers."""

    year: int
    first: int  # the month where certain
    second: int  # the day where certain
    order: str = ""
    time: dt.time | None = None
    offset: int | None = None  # minutes east of UTC
    iso: bool = False


@dataclass(frozen=True)
class Dates:
    """A column read. `guessed` says that day and month could be exchanged; `day_first` is what the column proves."""

    values: tuple[dt.date | dt.datetime | None, ...]
    timed: bool
    example: str
    guessed: bool
    day_first: bool | None
    zone: str = ""
    partial: tuple[str, ...] = ()  # cells that are a year only, or a day that does not exist


def read_date(text: str) -> Written | None:
    if not 6 <= len(text) <= 48:
        return None
    text = _WEEKDAY.sub("", _NOTES.sub("", text), count=1) if text[0].isalpha() or text[-1] in "]*†‡§" else text
    for number, form in enumerate(_FORMS):
        match = form.fullmatch(text)
        if match:
            return _read_match(match, iso=number == 0)
    return None


def _read_match(match: re.Match[str], iso: bool) -> Written | None:
    groups = match.groupdict()
    year = int(groups["y"].lstrip("'"))
    if len(groups["y"].lstrip("'")) == 2:
        year += 2000 if year < 69 else 1900
    if year < 1000:
        return None
    time, offset, bad = _read_time(groups)
    if bad:
        return None
    if groups.get("a"):
        return Written(year, int(groups["a"]), int(groups["b"]), groups["sep"], time, offset)
    month = _MONTH.get(groups["name"].lower()) if groups.get("name") else int(groups["m"])
    if not month:
        return None
    day = int(groups["d"]) if groups.get("d") else 1
    return Written(year, month, day, "", time, offset, iso and groups["sep"] == "-")


def _read_time(groups: dict[str, str]) -> tuple[dt.time | None, int | None, bool]:
    if not groups.get("hour"):
        return None, None, False
    hour, minute, second = int(groups["hour"]), int(groups["minute"]), int(groups["second"] or 0)
    half = (groups["half"] or "").replace(".", "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None, None, True
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None, None, True
    micro = int((groups["fraction"] or "").ljust(6, "0")[:6])
    zone = groups["zone"]
    offset = None
    if zone:
        digits = re.sub(r"\D", "", zone)
        offset = int(digits[:2]) * 60 + int(digits[2:] or 0) if digits else 0
        offset = -offset if zone.startswith("-") else offset
    return dt.time(hour, minute, second, micro), offset, False


def read_dates(
    cells: Sequence[str], counts: Sequence[int], day_first: bool | None = None, hint: bool | None = None
) -> Dates | None:
    """Read the distinct cells of a column in their order of appearance, or None where they are no dates together.

    `day_first` is the user's word and wins; `hint` is what other columns of the file prove.
    """
    sure: list[Written] = []
    for cell in cells:
        written = read_date(cell) or _read_year(cell)
        if written is None:
            return None
        sure.append(written)
    years = sum(n for c, n in zip(cells, counts, strict=True) if _read_year(c))
    if not sure or years > MOST_YEARS * sum(counts):
        return None
    order, guessed, proven = _settle_order([w for w in sure if w.order], day_first, hint)
    aware = {w.offset for w in sure if w.time is not None}
    if None in aware and len(aware) > 1:
        return None  # clock times with and without a zone cannot be compared
    timed = any(w.time is not None for w in sure)
    zone = ""
    if timed and None not in aware:
        zone = "UTC" if len(aware) > 1 or aware == {0} else "UTC" + _clock(next(iter(aware)) or 0)
    values = [_moment(w, order, timed, to_utc=len(aware) > 1) for w in sure]
    impossible = sum(n for v, n in zip(values, counts, strict=True) if v is None)
    if impossible > MOST_IMPOSSIBLE * sum(counts):
        return None
    example = next((c for c, w in zip(cells, sure, strict=True) if not w.iso and not _read_year(c)), "")
    odd = tuple(c for c, v in zip(cells, values, strict=True) if v is None or _read_year(c))
    return Dates(tuple(values), timed, example, guessed, proven, zone, odd)


def _read_year(text: str) -> Written | None:
    """A year among dates; a column of years alone stays one of integers."""
    if len(text) == 4 and text.isdigit() and text[0] in "12":
        return Written(int(text), 1, 1)
    return None


def _settle_order(
    open_ones: Sequence[Written], day_first: bool | None, hint: bool | None
) -> tuple[bool, bool, bool | None]:
    """(day comes first, this is a guess, what the column proves)."""
    if not open_ones:
        return True, False, None
    if day_first is not None:
        return day_first, False, None
    if any(w.first > 12 for w in open_ones):
        return True, False, True
    if any(w.second > 12 for w in open_ones):
        return False, False, False
    same = all(w.first == w.second for w in open_ones)
    if hint is not None:
        return hint, False, None
    if all(w.order == "." for w in open_ones):
        return True, False, None  # no one writes months first with dots
    by_day, by_month = _disorder(open_ones, True), _disorder(open_ones, False)
    if by_day != by_month:
        return by_day < by_month, not same, None
    return open_ones[0].order != "/", not same, None


def _disorder(written: Sequence[Written], day_first: bool) -> int:
    """How often the column steps back in time: records are mostly kept in order."""
    keys = [(w.year, w.second, w.first) if day_first else (w.year, w.first, w.second) for w in written]
    back = sum(a > b for a, b in itertools.pairwise(keys))
    return min(back, len(keys) - 1 - back)


def _moment(written: Written, day_first: bool, timed: bool, to_utc: bool) -> dt.date | dt.datetime | None:
    month, day = written.first, written.second
    if written.order and day_first:
        month, day = day, month
    try:
        day_of = dt.date(written.year, month, day)
        if not timed:
            return day_of
        moment = dt.datetime.combine(day_of, written.time or dt.time())
        return moment - dt.timedelta(minutes=written.offset) if to_utc and written.offset else moment
    except (ValueError, OverflowError):
        return None


def _clock(minutes: int) -> str:
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
