"""What people say to an agent that is about nothing: greetings, thanks, consent, "the other one".

Closed classes of words, so a list holds them. They are dropped from a prompt before it is asked
what it is about; what is left may be nothing. Words that name things elsewhere (`go`, `next`) are
small talk only within their phrase (`go on`).
"""

from __future__ import annotations

import re

from recall.core.lazy import pattern

_PHRASES = (
    *("go on", "go ahead", "go for it", "carry on", "keep going", "move on", "do it", "do that"),
    *("do so", "try again", "try it", "try that", "once more", "thank you", "thanks a lot"),
    *("well done", "good job", "nice work", "sounds good", "looks good", "never mind"),
    *("no problem", "no worries", "of course", "got it", "i see", "that helps", "this helps"),
    *("that works", "this works", "it works", "makes sense", "good morning", "good evening"),
    *("good night", "good bye", "see you", "let us", "let's", "what next", "what now"),
    *("and now", "and then"),
)
_WORDS = (
    "ok okay k yes yep yeah yup no nope nah sure thanks thank thx ty please pls hi hello hey hiya "
    "great good nice cool perfect awesome excellent wonderful fine alright right exactly correct "
    "agreed indeed done continue proceed resume again sorry oops wow lgtm bye goodbye cheers well "
    "maybe perhaps anyway also then now really actually just stop wait undo other another one ones "
    "first second last previous former latter else both either neither thing things"
).split()
_CHINESE = (
    "你好 您好 大家好 早上好 晚上好 谢谢你 谢谢您 谢谢 多谢 感谢 好的 好吧 好了 可以了 "
    "可以 行吧 行了 没问题 没事 没关系 明白了 明白 知道了 知道 了解 懂了 是的 对的 对了 "
    "不对 不是 不用了 不用 不行 嗯嗯 继续吧 继续 接着 再来一次 再试一次 再试试 重试 "
    "下一步 下一个 上一个 另一个 另外一个 那个 这个 还有呢 然后呢 怎么样 太好了 很好 不错 "
    "完美 辛苦了 辛苦 抱歉 对不起 再见 拜拜 请 "
).split()

_LATIN = pattern(
    rf"(?<!\w)(?:{'|'.join(map(re.escape, (*_PHRASES, *_WORDS)))})(?!\w|[.+#/-]\w)", re.IGNORECASE
)
_HAN = pattern("|".join(map(re.escape, sorted(_CHINESE, key=len, reverse=True))))


def substance(prompt: str) -> str:
    """Return the prompt without small talk; blank where it is nothing else.

    Only words that stand for themselves are dropped: not `no-verify`, `next.js` or `ok_button`.
    """
    prompt = _LATIN.sub(" ", prompt)
    return prompt if prompt.isascii() else _HAN.sub(" ", prompt)
