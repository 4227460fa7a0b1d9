"""A session inside a host: what its hooks answer, with real transcripts and stored sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import complete, write
from hosts_like import TREE, Simulated

from recall.app import Recall, open_recall
from recall.core.hosts import HOSTS
from recall.disk.adopt import claude_slug
from recall.errors import StoreError

INDEX = "## Memory index"
ABOUT_STAGING = "how do we deploy to staging"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    write(folder, "staging.md", "Ask the warden.\n", name="Staging", description="staging deploy")
    write(folder, "rowing.md", "Boats.\n", name="Rowing", description="the rowing club's boats")
    return folder


@pytest.fixture
def recall(tmp_path: Path, root: Path) -> Iterator[Recall]:
    one = open_recall(
        roots=[root],
        cwd=tmp_path,
        cache_dir=tmp_path / "cache",
        state_dir=tmp_path / "state",
        env={},
        mode="structured",
        home=tmp_path,
    )
    with one:
        yield one


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest, recall: Recall, tmp_path: Path) -> Simulated:
    return Simulated(recall, request.param, tmp_path)


def named(recall: Recall, name: str, tmp_path: Path) -> Simulated:
    return Simulated(recall, name, tmp_path)


def test_a_start_gives_the_tree_and_a_prompt_the_focus(host: Simulated) -> None:
    """The tree comes with the session's start, and not again with the first prompt."""
    assert TREE in host.start("startup")
    text = host.prompt(ABOUT_STAGING)
    assert "Staging" in text and TREE not in text
    assert len(host.trees()) == 1


def test_a_greeting_costs_nothing(host: Simulated) -> None:
    """One word, a greeting, a host's own command: no text at all."""
    host.start("startup")
    assert [host.prompt(words) for words in ("hi", "thanks!", "/model opus", "/compact")] == [
        ""
    ] * 4


def test_a_path_at_the_start_is_a_question(recall: Recall, host: Simulated) -> None:
    """Not everything that begins with a slash is a command to the host."""
    host.start("startup")
    assert host.prompt("/etc/staging.conf: how do we deploy to staging")


def test_a_host_without_starts_gets_the_tree_with_the_first_prompt(host: Simulated) -> None:
    """Qwen Code 0.15 fires no SessionStart under -p."""
    assert TREE in host.prompt(ABOUT_STAGING)
    assert TREE not in host.prompt(ABOUT_STAGING)


def test_a_resumed_conversation_is_not_told_twice(host: Simulated) -> None:
    """However often it is resumed, each request holds one tree."""
    host.start("startup")
    for _ in range(3):
        host.prompt(ABOUT_STAGING)
        host.start("resume")
        assert len(host.trees()) == 1


def test_a_new_memory_brings_a_new_tree_once(host: Simulated, root: Path) -> None:
    """The next prompt carries it, the one after does not."""
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    write(root, "new.md", "New.\n", name="Newcomer", description="a memory that came later")
    assert "Newcomer" in host.prompt("hello")
    assert host.prompt("hello") == ""
    assert "Newcomer" in host.trees()[-1]


def test_an_edited_body_is_no_new_tree(host: Simulated, root: Path) -> None:
    """Only metadata is in the tree."""
    host.start("startup")
    write(root, "staging.md", "Ask nobody.\n", name="Staging", description="staging deploy")
    assert host.prompt("hello") == ""


def test_after_a_compaction_the_tree_stands_there_once(host: Simulated) -> None:
    """By whichever event the host tells of it, and in whichever order."""
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    for _ in range(2):
        host.compact()
        host.prompt(ABOUT_STAGING)
        assert len(host.trees()) == 1
        assert "about:" in host.told()[-1], "it is described anew"


def test_a_compaction_that_failed_changes_nothing(host: Simulated) -> None:
    """PreCompact alone is no compaction, where the transcript shows that there was none."""
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    host.compact(works=False)
    host.prompt(ABOUT_STAGING)
    host.prompt(ABOUT_STAGING)
    assert len(host.trees()) == 1
    assert "about:" not in host.told()[-1]


def test_a_compaction_that_only_the_transcript_shows_is_noticed(host: Simulated) -> None:
    """Its hooks may have failed, all of them: a tree that is gone is not withheld."""
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    host.prompt(ABOUT_STAGING)
    for _ in range(2):
        host.compact(hooked=False)
        host.prompt(ABOUT_STAGING)
        assert len(host.trees()) == 1
        assert "about:" in host.told()[-1]
        host.prompt("hello")
        assert len(host.trees()) == 1


def test_a_cleared_conversation_starts_anew(host: Simulated) -> None:
    """`/clear` is a new session: it gets the tree."""
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    assert TREE in host.clear()
    assert len(host.trees()) == 1


def test_what_did_not_arrive_is_sent_again(recall: Recall, tmp_path: Path) -> None:
    """The transcript shows an answer of the model, and not the delivery before it."""
    host = named(recall, "claude-code", tmp_path)
    host.start("startup", lost=True)
    assert TREE not in host.prompt("hello"), "nothing tells yet whether it arrived"
    assert TREE in host.prompt("hello")
    assert host.prompt("hello") == ""


def test_a_late_transcript_is_no_loss(recall: Recall, tmp_path: Path) -> None:
    """What is not written down yet counts as there."""
    host = named(recall, "claude-code", tmp_path)
    host.start("startup")
    for _ in range(3):
        host.prompt("hello", late=True)
    assert len(host.trees()) == 1


def test_a_log_of_the_hook_is_not_the_conversation(recall: Recall, tmp_path: Path) -> None:
    """Claude Code writes a hook's whole output down, also where it did not use it."""
    host = named(recall, "claude-code", tmp_path)
    text = host.start("startup", lost=True)
    host.prompt("hello")
    host.write_down()
    assert text.split('"')[1] in host.path.read_text()
    assert TREE in host.prompt("hello")


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_text_stays_under_the_hosts_cap(
    recall: Recall, root: Path, tmp_path: Path, name: str
) -> None:
    """Tree and focus together: characters for Claude Code, bytes for Codex."""
    for i in range(400):
        write(
            root,
            f"{i}.md",
            "部署\n",
            name=f"部署到预发布环境的说明 {i}",
            description="如何部署" * 30,
        )
    host = named(recall, name, tmp_path)
    text = host.prompt("如何部署到预发布环境")
    assert TREE in text
    assert HOSTS[name].size(text) <= HOSTS[name].most < 10_000
    assert text.endswith("</recall-memory>")


def test_a_folder_without_memories_says_nothing(tmp_path: Path) -> None:
    """Until there is one: then the tree comes."""
    (tmp_path / "empty").mkdir()
    with open_recall(
        roots=[tmp_path / "empty"],
        cwd=tmp_path,
        cache_dir=tmp_path / "cache",
        state_dir=tmp_path / "state",
        env={},
        mode="structured",
        home=tmp_path,
    ) as recall:
        host = named(recall, "claude-code", tmp_path)
        assert host.start("startup") == "" and host.prompt(ABOUT_STAGING) == ""
        write(tmp_path / "empty", "a.md", "A.\n", name="A", description="the first")
        assert TREE in host.prompt("hello")


def test_bodies_that_the_tool_gave_show_in_the_focus(host: Simulated, root: Path) -> None:
    """Hooks and the tool share the conversation: present after a fetch, stale after an edit."""
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    session = host.recall.session(host.id)
    session.search_memory(mode="fetch", refs=["project:staging.md"])
    assert "already in this conversation" in host.prompt(ABOUT_STAGING)
    write(root, "staging.md", "Ask nobody.\n", name="Staging", description="staging deploy")
    assert "changed since you read it" in host.prompt(ABOUT_STAGING)


def test_state_below_a_memory_root_is_refused(tmp_path: Path) -> None:
    """Nothing is ever written there, not even a conversation's state: a home that is a root."""
    with open_recall(roots=[tmp_path], cwd=tmp_path, env={}, home=tmp_path) as recall:
        with pytest.raises(StoreError, match="below the memory root"):
            recall.hosted("claude-code:1", HOSTS["claude-code"])
        assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------
# Legacy recall, and the way to structured recall


@pytest.fixture
def unready(tmp_path: Path) -> Iterator[Recall]:
    """Memories without metadata of their own, and no pin."""
    folder = tmp_path / "plain"
    write(
        folder,
        "staging.md",
        "# Staging\n\nHow it goes.\n\nAsk the warden before a staging deploy.\n",
    )
    write(folder, "rowing.md", "# Rowing\n\nBoats.\n")
    with open_recall(
        roots=[folder],
        cwd=tmp_path,
        cache_dir=tmp_path / "cache",
        state_dir=tmp_path / "state",
        env={},
        home=tmp_path,
    ) as one:
        yield one


@pytest.fixture(params=sorted(HOSTS))
def legacy(request: pytest.FixtureRequest, unready: Recall, tmp_path: Path) -> Simulated:
    return Simulated(unready, request.param, tmp_path)


def migrate(tmp_path: Path) -> None:
    for name in ("staging", "rowing"):
        complete(tmp_path / "plain", f"{name}.md", "Ask the warden before a staging deploy.\n")


def test_a_start_gives_the_index_and_a_prompt_bodies(legacy: Simulated) -> None:
    """Each once, and again after a compaction: what is in the history is not sent twice."""
    assert INDEX in legacy.start("startup")
    text = legacy.prompt(ABOUT_STAGING)
    assert "Ask the warden" in text and INDEX not in text
    assert legacy.prompt(ABOUT_STAGING) == ""
    legacy.compact()
    legacy.prompt(ABOUT_STAGING)
    told = "".join(legacy.told())
    assert told.count(INDEX) == 1 and told.count("Ask the warden") == 1


def test_a_migration_brings_the_tree_with_the_next_prompt(
    legacy: Simulated, tmp_path: Path
) -> None:
    """And the conversation stays structured, whatever comes."""
    legacy.start("startup")
    legacy.prompt(ABOUT_STAGING)
    migrate(tmp_path)
    assert TREE in legacy.prompt("hello")
    assert legacy.recall.session(legacy.id).mode == "structured"
    write(tmp_path / "plain", "late.md", "# Late\n\nText.\n")
    assert TREE in legacy.prompt("hello")
    assert legacy.prompt("hello") == ""


def test_a_tree_that_never_arrived_takes_the_switch_back(unready: Recall, tmp_path: Path) -> None:
    """The transcript shows it; the conversation is in legacy mode again, and tries once more."""
    host = named(unready, "claude-code", tmp_path)
    host.start("startup")
    host.prompt(ABOUT_STAGING)
    migrate(tmp_path)
    assert TREE in host.prompt("hello", lost=True)
    late = write(tmp_path / "plain", "late.md", "# Late\n\nText.\n")
    text = host.prompt("hello")
    assert TREE not in text and "Late" in text, "not ready any more: an index"
    assert unready.session(host.id).mode == "legacy"
    late.unlink()
    assert TREE in host.prompt("hello")


def test_bodies_that_never_arrived_are_sent_again(unready: Recall, tmp_path: Path) -> None:
    """And the tool does not count on them."""
    host = named(unready, "claude-code", tmp_path)
    host.start("startup")
    host.prompt("hello")
    assert "Ask the warden" in host.prompt(ABOUT_STAGING, lost=True)
    assert "Ask the warden" in host.prompt(ABOUT_STAGING)


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_legacy_recall_stays_under_the_hosts_cap(
    unready: Recall, tmp_path: Path, name: str
) -> None:
    """Index and bodies together."""
    for i in range(300):
        write(
            tmp_path / "plain", f"{i}.md", f"# 部署到预发布环境的说明 {i}\n\n" + "如何部署\n" * 300
        )
    host = named(unready, name, tmp_path)
    text = host.prompt("如何部署到预发布环境")
    assert INDEX in text and "## Relevant memories" in text
    assert HOSTS[name].size(text) <= HOSTS[name].most
    assert text.endswith("</recall-memory>")


@pytest.mark.parametrize(("name", "folder"), [("claude-code", ".claude"), ("qwen-code", ".qwen")])
def test_an_index_that_the_host_loads_itself_is_not_sent(
    tmp_path: Path, name: str, folder: str
) -> None:
    """A root that is the host's own memory folder: bodies alone. Other hosts get the index."""
    project = tmp_path / "shop"
    project.mkdir()
    slug = claude_slug(str(project.resolve()))
    own = tmp_path / folder / "projects" / slug / "memory"
    write(
        own, "staging.md", "# Staging\n\nHow it goes.\n\nAsk the warden before a staging deploy.\n"
    )
    write(own, "MEMORY.md", "- [Staging](staging.md)\n")
    with open_recall(
        roots=[own],
        cwd=project,
        cache_dir=tmp_path / "cache",
        state_dir=tmp_path / "state",
        env={},
        home=tmp_path,
    ) as recall:
        host = named(recall, name, tmp_path)
        assert host.start("startup") == ""
        text = host.prompt(ABOUT_STAGING)
        assert "Ask the warden" in text and INDEX not in text
        assert INDEX in named(recall, "codex", tmp_path).start("startup")
