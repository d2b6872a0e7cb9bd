# SPDX-License-Identifier: Apache-2.0
"""The C files of an export as one source, `tcuq.c`, beside the headers an application includes.

Annotations for the prover go; what no step spends its time in is compiled for size at any level.
"""

import re
from collections.abc import Mapping

from tcuq.errors import ExportError

SOURCE = "tcuq.c"
HEADER = "tcuq.h"
STATUS = "tcuq_status.h"
PRIVATE = frozenset(
    {
        "tcuq_simd.h", "tcuq_internal.h", "tcuq_products.h", "tcuq_bytes.h", "tcuq_copy.h",
        "tcuq_uplink_internal.h", "tcuq_blob_internal.h", "tcuq_switch.h",
    }
)  # fmt: skip
"""Headers that no application includes."""
HOT = (
    "math", "posterior", "features", "projection", "signals", "novelty", "health_signal", "score",
    "monitor", "health",
)  # fmt: skip
"""Sources that a step, or a sample of a sensor, spends its time in."""
EXTRA = re.compile(r"tcuq_(?:(?P<UPLINK>uplink|sign\.)|(?P<OTA>blob|slots|switch|verify))")
"""Sources of a part that a build adds, by how their names begin."""

PROVER = re.compile(
    r"/\*@.*?\*/[ \t]*\n?|[ \t]*//@[^\n]*\n|#ifdef __FRAMAC__\n(?:(?!#if|#else)[^\n]*\n)*?#endif\n",
    re.DOTALL,
)
# REUSE-IgnoreStart
LICENCE = re.compile(r"/\* SPDX-License-Identifier: [^\n]*\n")
# REUSE-IgnoreEnd
OWN_INCLUDE = re.compile(r'^#include "(tcuq[a-z0-9_]*\.h)"\n', re.MULTILINE)
GUARDED = re.compile(r"\A(.*?)#ifndef (TCUQ_\w+_H)\n#define \2\n(.*)#endif\n\Z", re.DOTALL)
GUARD = "#define TCUQ_H\n"
BLANK = re.compile(r"\n{3,}")

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* tcuq {version}: the runtime in one file. Generated; do not edit: export again.
 *
 * Compiled for speed by gcc, as at -O2, what a step spends little time in is compiled for size
 * all the same; define TCUQ_SMALL_REST as 0 for speed everywhere. */
#if !defined(TCUQ_SMALL_REST)
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TCUQ_SMALL_REST 1
#else
#define TCUQ_SMALL_REST 0
#endif
#endif
"""
REST = """
/* ---- the rest ---- */
#if TCUQ_SMALL_REST
#pragma GCC push_options
#pragma GCC optimize("Os")
#endif
"""
END = """
#if TCUQ_SMALL_REST
#pragma GCC pop_options
#endif
"""


def one_file(files: Mapping[str, str], build: str, version: str) -> dict[str, str]:
    """Return the same runtime as `tcuq.c` and the headers that an application includes.

    `build` is the text of tcuq_build.h, which says what is built in; it becomes part of tcuq.h.
    """
    sources = {name: text for name, text in files.items() if name.endswith(".c")}
    headers = {name: _stripped(text) for name, text in files.items() if name.endswith(".h")}
    public = {name: text for name, text in headers.items() if name not in PRIVATE}
    if GUARD not in public[HEADER]:
        raise ExportError("the runtime's header must have an include guard, TCUQ_H")
    status = f'#include "{STATUS}"\n'
    header = public[HEADER].replace(status, _inner(public.pop(STATUS)))
    public[HEADER] = header.replace(GUARD, GUARD + "\n" + _inner(build), 1)
    hot = [name for name in (f"tcuq_{stage}.c" for stage in HOT) if name in sources]
    rest = sorted(set(sources) - set(hot), key=lambda name: (_extra(name), name))
    copied: set[str] = set()
    parts = [
        [_part(name, sources[name], headers, copied) for name in names] for names in (hot, rest)
    ]
    text = HEAD.format(version=version) + "".join(parts[0]) + REST + "".join(parts[1]) + END
    return {name: BLANK.sub("\n\n", text) for name, text in {**public, SOURCE: text}.items()}


def _part(name: str, text: str, headers: Mapping[str, str], copied: set[str]) -> str:
    """Return a source behind the private headers that it is the first to include."""

    def included(line: re.Match[str]) -> str:
        header = line[1]
        if header in copied:
            return ""
        copied.add(header)
        if header not in PRIVATE:
            return line[0]
        return OWN_INCLUDE.sub(included, _inner(headers[header]))

    body = OWN_INCLUDE.sub(included, LICENCE.sub("", _stripped(text)))
    title, extra = f"\n/* ---- {name} ---- */\n", _extra(name)
    return f"{title}#if TCUQ_WITH_{extra}\n{body}\n#endif\n" if extra else title + body


def _extra(name: str) -> str:
    """Return the part that a build adds and this source belongs to; else an empty text."""
    extra = EXTRA.match(name)
    return (extra.lastgroup or "") if extra else ""


def _stripped(text: str) -> str:
    """Return a text without what only the prover reads."""
    return PROVER.sub("", text)


def _inner(text: str) -> str:
    """Return a header without its guard."""
    guarded = GUARDED.match(LICENCE.sub("", text))
    if guarded is None:
        raise ExportError("a header of the runtime must have an include guard")
    return guarded[1] + guarded[3]
