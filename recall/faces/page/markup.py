"""A memory's body as HTML that can do nothing: no script, no style, no image, no form, no id.

Markdown without raw HTML (markdown-it-py), then a sanitiser with a short list (nh3): two parties
would have to be wrong. Links lead to http, https and mailto only, and say where to.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from recall.core.visible import visible

_TAGS = frozenset(
    "a blockquote br code del em h3 h4 h5 h6 hr li ol p pre s span strong "
    "table tbody td th thead tr ul".split()
)
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
_CLASSES = {"span": {"image", "target"}}
_SCHEMES = {"http", "https", "mailto"}
_SHOWN_TARGET = 60


def rendered(body: str) -> Markup:
    """Return the body as sanitised HTML; headings begin at the third level, the page has two."""
    made = _markdown().render(visible(body))
    return Markup(
        nh3.clean(
            made,
            tags=set(_TAGS),
            attributes=_ATTRIBUTES,
            allowed_classes=_CLASSES,
            url_schemes=_SCHEMES,
            url_relative="deny",
            link_rel="noopener noreferrer nofollow",
            clean_content_tags={"script", "style"},
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )
    )


@cache
def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )
    made.add_render_rule("image", _image)
    made.add_render_rule("heading_open", _heading_open)
    made.add_render_rule("heading_close", _heading_close)
    made.add_render_rule("link_close", _link_close)
    return made


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """An image is named, never loaded: to load one tells its server that somebody looks."""
    token = tokens[index]
    said = self.renderInlineAsText(token.children or [], options, env)
    source = str(token.attrs.get("src", ""))[:_SHOWN_TARGET]
    return f'<span class="image">{escape(said)} ({escape(source)})</span>'


def _heading_open(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f"<{_lower(tokens[index].tag)}>"


def _heading_close(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    return f"</{_lower(tokens[index].tag)}>\n"


def _lower(tag: str) -> str:
    return f"h{min(6, int(tag[1:]) + 2)}"


def _link_close(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    """Say behind a link where it leads, if it leads anywhere from here."""
    depth = 0
    for token in reversed(tokens[:index]):
        if token.type == "link_close":
            depth += 1
        elif token.type == "link_open":
            if not depth:
                where = _where(str(token.attrs.get("href", "")))
                return f'</a><span class="target">{escape(where)}</span>' if where else "</a>"
            depth -= 1
    return "</a>"


def _where(href: str) -> str:
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.scheme in ("http", "https"):
        return f"→ {(parts.hostname or '')[:_SHOWN_TARGET]}"
    return f"→ {(parts.path or href)[:_SHOWN_TARGET]}"
