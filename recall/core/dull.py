"""Words that say nothing of what a text is about, of English and of Chinese.

Beside the function words of a question: plain verbs in all their forms, adverbs, nouns that fit any
subject, and what every document has (title, summary, 示例).
"""

from __future__ import annotations

from recall.core.question import STOP_WORDS

_ENGLISH = frozenset(
    """abc above absolutely across actual actually afterwards again ahead almost alone along
    already also although always another anybody anyone anything anyway anywhere apart around
    aside away back bad basic basically begin beginning behind below besides best better beyond
    bigger big bit both cannot case cc certain certainly clear clearly close closely common
    commonly complete completely context correct correctly current currently daily data day days
    de deep deeply detail details different directly doc docs done draft due dozen easily easy
    either else elsewhere end enough entire entirely especially etc even ever every everybody
    everyone everything exact exactly example examples except extra extremely false far fast few
    fewer file files final finally fine first five following forth forward four free frequently
    full fully further furthermore general generally glad good great half hard hardly heavily
    hello hence hi high higher highly hopefully hour hours however huge hundred id idea ideas
    important in-depth inside instance instead intro introduction issue issues item items its
    itself just kind kinds largely last late later latter least left less level likely likewise
    line lines little lot lots low lower mainly major making manner many matter matters maybe
    meanwhile mere merely middle might minute minutes moment month months moreover mostly much
    namely near nearly necessarily necessary neither never nevertheless new newly next nice nine
    no nobody none nonetheless normal normally note notes nothing notice nowadays null number
    numbers obvious obviously ok okay old older one ones onto opposite option optional order
    original originally others otherwise outside overall overview page pages part particular
    particularly parts past people per perhaps person piece place places plain plainly please
    plenty plus point points possible possibly potentially pretty previous previously prior
    probably problem problems proper properly purpose quick quickly quite rather ready real
    really reason reasons recent recently regardless relatively relevant respectively rest
    result results right rough roughly round rule rules same say second seconds section self
    separately seven several shall short shortly side significant similar similarly simple
    simply simultaneously since single six slightly small smaller some somebody somehow someone
    something sometimes somewhat somewhere soon sort specific specifically still stuff
    subsequent successfully such sufficient suddenly summary sure surely tedious ten text thank
    thanks thereby therefore thing things third thoroughly though thousand thousands hundreds
    millions dozens three throughout thus till time times tip tips title todo together today
    tomorrow tonight too top total totally toward towards true truly two twice type types
    typical typically ultimately unless unlike unlikely until upon upper useful user users usual
    usually valid value values various version versus via vice vs want way ways week weeks well
    whatever whenever whereas wherever whether whichever whoever whole whose wide wise within
    without word words worse worst worth wrong www year years yesterday yet documentation
    reference guide tutorial changelog usage readme step steps str against named myself yourself
    themselves com org html http https index url link links source sources status description
    date memory memories name names amp nbsp lt gt quot ndash mdash rarr larr hellip hr br div
    span img href src alt td tr th ul ol li""".split()
)
_VERBS = """accept achieve act add affect agree aim allow answer appear apply approach argue arrange
    arrive ask assume attempt avoid base become behave believe belong bring bump call care carry
    catch cause change choose claim clarify come complain compare concern confirm consider
    consist contain continue contribute cover create decide demand depend describe detect
    determine differ discuss do drop emit enable ensure enter establish exclude exist expect
    explain express fail fall feel fill find finish fit fix follow force forget gather get give
    go grow guess handle happen hear help hold hope imagine imply improve include increase
    indicate inform insist intend introduce involve keep know lack land lead learn leave let lie
    like list live look lose maintain make manage mark matter mean mention miss move need notice
    obtain occur offer operate own pass perform pick plan point prefer prepare present prevent
    proceed produce promise propose prove provide put raise reach read realize receive recognize
    reduce refer reflect regard rely remain remember require resolve respond return reveal rise
    rule run save say see seek seem serve set show sit solve speak specify spend stand start
    state stay stick stop suffer suggest suppose take talk tell tend think treat try turn
    understand use vary wait walk want watch win wish wonder work worry write""".split()
_IRREGULAR = """became begun brought began came caught chosen chose did does doing done drew
    drawn fallen fell felt found forgot forgotten gave given goes going gone gotten got grew
    grown heard held kept knew known laid led left lost made meant met paid proven put ran
    rose said sat saw seen sent shown shut slept sold sought spent spoke spoken stood stuck
    sung taken taught thought told took understood went won wore written wrote being having
    has had been were was am able unable dear isn ain don doesn didn wouldn couldn shouldn
    aren wasn weren hasn haven hadn must mustn needn shan mightn ll ve re""".split()


def _forms(verb: str) -> tuple[str, ...]:
    """Return a regular verb's forms; of a final consonant both the doubled one and the single."""
    if verb.endswith("e"):
        return (verb, f"{verb}s", f"{verb}d", f"{verb[:-1]}ing")
    if verb.endswith("y") and verb[-2] not in "aeo":
        return (verb, f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing")
    twice = verb + verb[-1]
    plural = f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "o")) else f"{verb}s"
    return (verb, plural, f"{verb}ed", f"{verb}ing", f"{twice}ed", f"{twice}ing")


VAGUE = frozenset(
    """base call case change context data day file follow id level memory person line link list
    name note number order page part plan point read result return rule run serve set source
    start state status stop time type user value version watch word work write""".split()
)
"""Dull alone but for a title, telling beside another word: `state machine`, `read replica`."""

DULL = STOP_WORDS | _ENGLISH | {form for verb in _VERBS for form in _forms(verb)} | {*_IRREGULAR}
"""English, lower-cased; those of VAGUE too."""
_NO_ADVERBS = frozenset(
    """anomaly assembly butterfly disassembly duopoly family firefly grizzly holly italy jelly
    monopoly multiply polly rally subfamily telly""".split()
)


def is_adverb(word: str) -> bool:
    """Tell whether a lower-cased English word is an adverb in -ly, which tells nothing."""
    return len(word) > 5 and word.endswith("ly") and not _is_other_ly(word)


def _is_other_ly(word: str) -> bool:
    """Tell of the verbs (`reply`, `supply`), and of nouns."""
    return word.endswith(("pply", "eply", "mply")) or word in _NO_ADVERBS


DULL_ZH = frozenset(
    """一下 一些 一定 一样 一次 一直 一种 一般 一致 一起 上述 上面 下列 下面 不会 不同 不是 不能
    不要 不错 中文 主要 之前 之后 之间 也许 了解 事情 二者 于是 些许 人们 什么 今天 介绍 他们
    以上 以下 以前 以后 以及 任何 任意 优势 优点 但是 作为 作用 作者 你们 使得 使用 例如 例子
    依次 依然 便于 保证 保持 信息 借助 值得 偶尔 做法 停止 允许 元素 充分 先后 全部 公司 关于
    关系 关键 具体 具备 具有 其中 其他 其它 其实 其次 内容 再次 写法 准备 出来 出现 分别 分享
    列出 列表 则会 判断 利用 到达 前提 前面 办法 功能 加上 动作 包含 包括 即使 即可 原因 原来
    原理 去掉 参考 参考资料 参见 参阅 友好 发现 发生 取消 变成 各种 各自 合适 同样 同时 后续
    后面 名称 否则 告诉 命名 哪些 回到 因为 因此 图片 在线 地方 坑 基于 基本 增加 处理 备注 多个
    多种 大家 大小 大概 大部分 失败 好像 如下 如何 如果 始终 存在 完全 完善 完成 完整 定义 实现
    实际 实践 容易 对于 对应 导致 将会 尝试 尤其 尽管 尽量 属于 差不多 已经 希望 带有 常用 常见
    常规 平时 并且 序号 应该 建议 开启 开头 开始 引入 引用 当前 形式 必要 必须 怎么 怎样 总之
    总体 总结 想要 意味着 意思 感觉 成为 成功 我们 或者 所以 所有 所示 扩展 执行 找到 承担 技巧
    技术 把握 拥有 指定 按照 换成 推荐 描述 提供 提到 提升 提示 提高 操作 收到 放在 效果 整个
    整体 整理 文本 文档 文章 文件 新增 方便 方向 方式 方法 无法 无论 日期 时候 时间 明显 是否
    是的 显示 显然 暂时 更加 更多 更新 最后 最大 最好 最小 最新 最终 最近 有关 有时 有时候 有点
    有着 服务 期望 本地 本文 本次 本篇 本身 材料 来自 来说 某个 查看 标注 标记 样子 核心 根据
    概述 概念 概览 模块 正在 正常 正文 正确 步骤 每个 每次 每种 比如 比较 没有 没法 法子 注意
    注意事项 涉及 清楚 满足 点击 然后 特别 特定 特性 特点 现在 理解 理解为 甚至 用于 用到 用户
    用来 由于 留意 的话 目标 目前 目录 目的 直接 直到 相关 相应 相当 看到 看看 知道 示例 示意图
    种类 称为 程度 稍微 立即 章节 符合 第一 第三 第二 等等 答案 管理 简介 简单 简要 类似 精力
    系列 结束 结果 结论 继续 综上 缺点 罢了 考虑 而且 而言 肯定 背景 能力 能够 自动 自己 自身
    自行 至于 若干 获取 获得 落地 虽然 行为 表示 表现 要求 见到 规定 角度 解决 解释 触发 认为
    记录 设置 证明 该项 详情 详细 语句 说明 说法 请求 请参阅 课程 调整 谁 起来 超过 跟着 路径
    转换 较为 输入 输出 达到 过来 过程 运行 返回 还是 还有 这个 这些 这样 这种 这里 进入 进行
    连接 选择 选项 通常 通过 逐渐 遇到 那么 那些 部分 配合 里面 重复 重新 重要 链接 错误 问题
    阅读 附录 限制 除了 随后 随着 难以 需求 需要 非常 面对 页面 顺便 顺序 预期 首先 默认 默认值
    件事 之一 多少 情况 哪里 导读 本章 本节 小结 前言 后记 用法 分类 语法 措施 须知 题外话 细节
    概况 事项 一写 没多久 一个 两个 三个 第一个 第二个 变得 变化 参数 变量 参与 不再 不仅 不过
    之类 如此 此外 此处 此时 另外 另一 只是 只要 只有 只能 可以 可能 可用 均可 采用 采取 涵盖
    适合 适用 旨在 致力 致力于 位于 看起来 不支持 支持 解读 浅谈 记一次 分析 学习 笔记 教程 指南
    手册 入门 快速 上手 下载 场景 类型 数据 数量 状态 版本 单位 编号 字段 格式 名字""".split()
)

VAGUE_ZH = frozenset(
    """数据 技术 模块 元素 信息 文件 功能 语句 版本 类型 状态 参数 变量 服务 错误 用户 目录 格式
    名字 名称 字段 编号 连接 输入 输出 管理 分析 操作 执行 记录 路径 转换 扩展 设置 处理 更新
    原理 学习 返回 限制 触发 调整 显示 图片 文本 列表 链接 行为 需求 时间 日期 目标 能力 关系
    本地 在线 页面 数量 下载 快速 默认 运行 选项""".split()
)
"""Dull alone, telling inside a longer term: 数据迁移, 事务状态."""
