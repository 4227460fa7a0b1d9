"""How a host starts our MCP server, what it tells it, and what it tells its model of it."""

from typing import Any

from hosts.conftest import Settle
from hosts.drivers import Host
from hosts.model import Call

SESSION_VARIABLE = {"claude-code": "CLAUDE_CODE_SESSION_ID", "qwen-code": "QWEN_CODE_SESSION_ID"}
CLIENT = {
    "claude-code": "claude-code",
    "qwen-code": "qwen-cli-mcp-client-recall",
    "codex": "codex-mcp-client",
}


def asked(settle: Settle) -> Host:
    """A conversation in which the model searched once."""
    host = settle(serve=True)
    host.place.model.script = [Call(host.tool("recall", "search_memory"), {"query": "deploy"})]
    host.prompt("How do we deploy?")
    return host


def starts(host: Host) -> list[dict[str, Any]]:
    return [entry for entry in host.place.logged("server") if "ancestors" in entry]


def messages(host: Host, method: str) -> list[dict[str, Any]]:
    sent = [entry["message"] for entry in host.place.logged("server") if "message" in entry]
    return [message for message in sent if message.get("method") == method]


def test_the_model_is_told_of_the_tool_and_its_call_arrives(settle: Settle) -> None:
    host = asked(settle)
    (call,) = messages(host, "tools/call")
    assert call["params"]["name"] == "search_memory"
    assert "[MARK-tool-result]" in host.place.model.conversation()[1].text
    assert "[MARK-instructions]" in host.place.model.conversation()[0].text
    # Qwen Code names it in a message, and offers it as a tool only once it was called.
    offered = host.tool("recall", "search_memory") in host.place.model.conversation()[0].tools
    assert offered == (host.name != "qwen-code")


def test_server_and_hooks_live_below_the_same_process(settle: Settle) -> None:
    host = asked(settle)
    (server,) = starts(host)
    parent = server["ancestors"][1]
    for call in host.place.hooks():
        assert parent in call["ancestors"]


def test_the_server_works_in_the_project(settle: Settle) -> None:
    host = asked(settle)
    (server,) = starts(host)
    assert server["cwd"] == str(host.place.project)
    assert {call["cwd"] for call in host.place.hooks()} == {str(host.place.project)}
    (hello,) = messages(host, "initialize")
    assert hello["params"]["clientInfo"]["name"] == CLIENT[host.name]


def test_how_the_server_learns_the_session(settle: Settle) -> None:
    host = asked(settle)
    session = host.place.hooks("UserPromptSubmit")[0]["input"]["session_id"]
    (server,) = starts(host)
    (call,) = messages(host, "tools/call")
    variable = SESSION_VARIABLE.get(host.name)
    if variable is not None:
        assert server["env"][variable] == session
    else:
        assert call["params"]["_meta"]["sessionId"] == session
        assert session not in str(server["env"])


def test_after_a_resume_claude_code_tells_the_server_another_session(settle: Settle) -> None:
    host = asked(settle)
    host.prompt("And then?", resume=True)
    session = host.place.hooks("UserPromptSubmit")[-1]["input"]["session_id"]
    assert session == host.place.hooks("UserPromptSubmit")[0]["input"]["session_id"]
    variable = SESSION_VARIABLE.get(host.name)
    if variable is not None:
        told = starts(host)[-1]["env"][variable]
        assert (told == session) == (host.name != "claude-code")


def test_no_host_reads_the_resource_by_itself(settle: Settle) -> None:
    host = asked(settle)
    assert messages(host, "resources/read") == []
