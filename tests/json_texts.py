"""JSON texts as people write them, made up: spaces, line ends, comments, commas behind the last."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "hooks", "mcpServers", "permissions", "allow", "ö", "x y", ""])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**18), 10**18),
    st.sampled_from([0.5, 1e300, -0.0]),
    st.text(max_size=6),
    st.sampled_from(["// no comment", "/* nor this */", "{", '"', "\\", "\u2028", "🦜"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(NAMES, below, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=5)


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any] = OBJECTS, jsonc: bool = True) -> str:
    """A text whose value is drawn from `values`, written in any way."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    gaps = ["", " ", newline, newline + "  ", "\t", newline + newline + "    "]
    if jsonc:
        gaps += [f" // note, {{}}{newline}", "/* a, */", f'{newline}  // "b": 1,{newline}  ']
    gap = st.sampled_from(gaps)

    def write(value: Any) -> str:
        if isinstance(value, dict):
            parts = [f"{json.dumps(k)}{draw(gap)}:{draw(gap)}{write(v)}" for k, v in value.items()]
        elif isinstance(value, list):
            parts = [write(one) for one in value]
        else:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        inside = ",".join(f"{draw(gap)}{part}{draw(gap)}" for part in parts)
        if parts and jsonc and draw(st.booleans()):
            inside += f",{draw(gap)}"
        if not parts:
            inside = draw(gap)
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"

    if draw(st.booleans()):
        indent = draw(st.sampled_from([1, 2, 4, "\t", None]))
        text = json.dumps(draw(values), indent=indent, ensure_ascii=False)
        return text.replace("\n", newline) + draw(st.sampled_from(["", newline]))
    return draw(gap) + write(draw(values)) + draw(gap)
