"""Headings and file names that are no title: they fit any document (`Overview`, `README`, 背景), or
say only when (`2026-06-03`).
"""

from __future__ import annotations

from recall.core.lazy import pattern

_DULL = frozenset(
    line.strip()
    for line in """
    readme, read me, index, skill, skills, note, notes, untitled, document, doc, main, home, page
    title, overview, an overview, introduction, intro, preface, foreword, about
    about this document, summary, tl;dr, tldr, abstract, background, context, motivation, purpose
    goal, goals, objective, objectives, scope, description, details, definition, problem
    the problem, problem statement, issue, symptom, symptoms, cause, root cause, causes, solution
    solutions, the solution, fix, resolution, conclusion, conclusions, result, results, discussion
    requirement, requirements, prerequisites, what, why, how, what is this, what is it
    what it does, why this matters, how it works, how to use, how to use it, getting started
    quick start, quickstart, installation, install, setup, set up, usage, basic usage
    instructions, example, examples, features, key features, options, parameters, arguments
    returns, return value, remarks, see also, references, reference, further reading, related
    links, resources, table of contents, contents, toc, changelog, change log, history, todo
    to do, faq, status, update, license, contributing, acknowledgements, authors, credits
    appendix, template, draft, new note, memo, when to use, when to use this skill
    when not to use, use cases, core concepts, key points, metadata, next steps, steps, step 1
    part 1, chapter 1, section 1, rule, the rule, rationale, role, capabilities, 概述, 概览, 简介
    介绍, 引言, 前言, 序, 序言, 背景, 背景介绍, 摘要, 总结, 小结, 结论, 结语, 后记, 目录, 内容
    说明, 使用说明, 描述, 定义, 问题, 问题描述, 问题背景, 现象, 问题现象, 原因, 原因分析, 分析
    解决, 解决方法, 解决方案, 解决办法, 实现, 实现方法, 实现方式, 实现步骤, 方法, 步骤, 操作步骤
    用法, 使用, 使用方法, 使用场景, 如何使用, 安装, 快速开始, 快速入门, 快速上手, 入门, 开始, 环境
    准备, 准备工作, 前提, 前提条件, 前置条件, 示例, 例子, 参数, 参数说明, 输入参数, 输出参数
    返回值, 特性, 功能, 功能特性, 目标, 目的, 需求, 参考, 参考资料, 参考链接, 参考文献, 相关链接
    相关阅读, 链接, 附录, 更新日志, 变更记录, 常见问题, 常见问题及解决方案, 注意, 注意事项, 备注
    笔记, 文档, 未命名, 无标题, 首页, 模板, 更多, 其他, 其它, 写在前面, 写在最后, 正文, 核心概念
    效果, 效果图
    """.replace("\n", ",").split(",")
    if line.strip()
)
_FRAME = pattern(
    r"^[\W_]*(?:\d{1,2}(?:\.\d{1,2})*[.、)）:：]?\s+|[一二三四五六七八九十]{1,3}[、.]\s*)?"
    r"|[\s:：.。!！?？_-]+$"
)
_LONGEST = 40
_TIME = pattern(
    r"(?i)(?:\W|\d|年|月|日|号|周.|星期.|t|st|nd|rd|th"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|week|daily|log)+"
)


def heading_of(text: str) -> str:
    """Return a heading without what frames it: dashes and colons at its ends."""
    return text.strip(" \t:：-–—")


def is_dull_heading(text: str) -> bool:
    """Tell whether a heading or a name would fit any document, or says only when."""
    bare = _FRAME.sub("", text[: 2 * _LONGEST]).casefold()
    if len(bare) > _LONGEST:
        return False
    return bare in _DULL or not any(c.isalpha() for c in bare) or _TIME.fullmatch(bare) is not None
