"""Numbers as people write them: "1,234", "1.234,56", "$4.5m", "12%", "(5)", "1st", "97.9 MHz", "6,830 est.".

One cell is read without deciding (`read_figure`); whether "1,234" is a thousand or one and a bit is settled over
the whole column (`read_figures`), because only the neighbours tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Decimal = Literal["", ".", ","]

# More digits than a double holds: such a cell is a name, not a quantity.
MOST_DIGITS = 15

# So much of a column may carry remarks: with more of them, the remark is what the column is about.
MOST_WORDS = 0.5  # "6,830 est.", "14th (q)"
MOST_SECONDS = 0.25  # "792 (241)": a second number, unless it is the first one in another unit

_CURRENCY = (
    r"(?:(?:US|A|C|CA|AU|NZ|HK|S|R)?\$|€|£|¥|₹|₽|₩|₺|₪|฿|₫|zł|Kč|kr\.?|Fr\.?|Rs\.?"
    r"|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|AUD|CAD|PLN|CZK)"
)
_SIGN = "[+\\-\u2212\u2013]"
_FIGURE = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>{_SIGN})?\s*(?P<prefix>{_CURRENCY}|#|No\.?\s|[T=](?=\d))?\s*(?P<sign2>{_SIGN})?"
    r"(?P<core>\d(?:[\d.,'’\u00a0\u202f ]*\d)?|[.,]\d+)(?P<exponent>[eE][+-]?\d{1,3}(?!\w))?"
    r"(?P<rest>.*)",
    re.DOTALL,
)
# Before a number: it is not exact.
_ABOUT = re.compile(
    r"(?:[<>≤≥~≈]|(?:c\.|ca\.?|circa|approx\.?|about|over|under|around)\s)\s*(?=[\d$€£.])", re.IGNORECASE
)
_YEARS = re.compile(r"((?:1\d|20)\d\d)(\s?[–/-]\s?(?:\d\d|\d{4}))")
_NOTES = re.compile(r"(?:\s*(?:\[[^\]]{1,24}\]|[*†‡§#^¹²³¤=+?]))+$")
_SCALES = {
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "mln": 1e6,
    "mio": 1e6,
    "mio.": 1e6,
    "million": 1e6,
    "millions": 1e6,
    "b": 1e9,
    "bn": 1e9,
    "mrd": 1e9,
    "mrd.": 1e9,
    "billion": 1e9,
    "billions": 1e9,
    "t": 1e12,
    "tn": 1e12,
    "trillion": 1e12,
}
# Without a currency "5 m" is a length and "5 t" a weight; these stay scales.
_SAFE_SCALES = {"thousand", "million", "millions", "billion", "billions", "trillion", "mln", "mio", "mio.", "bn", "mrd"}
_ORDINAL = {"st", "nd", "rd", "th"}
_REMARK = re.compile(r"(?:\s+(?:\(.*\)|\[.*\]|est\.?|estimated|approx\.?|ca\.?|circa|plus)|\s*\n.*)\s*$", re.DOTALL)
_UNIT = re.compile(r"\s?(?P<unit>[^\W\d_][\w²³/°µ]{0,11}(?: [^\W\d_]{1,10})?|°[CFK]?|[\"″])\.?$")
_SHORT_UNITS = {"m", "g", "s", "h", "l", "L", "W", "V", "K", "C", "F"}
# Words after a number that make it a time, a year before Christ or a day of a month.
_NOT_UNITS = re.compile(
    r"(?:[ap]m|bce?|ce|ad|jan|feb|mar|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|年|月|日)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell. `dot` and `comma` are its plain digits under either decimal sign, None where it cannot be so."""

    dot: str | None
    comma: str | None
    negative: bool = False
    bracketed: bool = False
    currency: str = ""
    unit: str = ""
    scale: float = 1.0
    remark: str = ""
    tied: bool = False
    plain: bool = False  # nothing but digits, sign and dot: what any program reads


@dataclass(frozen=True)
class Figures:
    """A column read: one value per given cell, None where a cell is no number."""

    values: tuple[int | float | None, ...]
    whole: bool
    example: str
    remarks: tuple[str, ...]
    decimal: Decimal  # what the column proves about the file's decimal sign, "" where it proves nothing


def read_figure(text: str) -> Figure | None:
    if not text or len(text) > 60:
        return None
    if text.isascii() and text.isdigit():
        return Figure(text, text, plain=True)
    years = _YEARS.fullmatch(text)
    if years:  # a season or a term among years: its first year
        return Figure(years[1], years[1], remark=years[2])
    about = _ABOUT.match(text)
    match = _FIGURE.fullmatch(text, about.end() if about else 0)
    if match is None:
        return None
    dot, comma = _styles(match["core"])
    if dot is None and comma is None:
        return None
    sign = match["sign"] or match["sign2"] or ""
    if match["sign"] and match["sign2"]:
        return None
    rest = match["rest"]
    bracketed = match["open"] is not None
    if bracketed:
        if not rest.rstrip().endswith(")"):
            return None
        rest = rest.rstrip()[:-1]
        if re.fullmatch(r"[12]\d{3}", match["core"]) and not match["prefix"]:
            return None  # "(1914)" is a year in passing
    prefix = (match["prefix"] or "").strip()
    if match["exponent"]:
        mantissa = match["core"].replace(",", ".")
        # "12E45" is a part number; "1.2e-05" is how programs write small numbers.
        if rest.strip() or prefix or len(mantissa.split(".")[0]) > 1:
            return None
        dot = dot and dot + match["exponent"]
        comma = comma and comma + match["exponent"]
    tail = _read_tail(rest, prefix)
    if tail is None:
        return None
    currency, unit, scale, remark = tail
    tied = prefix in ("T", "=")
    remark = remark or (about.group() if about else "")
    plain = (
        not (about or bracketed or prefix or rest or currency or unit)
        and sign in ("", "-")
        and dot == match["core"] + (match["exponent"] or "")
    )
    return Figure(dot, comma, bool(sign) and sign != "+", bracketed, currency, unit, scale, remark, tied, plain)


def _styles(core: str) -> tuple[str | None, str | None]:
    """The digits of "1,234" if "." is the decimal sign ("1234"), and if "," is ("1.234")."""
    if core.isdigit():
        return core, core
    spaced = re.sub(r"(?<=\d)['’\u00a0\u202f ](?=\d{3}(?!\d))", "", core)
    if spaced != core and not re.fullmatch(r"\d{1,3}(?:['’\u00a0\u202f ]\d{3})+(?:[.,]\d+)?", core):
        return None, None
    if spaced.isdigit():
        return spaced, spaced
    if not re.fullmatch(r"[\d.,]+", spaced):
        return None, None
    return _one_style(spaced, ".", ","), _one_style(spaced, ",", ".")


def _one_style(core: str, decimal: str, group: str) -> str | None:
    whole, point, fraction = core.partition(decimal)
    if point and (not fraction.isdigit() or decimal in fraction):
        return None
    if group in whole:
        indian = r"\d{1,2}(?:,\d{2})*,\d{3}"
        western = rf"[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+"
        if not re.fullmatch(western, whole) and not (group == "," and re.fullmatch(indian, whole)):
            return None
        whole = whole.replace(group, "")
    if whole and not whole.isdigit():
        return None
    return (whole or "0") + ("." + fraction if point else "")


def _read_tail(rest: str, prefix: str) -> tuple[str, str, float, str] | None:
    """What follows the digits: (currency, unit, scale, remark); None where it makes the cell no number."""
    currency = "" if prefix in ("#", "No", "No.", "T", "=") else prefix
    rest = _NOTES.sub("", rest)
    remark = ""
    found = _REMARK.search(rest)
    if found:
        rest, remark = rest[: found.start()], found.group()
    if rest.strip() in ("", ".", ",", ";"):
        return currency, "", 1.0, remark
    spaced, word = rest[0].isspace(), rest.strip()
    if word in ("%", "‰"):
        return currency, word, 1.0, remark
    if not currency:
        money = re.fullmatch(rf"(?P<scale>\w*\.?)\s*(?P<money>{_CURRENCY})", word)
        if money and (not money["scale"] or money["scale"].lower() in _SCALES):
            return money["money"], "", _SCALES.get(money["scale"].lower(), 1.0), remark
    lower = word.lower()
    if currency or lower in _SAFE_SCALES or (not spaced and word in ("K", "M", "B")):
        scale = _SCALES.get(lower)
        return None if scale is None else (currency, "", scale, remark)
    if lower in _ORDINAL and not spaced:
        return "", "ordinal", 1.0, remark
    unit = _UNIT.fullmatch(rest)
    if unit is None or _NOT_UNITS.match(unit["unit"]):
        return None
    name = unit["unit"] if len(unit["unit"]) < 4 else unit["unit"].removesuffix("s")
    if len(name) == 1 and name not in _SHORT_UNITS and name.isalpha():
        return None
    if not spaced and len(name) == 1 and name.isupper():
        return None  # "12A" is a label
    return "", name, 1.0, remark


def leads_with_number(text: str) -> bool:
    """ "792 (241)" or "24.0\\n(75.2)": a number first and a remark after it; not "3–1" and not "12 Main Street"."""
    if _YEARS.fullmatch(text):
        return False
    if read_figure(text) is not None:
        return True
    return re.match(r"[~c.a ]{0,4}[$€£]?\d[\d.,]*\s+(?:\(|\[|est|approx|to |or |and )", text) is not None


def read_figures(
    cells: Sequence[str], counts: Sequence[int], decimal: Decimal = "", header: str = ""
) -> Figures | None:
    """Read the distinct cells of a column (blanks taken out before), or None where they are no numbers together.

    `counts` say how often each occurs. Every cell must fit: what to do with words such as "n/a" is the caller's.
    """
    found: list[Figure] = []
    for cell in cells:
        figure = read_figure(cell)
        if figure is None:
            return None
        found.append(figure)
    if not found or _is_a_name(found):
        return None
    rows, double = sum(counts), "(" in header
    words = sum(n for f, n in zip(found, counts, strict=True) if f.remark and not _says_number(f.remark))
    seconds = sum(n for f, n in zip(found, counts, strict=True) if _competes(f) and not double)
    constant = len({f.remark for f in found}) == 1
    if (
        (words + seconds > MOST_WORDS * rows and not constant)
        or seconds > MOST_SECONDS * rows
        or all(f.tied for f in found)
    ):
        return None
    units = {f.unit for f in found if f.unit}
    money = {f.currency for f in found if f.currency}
    if len(units) > 1 or len(money) > 1 or (units and money):
        return None
    if units - {"ordinal"} and any(not f.unit and (f.dot or f.comma or "").strip("0.") for f in found):
        return None
    if all(f.bracketed for f in found):
        return None  # "(1)", "(2)" alone number things
    proven = _proven_decimal(found)
    if proven is None:
        return None
    style = proven or decimal or "."
    read = [_value(f, style) for f in found]
    if any(value is None for value in read):
        return None
    whole = all(isinstance(value, int) for value in read)
    odd = next((c for c, f in zip(cells, found, strict=True) if not f.plain and not f.remark), "")
    odd = odd or next((c for c, f in zip(cells, found, strict=True) if not f.plain), "")
    return Figures(
        tuple(read) if whole else tuple(None if v is None else float(v) for v in read),
        whole,
        odd,
        tuple(c for c, f in zip(cells, found, strict=True) if f.remark and not (double or _is_conversion(f))),
        proven,
    )


def _says_number(remark: str) -> bool:
    return any(c.isdigit() for c in remark)


def _is_conversion(figure: Figure) -> bool:
    """ "215 km (134 mi)", "24.0\\n(75.2)", "926,608 (90.8%)": the remark says the same in another way."""
    remark = figure.remark.strip()
    if not _says_number(remark) or not remark.startswith("("):
        return False
    return bool(figure.unit) or "%" in remark or figure.remark[0] == "\n"


def _competes(figure: Figure) -> bool:
    return _says_number(figure.remark) and not _is_conversion(figure)


def _is_a_name(figures: Sequence[Figure]) -> bool:
    """Post codes and long ids: digits that must not lose a leading zero or their last places."""
    for figure in figures:
        digits = figure.dot or figure.comma or ""
        if digits.isdigit() and not figure.unit and not figure.currency and not figure.remark:
            if len(digits) > 1 and digits[0] == "0":
                return True
            if len(digits) > MOST_DIGITS and (figure.plain or len(digits) > 18):
                return True
    return False


def _proven_decimal(figures: Sequence[Figure]) -> Decimal | None:
    """The decimal sign that some cell demands, "" where all cells allow both, None where cells contradict."""
    needs_comma = any(f.dot is None for f in figures)
    needs_dot = any(f.comma is None for f in figures)
    if needs_comma and needs_dot:
        return None
    return "," if needs_comma else "." if needs_dot else ""


def _value(figure: Figure, style: str) -> int | float | None:
    digits = figure.comma if style == "," else figure.dot
    if digits is None:
        return None
    sign = -1 if figure.negative or figure.bracketed else 1
    if figure.scale != 1.0:
        scaled = round(float(digits) * figure.scale, 6)
        return sign * (int(scaled) if scaled.is_integer() and abs(scaled) < 2**53 else scaled)
    if digits.isdigit():
        return sign * int(digits)
    return sign * float(digits)
