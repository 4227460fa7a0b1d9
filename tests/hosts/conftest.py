"""A host in a place of its own, for each of the three that is installed.

`RECALL_HOSTS` names a folder that holds the hosts as npm installs them, or its `node_modules/.bin`:

    npm install --prefix DIR @anthropic-ai/claude-code@2.1.197 @qwen-code/qwen-code@0.24.4 \\
        @openai/codex@0.171.0 node@22
    RECALL_HOSTS=DIR python -m pytest tests/hosts
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hosts.drivers import HOSTS, Host
from hosts.isolation import CannotIsolate, Island
from hosts.model import Answer, ScriptedModel
from hosts.place import Place, bin_folder, binary

Settle = Callable[..., Host]


@pytest.fixture(scope="session")
def hosts_bin() -> Path:
    folder = bin_folder()
    if folder is None:
        pytest.skip("RECALL_HOSTS names no folder of installed hosts")
    return folder


@pytest.fixture(scope="session")
def island() -> Iterator[Island]:
    try:
        place = Island()
    except CannotIsolate as error:
        pytest.skip(f"hosts run only where nothing but loopback can be reached: {error}")
    yield place
    place.close()


@pytest.fixture(params=sorted(HOSTS))
def host_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settle(host_name: str, hosts_bin: Path, island: Island, tmp_path: Path) -> Iterator[Settle]:
    """Sets a host up: `settle(script, hook="options of the stand-in hook", serve=True)`."""
    places: list[Place] = []

    def settled(
        script: list[Answer] | None = None,
        hook: str | None = "",
        serve: bool = False,
    ) -> Host:
        kind = HOSTS[host_name]
        if binary(hosts_bin, kind.command) is None:
            pytest.skip(f"{kind.command} is not in the folder that RECALL_HOSTS names")
        folder = tmp_path / f"place{len(places)}"
        place = Place.make(folder, island, ScriptedModel(script), hosts_bin)
        places.append(place)
        host = kind(place)
        host.set_up()
        if hook is not None:
            host.hook(place.hook_command(*hook.split()))
        if serve:
            host.serve("recall", place.server_command())
            host.allow("recall")
        return host

    yield settled
    for place in places:
        place.close()
