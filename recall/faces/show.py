"""Results of search_memory as text for people."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from recall.core import sink

NO_ROOTS = (
    "There is no memory folder yet. Make one: mkdir -p .recall/memory for this project's memories, "
    "~/.recall/memory for yours; or adopt a coding agent's: recall init --host auto; or name one: "
    "--root DIR."
)
_MARGIN = "    "
_SHOWN_TITLE = 200
_BREAKS = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """Return what a person must know of the source: only what is not as it should be."""
    if not status["searchedScopes"] and not status["incompleteScopes"]:
        return [NO_ROOTS]
    out = [
        f"! scope {one['scope']} is unavailable: {one['reason']}"
        for one in status["unavailableScopes"]
        if one["reason"] != "disabled"
    ]
    for one in status["incompleteScopes"]:
        found = one.get("discovered")
        known = f", {found} known" if found is not None else ""
        out.append(
            f"! scope {one['scope']} is incomplete: {one['reason']} ({one['returned']} read{known})"
        )
    if status["freshness"]["state"] == "stale":
        seconds = status["freshness"].get("ageMs", 0) / 1000
        out.append(f"! another process is refreshing; this is {seconds:.1f} s old")
    if status.get("skippedTotal"):
        files = count(status["skippedTotal"], "file", "files")
        out.append(f"! {files} skipped; recall doctor says why")
    return out


def count(number: int, one: str, many: str) -> str:
    """Return `1 file` or `2 files`."""
    return f"{number} {one if number == 1 else many}"


def title(text: str) -> str:
    """Return what a memory or a proposal is called on one line of at most 200 characters."""
    return sink.metadata(text, _SHOWN_TITLE)


def name(text: str) -> str:
    """Return a file's name on one line: a line break in it can't begin another."""
    return text.translate(_BREAKS)


def fetched(answer: Mapping[str, Any], hint: str) -> list[str]:
    """Return the lines of a fetch; `hint` is the command that a continuation repeats."""
    out: list[str] = []
    for result in answer["results"]:
        out.append(_headline(result))
        out += _window(result, hint)
        out.append("")
    return out + _warnings(answer)


def searched(answer: Mapping[str, Any], hint: str) -> list[str]:
    """Return the lines of a search."""
    out: list[str] = []
    for number, result in enumerate(answer["results"], 1):
        out.append(f"{number}. {result['title']}")
        out.append(f"   {_headline(result)}")
        for match in result["matches"]:
            source = match["source"].replace("_", " ")
            part = ", in part" if match.get("partial") else ""
            out.append(f"   {match['kind']} in {source}{part}: {match['keyword']}")
        out += _window(result, hint)
        out.append("")
    return out + _warnings(answer) + _history(answer.get("history"))


def _history(history: Mapping[str, Any] | None) -> list[str]:
    """Return what past conversations have to say, apart from the memories."""
    if history is None:
        return []
    them = count(history["conversations"], "conversation", "conversations")
    left = f", {history['unread']} not read" if history.get("unread") else ""
    out = ["", f"--- history: {them} looked through{left}"]
    out += _wrapped(history["note"]) if history["results"] else ["Nothing was said about it."]
    for said in history["results"]:
        at = said["at"][:16].replace("T", " ")
        out += ["", f"{said['who']}, {at}, {said['host']} {said['conversation']}"]
        out += [f"{_MARGIN}│ {line}" for line in said.get("text", "").splitlines()]
    return out


def explored(answer: Mapping[str, Any], hint: str) -> list[str]:
    """Return the lines of an exploration."""
    out: list[str] = []
    for node in answer.get("router", ()):
        out.append(f"{node['category']} ({node['total']})")
        if node.get("keywords"):
            more = f", … {node['hiddenKeywordCount']} more" if node["hiddenKeywordCount"] else ""
            out += _wrapped("keywords: " + ", ".join(node["keywords"]) + more)
    if "nextCursor" in answer:
        out.append(f"more: {hint} --cursor {answer['nextCursor']}")
    for branch in answer["branches"]:
        out.append(f"{branch['category']} ({branch['total']})")
        for leaf in branch["leaves"]:
            out.append(f"  [{leaf['ref']}] {leaf.get('title', '')}")
            if leaf.get("description"):
                out += _wrapped(leaf["description"])
            if leaf.get("keywords"):
                out += _wrapped("keywords: " + ", ".join(leaf["keywords"]))
        if "nextCursor" in branch:
            name = shlex.quote(branch["category"])
            out.append(f"  more: {hint} {name} --cursor {branch['nextCursor']}")
        out.append("")
    return out + _warnings(answer)


def _headline(result: Mapping[str, Any]) -> str:
    place = ""
    if "range" in result:
        run = result["range"]
        place = f"  characters {run['start']:,}–{run['end']:,} of {run['total']:,}"
    return f"[{result['ref']}]{place}  {result['version']}"


def _window(result: Mapping[str, Any], hint: str) -> list[str]:
    out: list[str] = []
    if result.get("alreadyAvailable"):
        out.append(_MARGIN + "(already handed over)")
    if "readLimitMessage" in result:
        out.append(_MARGIN + result["readLimitMessage"])
    for line in result.get("content", "").splitlines():
        out.append(f"{_MARGIN}│ {line}")
    ref = shlex.quote(result["ref"])
    for name, label in (("previousCursor", "before"), ("nextCursor", "more")):
        if name in result:
            out.append(f"{_MARGIN}{label}: {hint} {ref} --cursor {result[name]}")
    return out


def _warnings(answer: Mapping[str, Any]) -> list[str]:
    return [f"! {warning}" for warning in answer.get("warnings", ())]


def _wrapped(text: str) -> Iterable[str]:
    width = max(40, min(100, shutil.get_terminal_size().columns) - len(_MARGIN))
    return textwrap.wrap(text, width, initial_indent=_MARGIN, subsequent_indent=_MARGIN)
