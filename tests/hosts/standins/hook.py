"""A hook that writes down how it was called, and hands over a marker.

    python hook.py LOG [--size N] [--fill TEXT] [--only EVENT[:SOURCE],…] [--exit N] [--sleep S]
        [--plain]

Each call appends one line of JSON to LOG: its input, its environment, its ancestors, what the
transcript held at that moment. What it prints is `EVENT-source-N`, N counting the calls, in
`hookSpecificOutput.additionalContext`, the last part filled up to `--size` characters.
"""

import json
import os
import sys
import time
from pathlib import Path

SILENT = {"Stop", "SubagentStop", "SessionEnd", "PostCompact", "StopFailure", "Notification"}


def main() -> int:
    log = Path(sys.argv[1])
    options = sys.argv[2:]
    raw = sys.stdin.read()
    given = json.loads(raw)
    event = given["hook_event_name"]
    lines = log.read_text().splitlines() if log.exists() else []
    number = sum('"kind": "hook"' in line for line in lines) + 1
    marker = "-".join(
        ["MARK", event, given.get("source") or given.get("trigger") or "x", str(number)]
    )
    said = transcript(given.get("transcript_path"))
    line = {
        "kind": "hook",
        "at": time.time(),
        "input": given,
        "env": dict(os.environ),
        "cwd": os.getcwd(),
        "ancestors": ancestors(),
        "marker": marker,
        "transcript_exists": said is not None,
        "transcript_lines": len((said or "").splitlines()),
        "markers_in_transcript": markers(said or ""),
    }
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")
    only = option(options, "--only")
    source = f"{event}:{given.get('source')}"
    if only is not None and not {event, source} & set(only.split(",")):
        return 0
    if only is None and event in SILENT:
        return 0
    time.sleep(float(option(options, "--sleep") or 0))
    text = filled(marker, int(option(options, "--size") or 0), option(options, "--fill"))
    if "--plain" in options:
        sys.stdout.write(text)
    else:
        answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
        sys.stdout.write(json.dumps(answer))
    sys.stderr.write(f"stderr of {marker}")
    return int(option(options, "--exit") or 0)


def option(options: list[str], name: str) -> str | None:
    return options[options.index(name) + 1] if name in options else None


def filled(marker: str, size: int, fill: str | None) -> str:
    """`size` characters that begin with the marker and end with END, positions written in."""
    text = f"[{marker}]"
    while len(text) < size - 3:
        text += fill or f" at{len(text)}"
    return text[: size - 3] + "END" if size else text


def transcript(path: str | None) -> str | None:
    return Path(path).read_text(errors="replace") if path and Path(path).exists() else None


def markers(text: str) -> list[str]:
    return sorted(
        {piece.split("]")[0] for piece in text.split("[")[1:] if piece.startswith("MARK-")}
    )


def ancestors() -> list[dict[str, object]]:
    """This process and those above it, the nearest first."""
    chain = []
    pid = os.getpid()
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
            command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
        except OSError:
            break
        fields = stat.rpartition(")")[2].split()
        chain.append({"pid": pid, "started": int(fields[19]), "command": command[:300]})
        pid = int(fields[1])
    return chain


if __name__ == "__main__":
    raise SystemExit(main())
