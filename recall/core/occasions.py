"""The occasions to read a memory: what its text says of when it is used, in whole clauses.

A list below `When to use`; `Use when …` of its description; clauses that begin with `when`,
`before` or end with 时, 之前, where they are about what the memory is about. A clause begins and
ends where the text has punctuation, or it is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from recall.core.analysis import RUN, grams
from recall.core.dull import DULL
from recall.core.lazy import pattern
from recall.core.metadata import MAX_SCENARIO, MAX_SCENARIOS
from recall.core.paragraphs import Paragraph

_SHORTEST, _SHORTEST_ZH = 12, 6
_LEAST_WORDS = 4
_TOPIC, _TOPIC_ZH, _TOPIC_WORDS = 40, 20, 6
"""A longer title is a sentence, not a topic."""
_STEM = 5

_BOUNDARY = pattern(
    r"[.!?;:,](?=[\s\"'”’)\]]|$)|\s[-–—]+\s|[—…()\[\]\"“”→]|[，。；！？：（）「」『』【】《》]"
)
_SENTENCE = pattern(r"[.!?](?=\s|$)|[。！？；]")
_WORD = pattern(r"[A-Za-z][A-Za-z0-9'’-]*")

_USES = pattern(
    r"(?i)(?:when to (?:use|apply|read|activate|trigger|invoke)\b.{0,40}|when (?:should )?(?:you"
    r"|i|we) .{0,20}use .{0,30}"
    r"|(?:common |typical )?use[- ]cases?|usage scenarios?|triggers?|when (?:this|it) applies"
    r"|applies when"
    r"|(?:use|read|apply) (?:this|it|the skill)?\s*(?:when|for|if)"
    r"|(?:适用|使用|应用|典型|触发|常见)(?:的)?(?:场景|时机|条件|情况|范围)|何时(?:使用|触发)"
    r"|什么时候(?:使?用|触发))"
    r"(?:说明|有哪些)?"
)
_NOT = pattern(r"(?i)\bnot\b|don.t|不")
_USE_WHEN = pattern(
    r"(?i)(?:^|[.!?;:。，；]\s*|\bshould be )(?:use[sd]?|apply|invoke|read|trigger(?:s|ed)?"
    r"|activate[sd]?|consult)"
    r"(?: (?:this|it|the|only|automatically|skill|agent|proactively|memory|guide|when needed)){0,3}"
    r" (when(?:ever)?|if|for)\b:?\s+"
)
_NUMBERED = pattern(r"\(\d\)|(?<!\S)\d[.)]\s|\s[-•]\s|[①-⑨]")
_OPENS = pattern(
    r"(?i)(?:(?:when(?:ever)?|before)\s+\S|(?:after|while)\s+[a-z]+ing\b"
    r"|if\s+(?:you|we|the user|a user|users|someone|anyone|an? agent|asked)\b)"
)
_INSIDE = pattern(r"(?i)\b(?:before|when)\s+(?!during|nothing|anything|something)[a-z-]+ing\b.*")
_POINTS_BACK = pattern(
    r"(?i)\S+\s+(?:it|its|this|that|these|those|they|them|he|she|so|not|both|either|one|none"
    r"|neither|nothing"
    r"|yes|no|all|each|some|such|same|there|then|i|and|or|to|in|on|at|of|for|by|with|from)\b"
)
_TELLS_OF_ONCE = pattern(
    r"(?i)\b(?:was|were|had|did|above|below|ago|today|yesterday|earlier|later|i|my)\b"
    r"|\b(?:you|we|they|he|she|it)\s+[a-z]+ed\b|#\d|\b(?=[a-f]*\d)[0-9a-f]{7,}\b|\d{4}-\d\d"
)
_ODD = pattern(r"[{}\[\]<>|=\\#$^~*@`\"“”]|::|\(\)|[.,:;]$|\s/|/\s")
_DANGLES = frozenset(
    """a an the and or but nor of to in on at by for with from into onto over under as is are be
    been being that which who whose whether than then not no its their your our his her my
    this these those it has have will would can could may might must should do does only also
    very""".split()
)

_JOINERS_ZH = pattern(
    r"^(?:但是?|而且?|所以|因此|然后|并且?|例如|比如|另外|此外|同时|即|则|那么|其中|因为|由于"
    r"|不过|尤其是?|特别是"
    r"|通常|一般|建议|注意|可以|请|只有|仅|且|或者?|以及|也就是说?|默认情况下|另|首先|其次|最后"
    r"|从而)+"
)
_CLAUSE_ZH = pattern(r".+(?:的时候|之前|之后|时)")
_NO_CLAUSE_ZH = pattern(
    r".*(?:此|这|那|同|当|有|随|及|按|实|小|暂|临|平|届|超|延|定|耗|准|即|费|不|顿|何|到|分|工|课"
    r"|历|零|限|计|多"
    r"|长|短|过|用|省|运行|响应|等待|花费|所需|了|是|这之|那之|在此之|除此之|在这之|在那之|之)时$"
    r"|.*(?:此|这|那|除此)(?:之前|之后)$"
    r"|.*(?:了|我|你们|昨天|今天|上述|以上|如下|该|这|那|它|其|此|是)"
    r"|(?:修复|解决|支持|优化|改进|避免|新增|增加|提升|减少|降低|提高|添加|增强|移除|禁止|导致|的"
    r"|不|和|与|或|及|等|后"
    r"|\d|[-+*/.])"
)
_INNER_ZH = pattern(r".+?(?:当|在(?!线))")
_HOW_ZH = pattern(
    r"^(?:(?:本(?:文|文档|章|节|页)|主要|将|会|详细)*(?:介绍|了解|学习|说明|描述|讲述|记录|教你"
    r"|展示|演示)了?)?"
    r"(?:如何|怎么|怎样)(?P<what>[^如何]{3,})$"
)
_HOW = pattern(
    r"(?i)^(?:(?:(?:this|the)\s\S+\s)?(?:learn|describes?|explains?|shows?|covers?|guide to"
    r"|a guide on)\s)?"
    r"how to (?P<what>[a-z].{5,})$"
)
_CLOSERS = pattern(r"（[^（）]*）|\([^()]*\)|〔[^〔〕]*〕")
_TO_DO_ZH = pattern(
    r"(?:使用|升级|更新|安装|部署|配置|给|用|通过|从|将|把|在|让|提升|优化|迁移|查看|管理|设置"
    r"|创建|修改|删除|解决|处理|编写"
    r"|开发|构建|搭建|扩容|缩容|连接|导入|导出|切换|调试|排查|实现|定制|制作|替换|禁用|启用"
    r"|限制)(?![和与及、的])"
    r".{2,}(?<!概述)(?<!概览)(?<!指南)(?<!教程)(?<!介绍)(?<!说明)(?<!语句)(?<!小结)(?<!总结)(?<!方法)(?<!问题)(?<!答案)"
    r"(?<!笔记)(?<!方案)(?<!实践)(?<!步骤)(?<!技巧)(?<!参数)(?<!页面)(?<!流程)(?<!工具)"
)
_LOOKING = {"reference": "looking up", "feedback": "before work on", "user": "talking about"}


def scenarios(
    title: str, description: str, text: Sequence[Paragraph], topics: Sequence[str], kind: str
) -> tuple[str, ...]:
    """Return one to three occasions, each at most 64 characters: the text's own, else one that
    names what the memory is about. `topics` are its keywords, the best first.
    """
    about = _about((title, *topics))
    kept: dict[str, str] = {}
    for one in _found(title, description, text, about):
        plain = one.strip(" ,，、'’*_·")
        if plain and not _is_cut(plain):
            kept.setdefault(plain.casefold(), plain)
        if len(kept) == MAX_SCENARIOS:
            break
    return tuple(kept.values()) or (_looking(title, description, topics, kind),)


def _found(
    title: str, description: str, text: Sequence[Paragraph], about: frozenset[str]
) -> Iterator[str]:
    yield from _listed(text)
    yield from _use_when(description)
    for one in text:
        if one.kind != "heading":
            yield from _use_when(one.text)
    for words in (title, description):
        yield from _how_to(words)
    yield from _clauses(description)
    for one in text:
        if one.kind != "heading":
            yield from (clause for clause in _clauses(one.text) if _about((clause,)) & about)


def _listed(text: Sequence[Paragraph]) -> Iterator[str]:
    """Yield the items below a heading, or a line, such as `When to use`."""
    below = False
    for one in text:
        if one.kind == "item":
            if below:
                yield from _fitting(one.text)
        else:
            below = _USES.fullmatch(one.text.strip(" :：")) is not None and not _NOT.search(
                one.text
            )


def _use_when(words: str) -> Iterator[str]:
    """Yield what follows `Use when`, `Use for`: one occasion, or the items of a list."""
    for hit in _USE_WHEN.finditer(words):
        if _NOT.search(words[max(0, hit.start() - 12) : hit.end()]):
            continue
        rest = words[hit.end() :]
        joint = hit[1].lower()
        if _NUMBERED.match(rest.lstrip()) or len(_NUMBERED.findall(rest)) > 1:
            for item in _NUMBERED.split(rest)[: MAX_SCENARIOS + 1]:
                yield from _fitting(item.strip(" -,;."))
            return
        for item in _fitting(_SENTENCE.split(rest)[0]):
            whole = item if joint == "for" else f"{joint} {item}"
            if len(whole) <= MAX_SCENARIO and not _points_back(whole):
                yield whole


def _fitting(words: str) -> Iterator[str]:
    """Yield the words, else their first clause, where that says something in 64 characters."""
    words = _CLOSERS.sub("", words).strip(" .;,。；，")
    first = words if len(words) <= MAX_SCENARIO - 8 else _BOUNDARY.split(words)[0].strip()
    least = _SHORTEST_ZH if RUN.search(first) else _SHORTEST
    if least <= len(first) <= MAX_SCENARIO and not _ODD.search(first):
        yield first


def _how_to(words: str) -> Iterator[str]:
    """Yield what a text teaches: `How to deploy`, 介绍如何部署."""
    first = _BOUNDARY.split(words)[0].strip()
    found = _HOW_ZH.match(first)
    if found and len(found["what"]) < MAX_SCENARIO - 2:
        what = found["what"]
        yield f"{what}时" if RUN.match(what[-1]) else f"{what} 时"
    found = _HOW.match(first)
    if found and len(found["what"]) < MAX_SCENARIO - 4 and not _ODD.search(found["what"]):
        yield f"to {found['what']}"


def _clauses(words: str) -> Iterator[str]:
    for part in _BOUNDARY.split(_CLOSERS.sub("", words)):
        clause = " ".join(part.split())
        if RUN.search(clause):
            yield from _chinese(clause)
        else:
            yield from _english(clause)


def _english(clause: str) -> Iterator[str]:
    """Yield a clause of time or condition; `before rotating it` also behind its main clause."""
    if not _OPENS.match(clause):
        inside = _INSIDE.search(clause)
        if inside is None:
            return
        clause = inside[0]
    clause = clause[:1].lower() + clause[1:]
    words = clause.split()
    if len(words) < _LEAST_WORDS or not _SHORTEST <= len(clause) <= MAX_SCENARIO:
        return
    if _points_back(clause) or _TELLS_OF_ONCE.search(clause) or _ODD.search(clause):
        return
    yield clause


def _points_back(clause: str) -> bool:
    return _POINTS_BACK.match(clause) is not None


def _chinese(clause: str) -> Iterator[str]:
    clause = _JOINERS_ZH.sub("", clause).strip()
    if not _SHORTEST_ZH <= len(clause) <= MAX_SCENARIO or not _CLAUSE_ZH.fullmatch(clause):
        return
    if _NO_CLAUSE_ZH.match(clause) or _INNER_ZH.match(clause) or _ODD.search(clause):
        return
    yield clause


def _is_cut(clause: str) -> bool:
    """Tell whether words are missing at the end."""
    last = _WORD.findall(clause)[-1:] if clause.isascii() else []
    return bool(last) and last[0].lower() in _DANGLES


def _about(texts: Iterable[str]) -> frozenset[str]:
    """Return what texts are about, for comparing: the beginnings of words, CJK pairs."""
    found: set[str] = set()
    for text in texts:
        words = (word.lower() for word in _WORD.findall(text))
        found.update(word[:_STEM] for word in words if len(word) > 1 and word not in DULL)
        found.update(grams(text).split())
    return frozenset(found)


def _looking(title: str, description: str, topics: Sequence[str], kind: str) -> str:
    """Return an occasion that names the memory's topic, and what else is in it where that fits."""
    chinese = RUN.search(title) or RUN.search(description)
    plain = title.strip(" .!?。！？")
    short = len(plain) <= (_TOPIC_ZH if RUN.search(plain) else _TOPIC)
    if not short or len(plain.split()) > _TOPIC_WORDS or _BOUNDARY.search(plain):
        plain = ""
    if chinese and plain and _TO_DO_ZH.fullmatch(plain):
        return f"{plain}时" if RUN.match(plain[-1]) else f"{plain} 时"
    more = [one for one in topics if one.casefold() not in plain.casefold()]
    named = (plain or more[0], *(more if plain else more[1:]))
    if not chinese:
        return _joined(f"{_LOOKING.get(kind, 'working on')} ", ", ", named)
    return _joined("查找" if RUN.match(named[0]) else "查找 ", "、", named)


def _joined(opens: str, joint: str, named: Sequence[str]) -> str:
    """Return as many of at most three names as fit."""
    for count in (3, 2, 1):
        whole = opens + joint.join(named[:count])
        if len(whole) <= MAX_SCENARIO:
            return whole
    return f"{whole[: MAX_SCENARIO - 1].rstrip()}…"
