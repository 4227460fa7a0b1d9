"""A whole life of recall inside a real host: what stood in each request that the model received.

`PYTHONPATH=tests RECALL_HOSTS=DIR python -m hosts.life` prints the table of docs/hosts.md.
"""

import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts import wire
from hosts.drivers import HOSTS, Host
from hosts.isolation import Island
from hosts.model import Call, Request, Say, ScriptedModel
from hosts.place import Place, bin_folder

TREE = "## Complete memory tree"
FOCUS = "## Memory focus for this turn"
BODY = "The warden approves every staging deploy before it starts."
REF = "project:deploy/staging.md"
FETCH = {"mode": "fetch", "refs": [REF]}
LONG = Say("I looked it up, and this is what I found. " * 400)
"""An answer that is worth compacting."""
DELIVERY = re.compile(r'<recall-memory delivery="(\w+)"[^>]*>(.*?)</recall-memory>', re.DOTALL)

HOOKED = ("SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "SessionEnd")


@dataclass(frozen=True)
class Step:
    """One step, and what of recall's stood in the request that ended it."""

    name: str
    trees: int
    """Trees that stand there."""
    current: bool
    """The last of them names every memory as it is now, whole."""
    twice: int
    """Deliveries, and identical trees, that stand there more than once."""
    focus: bool
    """The last delivery that stands there is a focus."""
    tool: str
    """What search_memory gave in this step: a body, already available, or nothing was asked."""


@dataclass
class Life:
    """One host with recall's hooks and server, and memories that change."""

    host: Host

    def __post_init__(self) -> None:
        self.names: dict[str, str] = {}
        self.seen = 0
        self.write("deploy/staging.md", "Staging deploys", f"{BODY}\n")
        self.write("rowing.md", "Rowing club", "Boats are out on Tuesdays.\n")
        command = f"{sys.executable} -m recall hook {{event}} --host {self.host.name}"
        self.host.hook(command, HOOKED)
        self.host.serve("recall", [sys.executable, "-m", "recall", "mcp"])
        self.host.allow("recall")

    def write(self, path: str, title: str, body: str) -> None:
        """A memory, new or edited."""
        file = self.host.place.project / ".recall" / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        about = f"what to know of {title.lower()}"
        head = f"name: {title}\ndescription: {about}\ntype: project\ncategory: task_summary\n"
        head += f"keywords: [{title.lower()}, memory]\nusage_scenarios: [when asked]\n"
        file.write_text(f"---\n{head}---\n{body}")
        self.names[path] = title

    def fetches(self) -> Call:
        return Call(self.host.tool("recall", "search_memory"), dict(FETCH))

    def step(self, name: str, act: Callable[[], Any]) -> Step:
        """Do something that ends with a request, and look at it."""
        before = len(self.conversation())
        act()
        asked = self.conversation()
        assert len(asked) > before, f"{name}: the model was not asked"
        last = told(asked[-1])
        trees = [text for text in map(tree_of, last.values()) if text]
        texts = [*deliveries(asked[-1]), *trees]
        return Step(
            name,
            len(trees),
            bool(trees) and all(f"] {title}" in trees[-1] for title in self.names.values()),
            len(texts) - len(set(texts)),
            bool(last) and FOCUS in list(last.values())[-1],
            given(asked[before:]),
        )

    def conversation(self) -> list[Request]:
        return self.host.place.model.conversation()


def told(request: Request) -> dict[str, str]:
    """Every delivery that stands whole in the request, by its id, in order."""
    return {
        id: text
        for string in wire.texts(request.body)
        for id, text in DELIVERY.findall(unescaped(string))
    }


def unescaped(text: str) -> str:
    """Return the text with the brackets that Qwen Code takes from what a hook hands over."""
    return text.replace("&lt;", "<").replace("&gt;", ">")


def deliveries(request: Request) -> list[str]:
    """The ids of all deliveries in the request, as often as they stand there."""
    return [
        id for string in wire.texts(request.body) for id, _ in DELIVERY.findall(unescaped(string))
    ]


def tree_of(text: str) -> str:
    """The tree of a delivery; empty where it has none."""
    if TREE not in text:
        return ""
    return text[text.index(TREE) :].split(FOCUS)[0].strip()


def given(requests: list[Request]) -> str:
    """What search_memory gave, by what is new in the last of these requests."""
    if len(requests) < 2:
        return ""
    new = requests[-1].text.count(BODY) - requests[0].text.count(BODY)
    pointed = requests[-1].text.count("alreadyAvailable") - requests[0].text.count(
        "alreadyAvailable"
    )
    return "body" if new > 0 else "already available" if pointed > 0 else "nothing"


def live(host: Host) -> list[Step]:
    """A conversation at a terminal, then continued without one."""
    life = Life(host)
    model = host.place.model
    steps: list[Step] = []

    def say(name: str, line: str, *answers: Say | Call) -> None:
        model.script = list(answers)
        steps.append(life.step(name, lambda: terminal.say(line)))

    question = "How do we deploy to staging, and who approves it?"
    terminal = host.interactive()
    say("startup, a prompt", question, life.fetches(), LONG)
    say("the same prompt", question, life.fetches(), LONG)
    say("a greeting", "hello", LONG)
    model.script = []
    terminal.say(host.compact)
    say("after a compaction", question, life.fetches(), LONG)
    life.write("deploy/staging.md", "Staging deploys", f"{BODY} Twice.\n")
    say("an edited body", question, life.fetches(), LONG)
    life.write("deploy/canary.md", "Canary deploys", "Ten percent first.\n")
    say("a new memory", "What is a canary deploy here, at our place?", LONG)
    terminal.say("/clear", asks=False)
    say("after /clear", question, life.fetches(), LONG)
    terminal.say(host.leave, asks=False)
    terminal.close()
    for number in (1, 2):
        model.script = [LONG]
        steps.append(
            life.step(f"resumed, {number}", lambda: host.prompt("hello again", resume=True))
        )
    life.write("late.md", "Late arrivals", "They come late.\n")
    model.script = [LONG]
    steps.append(life.step("resumed, a new memory", lambda: host.prompt("hello", resume=True)))
    return steps


def main() -> int:
    folder = bin_folder()
    if folder is None:
        print("RECALL_HOSTS names no folder of installed hosts", file=sys.stderr)
        return 2
    island = Island()
    print("| host | step | trees | current | twice | focus | search_memory |")
    print("|---|---|---|---|---|---|---|")
    for name, kind in HOSTS.items():
        with tempfile.TemporaryDirectory() as at:
            place = Place.make(Path(at) / "place", island, ScriptedModel(), folder)
            host = kind(place)
            host.set_up()
            for step in live(host):
                marks = ["yes" if value else "no" for value in (step.current, step.focus)]
                print(
                    f"| {name} | {step.name} | {step.trees} | {marks[0]} | {step.twice} "
                    f"| {marks[1]} | {step.tool} |"
                )
            place.close()
    island.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
