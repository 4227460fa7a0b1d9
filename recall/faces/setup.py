"""The commands around reading: init, status, doctor."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from recall import app
from recall.core import modes
from recall.core.snapshot import Snapshot
from recall.disk import adopt, heartbeat, initfile, places
from recall.disk.catalog import FileFaults
from recall.disk.config import Loaded
from recall.errors import SettingsError
from recall.faces import migrated, show
from recall.faces.cli import EXIT_OK, Common, common_options, emit, exit_code, say, warn
from recall.model import Skipped

_HOSTS = (*adopt.HOSTS, "auto")


@click.command()
@click.option(
    "--host",
    type=click.Choice(_HOSTS),
    help="Adopt the memory folders that this coding agent keeps; auto looks for all of them.",
)
@click.option("--project", "for_project", is_flag=True, help="Write the project's file instead.")
@click.option("--trust", is_flag=True, help="Trust this project: its team memories are read.")
@click.option("--force", is_flag=True, help="Start from the commented defaults again.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, write nothing.")
@common_options
def init(
    common: Common, host: str | None, for_project: bool, trust: bool, force: bool, dry_run: bool
) -> int:
    """Write a commented settings file, adopting existing memory folders.

    Without options, your own file is written. Folders named by --root, and those of a --host, are
    listed in it for the project that you are in; nothing in them is moved or changed.
    """
    if for_project and (host or trust or common.roots):
        raise click.UsageError(
            "A project's file can't name folders or trust itself: leave --project out."
        )
    cwd, home = Path.cwd(), places.home_folder(os.environ)
    project = places.find_project(cwd, home)
    found = adopt.find_host_roots(host, project.folder, home, env=os.environ)
    found += adopt.named_folders(common.roots, cwd, home)
    plan = initfile.plan_init(
        cwd,
        env=os.environ,
        home=home,
        adopted=found,
        trust=trust,
        for_project=for_project,
        overwrite=force,
    )
    changed = plan.changed if dry_run else initfile.apply(plan)
    if common.json:
        emit(_plan_document(plan, changed, dry_run))
        return EXIT_OK
    if host and not found:
        named = " or ".join(adopt.HOSTS) if host == "auto" else host
        warn(f"{named} has no memory folder for this project or user yet.")
    for line in _plan_lines(plan, changed, dry_run):
        say(line)
    return EXIT_OK


def _plan_document(plan: initfile.InitPlan, changed: bool, dry_run: bool) -> dict[str, Any]:
    return {
        "file": str(plan.path),
        "changed": changed,
        "written": changed and not dry_run,
        "diff": plan.diff,
        "created": [str(folder) for folder in plan.folders],
        "adopted": [
            {
                "scope": one.scope,
                "path": str(one.path),
                "host": one.host,
                "files": one.files,
                "listed": one.adopt,
                "note": one.note,
            }
            for one in plan.adopted
        ],
    }


def _plan_lines(plan: initfile.InitPlan, changed: bool, dry_run: bool) -> Iterator[str]:
    for one in plan.adopted:
        verb = "adopted" if one.adopt else "found, not adopted"
        note = f" ({one.note})" if one.note else ""
        yield f"{verb}: {one.path} as {one.scope}, {one.files} memories{note}"
    if not changed:
        yield f"{plan.path} already says all of this; nothing was written."
        return
    if dry_run or plan.before is not None:
        yield plan.diff.rstrip("\n")
    verb = "would be" if dry_run else "was"
    if plan.diff:
        yield f"{plan.path} {verb} written."
    for folder in plan.folders:
        yield f"{folder} {verb} created."


@click.command()
@click.option("--session", metavar="ID", help="Show one conversation instead: what it holds.")
@common_options
def status(common: Common, session: str | None) -> int:
    """Show settings with their sources, roots, freshness and readiness.

    With --session, what one conversation holds, what was delivered and when, and what that cost.
    """
    if session is not None:
        from recall.faces.conversation import session_status

        return session_status(common, session)
    from recall.faces import guard, standing  # other commands don't need what they bring
    from recall.faces.write_standing import write_standing

    loaded = common.load()
    home = places.home_folder(os.environ)
    with app.from_settings(loaded.settings, os.environ, home) as recall:
        snapshot = recall.snapshot()
        source = snapshot.status.to_dict()
        structured = sum(memory.structured for memory in snapshot.memories.values())
        document = {
            "settings": _settings(loaded),
            "notes": list(loaded.notes),
            "roots": [
                {"scope": root.scope, "path": root.path, "origin": root.origin}
                for root in loaded.settings.roots
            ],
            "mode": (mode := _mode(recall, loaded, snapshot)),
            "memories": len(snapshot.memories),
            "structured": structured,
            "legacy": len(snapshot.memories) - structured,
            "migration": migrated.standing(recall, snapshot),
            "writes": write_standing(recall),
            "revision": snapshot.revision,
            "sourceStatus": source,
            "watchers": [one.to_dict() for one in heartbeat.watchers(recall.store.folder)],
            "cache": recall.store.folder,
            "state": str(recall.state_dir),
            "guard": guard.standing(loaded, mode["now"]),
            "hosts": standing.standing(recall.state_dir, Path.cwd(), home),
        }
    if common.json:
        emit(document)
    else:
        for line in _status_lines(document):
            say(line)
    return exit_code(source)


def _mode(recall: app.Recall, loaded: Loaded, snapshot: Snapshot) -> dict[str, Any]:
    """Return the mode of a conversation that begins now, why, and the last change of mode."""
    found = recall.readiness(snapshot)
    setting = loaded.settings.mode
    last = recall.sessions().last_switch()
    return {
        "now": modes.target(modes.Mode(), setting, ready=found.ready),
        "pinned": modes.pinned(setting) or None,
        "source": loaded.sources["mode"],
        "ready": found.ready,
        "waiting": found.waiting,
        "scopes": [one.to_dict() for one in found.scopes],
        "last": {"session": last[0], **last[1].last.to_dict()} if last and last[1].last else None,
    }


def _mode_lines(mode: dict[str, Any]) -> Iterator[str]:
    how = f"pinned ({mode['source']})" if mode["pinned"] else "auto"
    yield f"Mode {mode['now']}, {how}."
    if mode["ready"]:
        yield "Ready for structured recall."
    else:
        waiting = show.count(mode["waiting"], "memory waits", "memories wait")
        yield f"Not ready for structured recall: {waiting} for complete metadata."
    for one in mode["scopes"]:
        state = "ready" if one["ready"] else "not ready"
        excused = f", {one['excused']} can't be migrated" if one["excused"] else ""
        unseen = f", could not be looked at ({one['unseen']})" if "unseen" in one else ""
        counts = f"{one['structured']} of {one['memories']} structured"
        yield f"  {one['scope']:<8} {state}: {counts}{excused}{unseen}"
        yield from (f"    waits: {ref}" for ref in one["files"])
        more = one["waiting"] - len(one["files"])
        if more:
            yield f"    and {more} more (recall doctor names them all)"
    if mode["waiting"]:
        yield "  recall migrate --dry-run shows what would be added, recall migrate adds it."
    if mode["last"]:
        last = mode["last"]
        yield (
            f"  last transition: {last['before']} to {last['after']}, {last['step']} at "
            f"{last['at']} in session {last['session']}"
        )


def _settings(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """Return every key with its value and source; roots as they were found."""
    from recall.remote import address

    out = {}
    for name, source in loaded.sources.items():
        group, _, scope = name.partition(".")
        value = loaded.values[name]
        if group == "roots":
            value = [root.path for root in loaded.settings.roots if root.scope == scope]
        if name.endswith(".base_url"):
            value = address.shown(value)
        elif name == "external.mem0.scope":
            value = dict(value)
        out[name] = {"value": value, "source": source}
    return out


def _status_lines(document: dict[str, Any]) -> Iterator[str]:
    from recall.faces import guard, standing
    from recall.faces.write_standing import write_lines

    yield (
        f"{show.count(document['memories'], 'memory', 'memories')}: "
        f"{document['structured']} structured, {document['legacy']} legacy. "
        f"Revision {document['revision'][:12]}."
    )
    yield from _mode_lines(document["mode"])
    yield from migrated.status_lines(document["migration"])
    yield from write_lines(document["writes"])
    yield from show.status_lines(document["sourceStatus"])
    yield ""
    for root in document["roots"]:
        yield f"root     {root['scope']:<8} {root['path']}  ({root['origin']})"
    yield from map(_watcher_line, document["watchers"])
    if not document["watchers"]:
        yield "watched  by nobody: each turn walks the roots"
    yield f"cache    {document['cache']}  (can be deleted at any time)"
    yield f"state    {document['state']}"
    yield guard.standing_line(document["guard"])
    yield from standing.standing_lines(document["hosts"])
    yield ""
    for name, setting in document["settings"].items():
        if setting["source"] != "default":
            yield f"{name} = {json.dumps(setting['value'])}  ({setting['source']})"
    unset = [n for n, setting in document["settings"].items() if setting["source"] == "default"]
    yield f"default: {', '.join(unset)}"
    for note in document["notes"]:
        yield f"! {note}"


def _watcher_line(one: dict[str, Any]) -> str:
    """Return the line of one watching process."""
    since = datetime.fromtimestamp(one["sinceMs"] / 1000).strftime("%Y-%m-%d %H:%M:%S")
    beat = f"last heartbeat {one['beatAgeMs'] // 1000} s ago"
    if not one["alive"]:
        return f"watched  no more: process {one['pid']} died, {beat}"
    how = f"{one['how']} since {since}"
    if one["how"] == "inotify":
        how += f", {show.count(one['folders'], 'folder', 'folders')}"
    overflows = f", {one['overflows']} overflows" if one["overflows"] else ""
    events = f"{show.count(one['events'], 'event', 'events')}{overflows}"
    why = f": {one['why']}" if "why" in one else ""
    return f"watched  by process {one['pid']}, {how}, {events}, {beat}{why}"


@click.command()
@click.argument("folders", nargs=-1, metavar="[DIR]...")
@common_options
def doctor(common: Common, folders: tuple[str, ...]) -> int:
    """Name every fault: file, line, field, what it is and what to do.

    Nothing is changed. Memories with faults are served all the same, as far as they can be read.
    """
    try:
        recall = common.open(folders)
    except SettingsError as error:
        if not common.json:
            say(f"settings: {error.file or ''} {error.key or ''}".rstrip())
        raise
    from recall.faces.semantic import standing

    with recall:
        snapshot = recall.snapshot()
        failed, unusable = migrated.failures(recall, snapshot)
        files = [_file(snapshot.roots, one, failed) for one in recall.store.faults()]
        skipped = [
            {"path": one.path, "scope": one.scope, "why": one.why}
            for one in snapshot.status.skipped
            if not _is_state(one, files)
        ]
        source = snapshot.status.to_dict()
        semantic = standing(recall, snapshot)
    document = {
        "memories": len(snapshot.memories),
        "semantic": semantic,
        "files": files,
        "skipped": skipped,
        "skippedTotal": snapshot.status.skipped_total,
        "record": unusable,
        "sourceStatus": source,
    }
    if common.json:
        emit(document)
    else:
        for line in _doctor_lines(document):
            say(line)
    return exit_code(source)


def _file(roots: tuple[str, ...], one: FileFaults, failed: migrated.Tried) -> dict[str, Any]:
    out: dict[str, Any] = {
        "file": os.path.join(roots[one.root], one.path),
        "faults": [fault.to_dict() for fault in one.faults],
        "missing": [] if one.state else list(one.missing),
    }
    if one.state:
        out["skipped"] = one.state
    if (one.root, one.path) in failed:
        out["migration"] = failed[one.root, one.path]
    return out


def _is_state(skipped: Skipped, files: list[dict[str, Any]]) -> bool:
    return any(one.get("skipped") == skipped.why for one in files) and ":" in skipped.path


def _doctor_lines(document: dict[str, Any]) -> Iterator[str]:
    from recall.faces.semantic import lines as semantic_lines

    kinds: Counter[str] = Counter()
    if document["record"]:
        yield f"! {document['record']['message']} {document['record'].get('fix', '')}".rstrip()
    for one in document["files"]:
        file = show.name(one["file"])
        if "skipped" in one:
            yield f"{file}: not a memory: {one['skipped']}"
        for fault in one["faults"]:
            kinds[fault["kind"]] += 1
            line = f":{fault['line']}" if "line" in fault else ""
            named = f" {fault['field']}:" if "field" in fault else ""
            yield f"{file}{line}:{named} {fault['message']}"
            yield f"    {fault['fix']}"
        yield from migrated.doctor_lines(file, one.get("migration", ()))
    for skipped in document["skipped"]:
        yield f"{show.name(skipped['path'])}: skipped: {skipped['why']}"
    yield from show.status_lines(document["sourceStatus"])
    missing = Counter(field for one in document["files"] for field in one["missing"])
    legacy = sum(1 for one in document["files"] if one["missing"])
    yield (
        f"{show.count(document['memories'], 'memory', 'memories')}, {legacy} without complete "
        f"metadata of their own, {show.count(sum(kinds.values()), 'fault', 'faults')}."
    )
    for kind, number in kinds.most_common():
        yield f"  {number:5} {kind}"
    yield from semantic_lines(document["semantic"])
    for field, number in missing.most_common():
        yield f"  {number:5} lack {field}"


COMMANDS = (init, status, doctor)
