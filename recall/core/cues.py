"""The words by which a text shows its type or its category.

A table of words, so that each is bound on both sides: `club` is in no `clubs`, and `git` is found
in 使用git管理. A `*` stands for any ending.
"""

from __future__ import annotations

import re

from recall.core.lazy import pattern

Words = tuple[str, str]
"""English words and phrases, then Chinese ones; commas between."""

CATEGORIES: dict[str, Words] = {
    "common_pitfall": (
        "pitfall, pitfalls, gotcha, gotchas, beware, trap, traps, workaround, workarounds,"
        " known issue,"
        " known issues, caveat, caveats",
        "踩坑, 陷阱, 避坑, 常见错误",
    ),
    "important_decision": (
        "decision, decisions, decided, adr, trade-off, trade-offs, tradeoff, tradeoffs, we chose",
        "决定, 决策, 取舍, 选型",
    ),
    "testing_standard": (
        "test, tests, testing, unit test, unit tests, pytest, jest, test coverage, code coverage",
        "测试, 用例, 覆盖率",
    ),
    "code_standard": (
        "coding style, code style, style guide, naming convention, naming conventions, lint,"
        " linter,"
        " linting, formatter",
        "代码规范, 命名规范, 编码规范, 代码风格",
    ),
    "scm_configuration": (
        "git, branch, branches, commit, commits, merge, merges, merging, rebase, pull request,"
        " pull requests",
        "分支, 提交记录, 代码合并",
    ),
    "build_configuration": (
        "build, builds, compil*, deploy*, docker, dockerfile, makefile, ci, ci/cd, release process,"
        " packaging",
        "构建, 编译, 部署, 打包",
    ),
    "dependency_configuration": (
        "dependency, dependencies, package manager, lockfile, npm, pip",
        "依赖管理, 依赖包, 安装包, 第三方库",
    ),
    "environment_configuration": (
        "environment variable, environment variables, env var, env vars, dotenv, secrets",
        "环境变量, 环境配置",
    ),
    "ide_configuration": (
        "vs code, vscode, intellij, vim, neovim, emacs, editorconfig, android studio, xcode",
        "编辑器",
    ),
    "mcp_experience": ("mcp", ""),
    "tool_experience": (
        "cli, command line, command-line, command, commands, tool, tools, toolkit, script, scripts",
        "命令行, 命令, 工具, 脚本",
    ),
    "comment_standard": (
        "docstring, docstrings, code comment, code comments",
        "代码注释, 注释规范",
    ),
    "tech_stack": ("tech stack, technology stack, framework, frameworks", "编程语言, 技术栈"),
    "communication_preference": (
        "tone of voice, reply style, how to answer",
        "沟通, 语气, 回答方式",
    ),
    "behavior_habit": ("habit, habits, every day, every morning", "习惯"),
    "hobbies": ("hobby, hobbies", "爱好, 兴趣"),
    "task_summary": (
        "summary of, task summary, retrospective, postmortem, post-mortem",
        "完成情况, 任务总结, 复盘",
    ),
    "project_introduction": ("project, architecture, project overview", "项目, 架构"),
    "practice_standard": (
        "process, workflow, workflows, guideline, guidelines, policy, policies, best practice,"
        " best practices",
        "流程, 规范, 约定, 最佳实践",
    ),
}
"""Of what the taxonomy has. What stands first is preferred."""

USER: Words = (
    "the user prefers, the user likes, the user loves, the user hates, the user lives,"
    " the user works at, i prefer, i like, i love, i hate, i live, i work at, my name, my wife,"
    " my husband, my birthday, my home",
    "我喜欢, 我偏好, 我住在, 我叫, 我的名字, 用户喜欢, 用户偏好, 用户希望",
)
REFERENCE: Words = (
    "see also, documentation, reference, dashboard, endpoint, manual, api",
    "文档, 参考, 手册, 接口, 链接",
)
ADVICE = pattern(
    # An instruction begins its sentence, or a clause after a colon or a mark of a list.
    r"(?im)(?:^|[.!?;:]\s|^[ \t]*(?:[-*+]|\d+[.)])\s|\*\*)[ \t*_]*"
    r"(?:always|never|don['’]t|do not|must not|stop|avoid|prefer)[ \t]+[a-z]"
    r"|(?:^|[。！；：\n])[ \t\-*\d.]*(?:请?不要|禁止|务必|切勿|始终|总是|永远|必须先|一定要)"
)
"""What a memory of type feedback is made of: what to do and what not to do."""
ADVISED = pattern(
    r"(?im)^[ \t*_>-]*(?:why|how to apply)[*_]{0,2}:|\b(?:the user|operator|reviewer)\b.{0,40}\b(?:"
    r"asked|told|wants|corrected|insist(?:s|ed)|ruled|ruling)\b"
    r"|用户(?:要求|指出|纠正|强调)"
)
"""How a memory of type feedback tells whose advice it is."""


def compiled(words: Words) -> re.Pattern[str]:
    """Return what finds any of the words; the English ones whole, next to Chinese too."""
    english, chinese = (listed(part) for part in words)
    either = []
    if english:
        ends = "|".join(_one(word) for word in english)
        either.append(rf"(?<![A-Za-z0-9_])(?:{ends})(?![A-Za-z0-9_])")
    either += [re.escape(word) for word in chinese]
    return pattern(f"(?i){'|'.join(either)}")


def listed(words: str) -> list[str]:
    """Return the words of one line of the table."""
    return [word.strip() for word in words.split(",") if word.strip()]


def _one(word: str) -> str:
    return re.escape(word.removesuffix("*")) + (r"[a-z]*" if word.endswith("*") else "")
