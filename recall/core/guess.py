"""What type and category a memory has, by where it lies, what it says, and what is like it."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recall.core.lazy import pattern
from recall.model import TAXONOMY, TYPES, UNCATEGORIZED, Memory, Metadata, Taxonomy

_NEIGHBOURS = 7
_ALIKE, _ALIKE_TYPE = 0.04, 0.08
"""How near another memory must be to have a say: one category is rarely worse than a guess by
cues, while a type that few memories name is not everybody's."""
_FEW = 10
"""Memories that may share a term, whatever their share of all is."""
_FOLDER_SHARE = 0.6

_TYPE_CUES = (
    (
        "user",
        pattern(
            r"(?i)\b(?:I|the user|he|she|they) (?:prefers?|likes?|loves?|hates?|lives?|works? at)\b"
            r"|\bmy (?:name|wife|husband|birthday|home)\b"
            r"|我(?:喜欢|偏好|住在|叫|的名字)|用户(?:喜欢|偏好|希望)"
        ),
    ),
    (
        "feedback",
        pattern(
            r"(?i)\b(?:always|never|don't|do not|must not|stop doing|instead of|avoid|prefer)\b"
            r"|不要|禁止|务必|必须|应该|始终|总是|避免"
        ),
    ),
    (
        "reference",
        pattern(
            r"(?i)https?://|\b(?:see also|documentation|reference|dashboard|endpoint|manual|api)\b"
            r"|文档|参考|手册|接口|链接"
        ),
    ),
)
_CATEGORY_CUES = tuple(
    (category, pattern(cues))
    for category, cues in (
        (
            "common_pitfall",
            r"(?i)\bpitfalls?|gotchas?|beware|trap\b|workaround|known issue|踩坑|陷阱|注意事项",
        ),
        (
            "important_decision",
            r"(?i)\bdecisions?|decided|\badr\b|trade-?offs?|we chose|决定|决策|取舍|选型",
        ),
        (
            "testing_standard",
            r"(?i)\b(?:unit |integration )?tests?\b|pytest|jest|coverage|测试|用例|覆盖率",
        ),
        (
            "code_standard",
            r"(?i)\bcoding style|naming|lint(?:er|ing)?\b|formatt(?:er|ing)|代码规范|命名|格式化",
        ),
        (
            "scm_configuration",
            r"(?i)\bgit\b|branch(?:es)?\b|commits?\b|merge|rebase|pull request|分支|提交|合并",
        ),
        (
            "build_configuration",
            r"(?i)\bbuilds?\b|compil|deploy|release|docker|makefile|\bci\b|构建|编译|部署|发布|打包",
        ),
        ("dependency_configuration", r"(?i)\bdependenc|packages?\b|lockfile|npm|pip\b|依赖|安装包"),
        (
            "environment_configuration",
            r"(?i)environment variables?|\benv\b|\.env|secrets?\b|环境变量|环境配置",
        ),
        ("ide_configuration", r"(?i)\bvs ?code|intellij|\bvim\b|editorconfig|编辑器|插件"),
        ("mcp_experience", r"(?i)\bmcp\b"),
        ("tool_experience", r"(?i)\bcli\b|commands?\b|tools?\b|script|命令|工具|脚本"),
        ("comment_standard", r"(?i)\bdocstrings?|code comments?|注释"),
        ("tech_stack", r"(?i)\bstack\b|framework|written in|语言|框架|技术栈"),
        ("communication_preference", r"(?i)\banswers?\b|tone|repl(?:y|ies)|explain|回答|语气|沟通"),
        ("behavior_habit", r"(?i)\bhabit|usually|every (?:day|morning)|习惯|通常"),
        ("hobbies", r"(?i)\bhobb(?:y|ies)|plays?\b|club|爱好|兴趣"),
        ("task_summary", r"(?i)\bsummary of|completed|finished|done on|完成情况|任务总结|总结"),
        ("project_introduction", r"(?i)\bproject\b|architecture|overview|项目|架构|概述"),
        ("practice_standard", r"(?i)\bprocess|workflow|guidelines?|policy|流程|规范|约定"),
    )
)
_BY_TYPE = {
    "user": "basic_information",
    "feedback": "practice_standard",
    "project": "project_introduction",
    "reference": "tool_experience",
}


class Neighbour(NamedTuple):
    """A memory that has a category or a type of its own, as a guess compares it."""

    terms: frozenset[str]
    type: str
    category: str
    folder: str


Near = tuple[float, Neighbour]
"""How near another memory is, 0 to 1, and that memory."""


def neighbour(memory: Memory) -> Neighbour:
    """Return a structured memory as a neighbour, by its metadata alone."""
    about = (memory.title, memory.description, *memory.keywords)
    category = "" if memory.category == UNCATEGORIZED else memory.category
    return Neighbour(terms_of(" ".join(about)), memory.type, category, folder_of(memory.path))


def neighbour_of(known: Metadata, path: str, said: Iterable[str] = ()) -> Neighbour:
    """Return a file as a neighbour: by what its own head says, which may be a part of what a
    memory needs, and by the words that its body stands for.
    """
    about = (known.title, known.description, *known.keywords, *said)
    category = known.category.partition("/")[0].strip()
    return Neighbour(terms_of(" ".join(about)), known.type, category, folder_of(path))


def terms_of(text: str) -> frozenset[str]:
    """Return the words of a text for comparing: those of three letters and more, and CJK pairs."""
    from recall.core.analysis import grams

    words = (word.strip(".,:;!?()[]\"'`") for word in text.lower().split())
    return frozenset((*(word for word in words if len(word) > 2), *grams(text).split()))


def folder_of(path: str) -> str:
    """Return the first folder below the root, empty for a file in the root itself."""
    return path.partition("/")[0] if "/" in path else ""


class Guesser:
    """Guesses from other memories of the same scope; without any, from cues alone."""

    def __init__(self, neighbours: Iterable[Neighbour] = ()) -> None:
        """`neighbours` that have neither a category nor a type are passed over."""
        self._neighbours = tuple(one for one in neighbours if one.category or one.type)
        self._by_folder: dict[str, Counter[str]] = {}
        self._with: dict[str, list[int]] = {}
        for number, one in enumerate(self._neighbours):
            if one.folder and one.category:
                self._by_folder.setdefault(one.folder, Counter())[one.category] += 1
            for term in one.terms:
                self._with.setdefault(term, []).append(number)
        self._names = sorted({one.category for one in self._neighbours if one.category})
        self._norms = [self._norm(one.terms) for one in self._neighbours]

    def type(self, path: str, near: Sequence[Near], text: str) -> str:
        """Return the type: by the folder's name, by neighbours, by cues; a project's at last."""
        for part in path.lower().split("/")[:-1]:
            for kind in TYPES:
                if part in (kind, f"{kind}s"):
                    return kind
        like = _vote(
            (share, one.type) for share, one in near if share >= _ALIKE_TYPE and one.type in TYPES
        )
        if like:
            return like
        head = text[:1_500]
        counts = {kind: len(cues.findall(head)) for kind, cues in _TYPE_CUES}
        best = max(counts, key=lambda kind: counts[kind])
        return best if counts[best] >= 2 else "project"

    def category(
        self, path: str, near: Sequence[Near], terms: frozenset[str], text: str, kind: str
    ) -> str:
        """Return the category: what the folder's memories have, what is like it, the folder
        itself, what the text, its title in the first line, says, what the type suggests.
        """
        folder = folder_of(path)
        there = self._by_folder.get(folder)
        usual = min(there, key=lambda name: (-there[name], name)) if there else ""
        if there and there[usual] >= _FOLDER_SHARE * there.total():
            return usual
        if folder and not there and not folder.startswith((".", "_")):
            return _as_taxonomy(folder)
        like = self._named(terms) or _vote((share, one.category) for share, one in near)
        return like or _by_cues(text) or usual or by_cues_or_type(text, kind)[0]

    def _named(self, terms: frozenset[str]) -> str:
        """Return the category in use whose name is one of the terms; '' where none or several."""
        named = [name for name in self._names if name.lower() in terms]
        return named[0] if len(named) == 1 else ""

    def near(self, terms: frozenset[str]) -> list[Near]:
        """Return the memories most like these terms, the nearest first, each with how near."""
        common: dict[int, float] = {}
        for term in terms:
            weight = self._weight(term)
            for number in self._with.get(term, ()) if weight else ():
                common[number] = common.get(number, 0.0) + weight
        least = _ALIKE * self._norm(terms)
        alike = [
            (round(weight / (least / _ALIKE * self._norms[number]), 9), -number)
            for number, weight in common.items()
            if weight >= least * self._norms[number]
        ]
        return [(share, self._neighbours[-i]) for share, i in heapq.nlargest(_NEIGHBOURS, alike)]

    def _weight(self, term: str) -> float:
        """Return what it tells that two memories have the term in common: more if few have it,
        and nothing where one in four does.
        """
        holding, known = len(self._with.get(term, ())), len(self._neighbours)
        if holding > _FEW and 4 * holding > known:
            return 0.0
        return math.log(1 + known / (holding or 1)) ** 2

    def _norm(self, terms: frozenset[str]) -> float:
        return math.sqrt(math.fsum(self._weight(term) for term in terms)) or 1.0


def _vote(votes: Iterable[tuple[float, str]]) -> str:
    """Return the value that the nearest have, each counting by how near it is; '' without any."""
    sums: dict[str, float] = {}
    for share, value in votes:
        if value:
            sums[value] = sums.get(value, 0.0) + share
    return max(sums, key=lambda value: sums[value], default="")


def by_cues_or_type(text: str, kind: str) -> tuple[str, ...]:
    """Return the categories that a text suggests by itself, the better one first."""
    by_type = _BY_TYPE.get(kind, "project_introduction")
    said = _by_cues(text)
    return (said, by_type) if said else (by_type,)


def within(taxonomy: Taxonomy, categories: Iterable[str]) -> str:
    """Return the first category that a strict taxonomy knows."""
    return next((one for one in categories if one in taxonomy.names), UNCATEGORIZED)


def _by_cues(text: str) -> str:
    title = text.partition("\n")[0]
    for category, cues in _CATEGORY_CUES:
        if cues.search(title):
            return category
    head = text[:1_500]
    counts = {category: len(cues.findall(head)) for category, cues in _CATEGORY_CUES}
    best = max(counts, key=lambda category: counts[category])
    return best if counts[best] >= 2 else ""


def _as_taxonomy(folder: str) -> str:
    """Return the taxonomy's category that the folder is named after, else the folder's own name."""
    plain = folder.lower().replace("-", "_").replace(" ", "_").rstrip("s")
    for category in TAXONOMY:
        if plain == category.rstrip("s"):
            return category
    return folder
