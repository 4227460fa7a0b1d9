"""What type and category a memory has, by where it lies, what it says, and what is like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from recall.core.lazy import pattern
from recall.model import TAXONOMY, TYPES, UNCATEGORIZED, Memory

_NEIGHBOURS = 5
_ALIKE = 0.12
"""The least share of common terms at which another memory counts as like this one."""
_ENOUGH = 0.2
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
    """A memory that already has metadata of its own, as a guess compares it."""

    terms: frozenset[str]
    type: str
    category: str
    folder: str


def neighbour(memory: Memory) -> Neighbour:
    """Return a structured memory as a neighbour."""
    words = " ".join((memory.title, memory.description, *memory.keywords)).lower()
    return Neighbour(terms_of(words), memory.type, memory.category, folder_of(memory.path))


def terms_of(text: str) -> frozenset[str]:
    """Return the words of a text for comparing: those of three letters and more, and CJK pairs."""
    from recall.core.analysis import grams

    words = (word.strip(".,:;!?()[]\"'`") for word in text.lower().split())
    return frozenset((*(word for word in words if len(word) > 2), *grams(text).split()))


def folder_of(path: str) -> str:
    """Return the first folder below the root, empty for a file in the root itself."""
    return path.partition("/")[0] if "/" in path else ""


class Guesser:
    """Guesses from structured memories of the same scope; without any, from cues alone."""

    def __init__(self, neighbours: Iterable[Neighbour] = ()) -> None:
        self._neighbours = tuple(neighbours)
        self._by_folder: dict[str, Counter[str]] = {}
        for one in self._neighbours:
            if one.folder and one.category != UNCATEGORIZED:
                self._by_folder.setdefault(one.folder, Counter())[one.category] += 1

    def type(self, path: str, terms: frozenset[str], text: str) -> str:
        """Return the type: by the folder's name, by neighbours, by cues; a project's at last."""
        for part in path.lower().split("/")[:-1]:
            for kind in TYPES:
                if part in (kind, f"{kind}s"):
                    return kind
        near = _vote((share, one.type) for share, one in self._near(terms) if one.type in TYPES)
        if near:
            return near
        head = text[:1_500]
        counts = {kind: len(cues.findall(head)) for kind, cues in _TYPE_CUES}
        best = max(counts, key=lambda kind: counts[kind])
        return best if counts[best] >= 2 else "project"

    def category(self, path: str, terms: frozenset[str], title: str, text: str, kind: str) -> str:
        """Return the category: what the folder's memories have, the folder itself, what is like
        it, what the title and the text say, what the type suggests.
        """
        folder = folder_of(path)
        there = self._by_folder.get(folder)
        usual = min(there, key=lambda name: (-there[name], name)) if there else ""
        if there and there[usual] >= _FOLDER_SHARE * there.total():
            return usual
        if folder and not there and not folder.startswith("."):
            return _as_taxonomy(folder)
        near = _vote(
            (share, one.category)
            for share, one in self._near(terms)
            if one.category != UNCATEGORIZED
        )
        cues = near or _by_cues(title, text)
        return cues or usual or _BY_TYPE.get(kind, "project_introduction")

    def _near(self, terms: frozenset[str]) -> list[tuple[float, Neighbour]]:
        scored = []
        for number, one in enumerate(self._neighbours):
            common = len(terms & one.terms)
            if common:
                share = common / (len(terms) * len(one.terms)) ** 0.5
                if share >= _ALIKE:
                    scored.append((-share, number, one))
        return [(-share, one) for share, _, one in sorted(scored)[:_NEIGHBOURS]]


def _vote(near: Iterable[tuple[float, str]]) -> str:
    """Return the value for which the nearest ones speak, each as much as it is alike; empty where
    that is too little to go by.
    """
    weight: dict[str, float] = {}
    for share, value in near:
        weight[value] = weight.get(value, 0.0) + share
    best = max(weight, key=lambda value: weight[value], default="")
    return best if weight.get(best, 0.0) >= _ENOUGH else ""


def _by_cues(title: str, text: str) -> str:
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
