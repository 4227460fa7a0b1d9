"""An MCP server over stdio, by hand, that writes down how it was started and what it was asked.

    python mcp_server.py LOG

It offers one tool, `search_memory`, which is read-only and answers with its own marker, one
resource, and instructions. Written without the SDK, so that the log shows the host's messages as
they are.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from hook import ancestors

TOOL = {
    "name": "search_memory",
    "description": "Searches the memories.",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}
RESOURCE = {"uri": "recall://tree", "name": "tree", "mimeType": "text/markdown"}


def main() -> int:
    log = Path(sys.argv[1])
    write(log, {"env": dict(os.environ), "cwd": os.getcwd(), "ancestors": ancestors()})
    for raw in sys.stdin:
        message = json.loads(raw)
        write(log, {"message": message})
        if "id" not in message or "method" not in message:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"], **reply(message)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    write(log, {"ended": True})
    return 0


def reply(message: dict[str, Any]) -> dict[str, Any]:
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        return {
            "result": {
                "protocolVersion": version,
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "recall", "version": "0"},
                "instructions": "[MARK-instructions] Search before you say that nothing is stored.",
            }
        }
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": "[MARK-tool-result] found"}]}}
    if method == "resources/list":
        return {"result": {"resources": [RESOURCE]}}
    if method == "resources/read":
        text = {"uri": "recall://tree", "mimeType": "text/markdown", "text": "[MARK-resource]"}
        return {"result": {"contents": [text]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def write(log: Path, line: dict[str, Any]) -> None:
    with log.open("a") as file:
        file.write(
            json.dumps({"kind": "server", "pid": os.getpid(), "at": time.time(), **line}) + "\n"
        )


if __name__ == "__main__":
    raise SystemExit(main())
