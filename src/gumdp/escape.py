"""Text that others wrote, made harmless for where it goes: terminals, LaTeX, Markdown, CSV, pictures, file names.

Names, messages and settings come from plans and results folders that may be a stranger's. Each kind of output has one
function here, and nothing reaches an output without it. Pages have none: their templates escape by themselves.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Any

# Control characters start escape sequences, format characters turn the direction of a line around, surrogates can't be
# written at all.
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
LONGEST = 60  # characters of a name that becomes a part of a file's name

TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "`": r"\textasciigrave{}",
    "±": r"$\pm$", "−": "$-$", "·": r"$\cdot$", "↓": r"$\downarrow$", "↑": r"$\uparrow$", "–": "--",
    "×": r"$\times$", "≥": r"$\ge$", "≤": r"$\le$", "…": r"\ldots{}", "→": r"$\to$", "∞": r"$\infty$", "ß": r"\ss{}",
    "\u202f": r"\,", "\u00a0": "~", "√": r"$\surd$", "’": "'",
}  # fmt: skip
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"', "\u030a": "r", "\u030c": "v",
           "\u0327": "c"}  # fmt: skip
GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)


def printable(text: object) -> str:
    """``text`` on one line, with what can't be seen written out.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return terminal(text).replace("\n", "\\n").replace("\t", "\\t")


def terminal(text: object) -> str:
    """``text`` without what a terminal would obey; lines stay lines.

    >>> terminal("title\\x1b]0;owned\\x07")
    'title\\\\x1b]0;owned\\\\x07'
    """
    return UNPRINTABLE.sub(lambda found: _written(found[0]), str(text))


def _written(letter: str) -> str:
    number = ord(letter)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def latex(text: object) -> str:
    r"""``text`` as LaTeX prints it with any of its engines and no further package; lines become spaces.

    >>> latex("50 % of a_b, γ = 0.9")
    '50 \\% of a\\_b, $\\gamma$ = 0.9'
    """
    return "".join(map(_tex, printable(str(text).replace("\n", " "))))


def _tex(letter: str) -> str:
    if letter in TEX:
        return TEX[letter]
    if letter.isascii():
        return letter
    parts = unicodedata.normalize("NFD", letter)
    if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha() and parts[1] in ACCENTS:
        return rf"\{ACCENTS[parts[1]]}{{{parts[0]}}}"
    words = unicodedata.name(letter, "").split()
    if words[:1] == ["GREEK"] and words[2:3] == ["LETTER"] and len(words) == 4:
        name = words[3].lower().replace("lamda", "lambda")
        name = name if words[1] == "SMALL" else name.capitalize()
        if name in GREEK.split():
            return rf"$\{name}$"
    return f"[U+{ord(letter):04X}]"


def markdown(text: object) -> str:
    """``text`` as Markdown shows it, in a table too; a line break becomes a tag.

    >>> markdown("a|b *c* [d](e)")
    'a\\\\|b \\\\*c\\\\* [d&#93;(e)'
    """
    text = terminal(text).replace("\t", " ").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_|#])", r"\\\1", text).replace("~", "&#126;").replace("$", "&#36;")
    text = re.sub(r"\](?=[(\[:])", "&#93;", text)  # the end of a link's text; intervals keep their brackets
    return text.replace("://", "&#58;//").replace("\n", "<br>")


def csv_field(value: Any) -> Any:
    """``value`` for a CSV file: text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> csv_field("=1+1"), csv_field(-0.5), csv_field("m1-entropy")
    ("'=1+1", '-0.5', 'm1-entropy')
    """
    if isinstance(value, float):
        return repr(value)
    if not isinstance(value, str):
        return value
    return "'" + value if value.lstrip()[:1] in ("=", "+", "-", "@") or value[:1] in ("\t", "\r", "\n") else value


def figure(text: object) -> str:
    r"""``text`` as Matplotlib draws it: on one line, no part of it taken for a formula, and not left out of legends.

    >>> figure("$x_1$")
    '\\$x_1\\$'
    """
    word = printable(text).replace("$", r"\$")
    return f" {word}" if word.startswith("_") else word


def file_name(text: object) -> str:
    """A name for a file, or for a place on a page, that differs where ``text`` differs.

    >>> file_name("m1-entropy")
    'm1-entropy'
    >>> file_name("../a b")
    'a-b-2c2c791a'
    """
    whole = str(text)
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", whole)[:LONGEST].strip("-.")
    if word and word == whole and word == word.lower():  # on some systems A and a are one file
        return word
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{word}-{digest}" if word else digest
