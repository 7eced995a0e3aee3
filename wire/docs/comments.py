"""Prints a header with its comments made into Doxygen's: `//` before a declaration becomes `///`,
`//` behind one `///<`, and what opens the file its description. Comments inside functions, rulers
and licences have no declaration to belong to, and stay.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

BEFORE = re.compile(r"^(\s*)//(?!/)( ?)(.*)$")
BEHIND = re.compile(r"^(.*?\S.*?[;,{}])(\s+)// (.*)$")
RULER = re.compile(r"^-{3,}|-{3,}$")


def escaped(text: str) -> str:
    """As text: what Doxygen would take for a command or a tag of its own stands for itself."""
    return re.sub(r"([\\@<>#])", r"\\\1", text)


def block(lines: list[str], first: str) -> list[str]:
    """A run of comment lines; those indented by four or more are code."""
    out: list[str] = []
    code = False
    for number, line in enumerate(lines):
        found = BEFORE.match(line)
        assert found is not None
        indent, text = found[1], found[3]
        is_code = found[2] == " " and text.startswith("    ")
        if is_code != code:
            out.append(f"{indent}/// {'@code{.unparsed}' if is_code else '@endcode'}")
            code = is_code
        shown = (first if number == 0 else "") + (text if is_code else escaped(text))
        out.append(f"{indent}/// {shown}".rstrip())
    if code:
        out.append("/// @endcode")
    return out


def converted(source: str) -> str:
    lines = source.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        begin = at
        while at < len(lines) and BEFORE.match(lines[at]):
            at += 1
        if at > begin:
            following = lines[at].strip() if at < len(lines) else ""
            ruler = RULER.search(lines[begin].strip().removeprefix("//").strip()) is not None
            opens_file = begin == 0
            belongs = following not in ("", "}", "};") and not following.startswith(("#", "}"))
            if opens_file:
                out += block(lines[begin:at], "@file\n/// ")
            elif ruler or not belongs:
                out += [""] * (at - begin)
            else:
                out += block(lines[begin:at], "")
            continue
        found = BEHIND.match(lines[at])
        if found is not None:
            # What it goes on with on the next lines, aligned, is the same comment.
            text = found[3]
            while at + 1 < len(lines) and (more := re.match(r"^\s{20,}// (.*)$", lines[at + 1])):
                text += " " + more[1]
                at += 1
            out.append(f"{found[1]} ///< {escaped(text)}")
        else:
            out.append(lines[at])
        at += 1
    return "\n".join(out)


if __name__ == "__main__":
    sys.stdout.write(converted(Path(sys.argv[1]).read_text(encoding="utf-8")))
