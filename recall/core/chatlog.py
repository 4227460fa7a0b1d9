"""A conversation that was written down as plain text or markdown: who said what.

A speaker's name begins a line: `User: …`, `**Assistant:** …`, or stands in a heading or a line of
its own. What stands before the first one is nobody's; a text without any is all the user's.
"""

from __future__ import annotations

from collections.abc import Iterator

from recall.core.lazy import pattern
from recall.core.said import ASSISTANT, MOST, USER, Said

_SPEAKERS = {
    USER: "user human me you 用户 人类 ユーザー 사용자",
    ASSISTANT: (
        "assistant ai bot claude chatgpt gemini copilot codex qwen 助手 アシスタント 어시스턴트"
    ),
}
_WHO = {name: who for who, names in _SPEAKERS.items() for name in names.split()}
_NAMES = "|".join(sorted(_WHO, key=len, reverse=True))
_TURN = pattern(
    rf"(?im)^[ \t]*(?:#{{1,6}}[ \t]+)?(?:\*\*|__)?({_NAMES})(?:[ \t]+said)?"
    r"(?:[ \t]*\([^()\n]{0,60}\))?(?:\*\*|__)?(?:[ \t]*[:：](?:\*\*|__)?[ \t]*|[ \t]*$)"
)
_ALONE = pattern(r"(?:[ \t]*(?:#{1,6}[ \t]|\*\*|__))|.*[:：]")
"""A name without a colon counts only in a heading or in bold."""
_FENCE = pattern(r"(?m)^ {0,3}(```|~~~)")


def chat(text: str) -> list[Said]:
    """Return what was said, in order."""
    turns = list(_turns(text))
    if not turns:
        return [Said(USER, text.strip()[:MOST])] if text.strip() else []
    found = []
    ends = [start for start, _, _ in turns[1:]] + [len(text)]
    for (_, begin, who), end in zip(turns, ends, strict=True):
        said = text[begin:end].strip()
        if said:
            found.append(Said(who, said[:MOST]))
    return found


def _turns(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield where each turn's line starts, where what is said begins, and who speaks.

    What stands in a block of code is no turn.
    """
    fences = [mark.start() for mark in _FENCE.finditer(text)]
    open_blocks = list(zip(fences[::2], fences[1::2], strict=False))
    block = 0
    for mark in _TURN.finditer(text):
        start = mark.start()
        while block < len(open_blocks) and open_blocks[block][1] < start:
            block += 1
        inside = block < len(open_blocks) and open_blocks[block][0] < start
        if not inside and _ALONE.match(mark[0]):
            yield start, mark.end(), _WHO[mark[1].lower()]
