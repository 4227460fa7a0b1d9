"""The sentence that describes a memory: the first of its text that says something.

Labels (`Status: draft`, `Pre-Seed:`), asides (`Note: …`), lines of a log, placeholders, and what
only repeats the title are passed over; what leads to a list or to code, and what stands far below,
is taken where nothing better is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recall.core.analysis import RUN
from recall.core.derive import MAX_SENTENCE, cut
from recall.core.dull import DULL, is_adverb
from recall.core.dull_headings import heading_of, is_dull_heading
from recall.core.lazy import pattern
from recall.core.paragraphs import Paragraph

_LOOKED_AT = 40
"""Paragraphs that are looked at."""
_ENOUGH, _ENOUGH_ZH = 5, 8
"""Words, or Chinese characters, from which a sentence says something."""
_TELLING = 2
_NEAR = 3
"""Headings below which a list's item, or what leads to something, still tells of the whole."""
_HEADINGS = 6
_TOPICS = 3
"""Headings that say more together than a sentence far below."""
_CUT_FROM = 150

_END = pattern(
    r"[。！？!?](?:[”’」』）)\"']*)(?=\s|$|[^\x00-\x7f])|[。！？]|\.(?=[\"'”’)]*(?:\s|$))[\"'”’)]*"
)
_SHORT_WORD = pattern(
    r"(?:\b(?:e\.g|i\.e|vs|cf|etc|Dr|Mr|Mrs|Ms|No|St|approx|incl|max|min)|\b[A-Z]|^\d+)$"
)
_STATUS = pattern(
    r"(?i)\s*(?:status|state|dates?|created|updated|last updated|owners?|authors?|version|tags?"
    r"|scope|audience"
    r"|source|type|priority|compiled|id|sha|commit|branch|role|reviewers?|title|name|permalink"
    r"|url|link|category|categories|last[ _-]?(?:modified|reviewed|updated?)|confidence|see also"
    r"|related"
    r"|applies to|from|to|copyright|licen[cs]e|keywords|base(?: url)?|auth"
    r"|状态|日期|时间|作者|版本|标签|更新|更新时间|创建时间|来源|文档 ?ID|原始链接|链接|地址|接口"
    r"|权限|限量|积分|编号|名称"
    r"|负责人|分类|类型|目录|优先级)\s*[:：]"
)
_LABEL = pattern(r"(?P<name>[^:：.。!！?？]{1,24}?)\s*[:：](?:\s+|(?=[^\x00-\x7f]))(?P<value>\S.*)")
_SAYS = pattern(
    r"(?i)\s*(?:description|summary|purpose|about|goal|overview|what|tl;?dr|abstract|intent"
    r"|problem|描述|说明|简介"
    r"|摘要|概述|目的|功能|作用|介绍|一句话)\s*(?:说明|介绍|描述)?"
)
_PLACEHOLDER = pattern(
    r"[\[<({【〔‹「（].{0,400}[\]>)}】〕›」）][.。]?|.*\{\{.*"
    r"|(?i:to ?do|tbd|tba|n/?a|none|lorem ipsum\b.*|(?:some |your |the )?(?:content|text"
    r"|description)"
    r"(?: goes)? here|(?:coming soon|work in progress|under construction)\b.*"
    r"|无|暂无.{0,6}|待补充|敬请期待|略)[.。:：!！…]*"
)
_MORE = pattern(r"[:：]$")
_CLAUSE_END = pattern(r"[;；,，、:：—–](?=\s|[^\x00-\x7f])|\s[-–—]+\s")
_BESIDE = pattern(r"\([^()]*\)|（[^（）]*）|\S*\d\S*|\S*/\S*")
_LATIN = pattern(r"[^\W\d_][^\W\d_'’-]+")
_FIELD = pattern(r"(?:\*\*)?[^:：\s][^:：]{0,23}[:：](?:\s?\S|\s*$)")
_ASIDE = pattern(
    r"(?i)(?:(?:\w+ )?note|notes|n\.b\.|nb|tip|hint|warning|caution|attention|important"
    r"|disclaimer|edit|update"
    r"|ps|p\.s\.|注|注意|备注|提示|警告|说明|声明|免责声明|附|编者按)\s*[:：]"
    r"|last (?:updated|modified|reviewed|edited)\b|(?:copyright|©|spdx-license)"
    r"|(?:最后|最近)?(?:更新|修改|编辑)(?:于|时间)|(?:本文)?(?:转载|首发|原文|译自|版权)"
    r"|(?:see|refer to|read|back to|return to|click|go to) .{0,60}$"
)
_LOG = pattern(
    r"[\[(]?\d{4}[-/.]\d\d?[-/.]\d\d?[T ,]+\d\d?:\d\d|[\[(]?\d\d?:\d\d(?::\d\d)?[\])]?\s"
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|TRACE|FATAL)\]?[:\s]|\$ |>>> "
)


def describe(title: str, text: Sequence[Paragraph]) -> str:
    """Return a sentence of at most 200 characters, a longer one cut at a clause with `…`; where the
    text has none, what its headings say; '' where it says nothing at all.
    """
    near, far = _candidates(text)
    for found in near:
        if not _same(found, title):
            return shortened(found)
    topics = [heading_of(one.text) for one in text if one.kind == "heading"]
    topics = [one for one in topics if not _same(one, title) and not is_dull_heading(one)]
    topics = [one for one in dict.fromkeys(topics) if not _PLACEHOLDER.fullmatch(one)][:_HEADINGS]
    far = [one for one in far if not _same(one, title)]
    if far and len(topics) < _TOPICS:
        return shortened(far[0])
    if topics:
        joint = "、" if RUN.search("".join(topics)) else ", "
        return shortened(f"{title}{'：' if joint == '、' else ': '}{joint.join(topics)}")
    short = [one.text for one in text if one.kind != "heading"]
    usable = [one for one in short if not _same(one, title) and not _PLACEHOLDER.fullmatch(one)]
    usable.sort(key=lambda one: _STATUS.match(one) is not None)
    return shortened(usable[0]) if usable else ""


def _candidates(text: Sequence[Paragraph]) -> tuple[list[str], list[str]]:
    """Return what paragraphs begin with that says something, the better kinds first: what stands
    near the title, and what stands far below it.
    """
    ranked: tuple[list[str], ...] = ([], [], [], [], [])
    headings = 0
    aside = False
    for one in text[:_LOOKED_AT]:
        if one.kind == "heading":
            headings += 1
            continue
        before, aside = aside, one.kind == "text" and _ASIDE.fullmatch(one.text) is not None
        for line, is_field in _lines(one):
            found = _beginning(line)
            if not found:
                continue
            leads = _MORE.search(found) is not None
            good = one.kind == "text" and not (leads or is_field)
            if headings > _NEAR:
                ranked[4].extend([found] if good else [])
            elif good:
                ranked[1 if before or _ASIDE.match(line) else 0].append(found)
            else:
                ranked[2 if one.kind == "text" else 3].append(found)
    return [found for some in ranked[:4] for found in some], ranked[4]


def _lines(one: Paragraph) -> list[tuple[str, bool]]:
    """Return a paragraph, or the values of its `Purpose: …` and its like where each line of it is
    a field, else those fields that are no mere status; and whether it is such a field.
    """
    if len(one.lines) < 2 or not all(map(_FIELD.match, one.lines)):
        return [(one.text, False)]
    hits = [hit for hit in map(_LABEL.fullmatch, one.lines) if hit]
    said = [(hit["value"], False) for hit in hits if _SAYS.fullmatch(hit["name"])]
    return said or [(line, True) for line in one.lines if not _STATUS.match(line)]


def _beginning(paragraph: str) -> str:
    """Return the first sentences that say something together; '' of a label or a placeholder."""
    label = _LABEL.fullmatch(paragraph)
    if label and _SAYS.fullmatch(label["name"]):
        paragraph = label["value"]
    elif _STATUS.match(paragraph) or _LOG.match(paragraph) or _PLACEHOLDER.fullmatch(paragraph):
        return ""
    taken = ""
    for one in sentences(paragraph):
        if _PLACEHOLDER.fullmatch(one) or (not taken and _is_dated(one)):
            continue
        taken = f"{taken}{'' if not taken or RUN.match(one) else ' '}{one}"
        if _says(taken):
            return taken
    return ""


def sentences(paragraph: str) -> Iterator[str]:
    """Yield a paragraph's sentences."""
    start = 0
    for end in _END.finditer(paragraph):
        if end[0][0] == "." and _SHORT_WORD.search(paragraph[start : end.start()]):
            continue
        one = paragraph[start : end.end()].strip()
        start = end.end()
        if one:
            yield one
    if paragraph[start:].strip():
        yield paragraph[start:].strip()


def _is_dated(sentence: str) -> bool:
    """Tell whether a sentence only says when: `Measured 2026-08-10.`"""
    return (
        any(c.isdigit() for c in sentence) and len(_LATIN.findall(_BESIDE.sub(" ", sentence))) < 3
    )


def _says(sentence: str) -> bool:
    """Tell whether a sentence says something: enough words, ids and numbers aside, some of them
    telling (`You must follow these rules exactly` has none), and no label.
    """
    plain = _BESIDE.sub(" ", sentence)
    latin = _LATIN.findall(RUN.sub(" ", plain))
    words = len(latin)
    characters = sum(len(run) for run in RUN.findall(plain))
    enough = 2 if _MORE.search(sentence) else 1
    if characters < _ENOUGH_ZH and sum(_tells(word.lower()) for word in latin) < _TELLING:
        return False
    return words * _ENOUGH_ZH + characters * _ENOUGH >= enough * _ENOUGH * _ENOUGH_ZH


def _tells(word: str) -> bool:
    return word not in DULL and not is_adverb(word)


def shortened(sentence: str) -> str:
    """Return at most 200 characters: a longer sentence ends at a clause, else at a word, with `…`;
    a colon that leads to what is not there any more goes.
    """
    sentence = sentence.strip()
    if len(sentence) <= MAX_SENTENCE:
        return sentence.rstrip(" :：")
    head = sentence[: MAX_SENTENCE - 1]
    ends = [hit.start() for hit in _CLAUSE_END.finditer(head) if hit.start() >= _CUT_FROM]
    head = head[: ends[-1]] if ends else cut(sentence, MAX_SENTENCE - 1)
    return f"{head.rstrip(' ,;:，；：、-–—')}…"


def _same(sentence: str, title: str) -> bool:
    """Tell whether a sentence says no more than the title."""
    said, known = _letters(sentence), _letters(title)
    return said == known or (len(said) <= len(known) and said in known)


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())
