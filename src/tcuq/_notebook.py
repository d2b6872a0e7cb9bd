# SPDX-License-Identifier: Apache-2.0
"""HTML that notebooks show for a stream or a trace: a caption and one row per fact."""

from collections.abc import Mapping
from html import escape


def facts_table(caption: str, facts: Mapping[str, object]) -> str:
    """Return an HTML table with one row per fact."""
    rows = (
        f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(caption)}</caption>{''.join(rows)}</table>"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as "1 step" and "2,000 steps"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
