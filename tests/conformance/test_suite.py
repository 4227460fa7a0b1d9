"""The protocol's own conformance suite, run against `recall protocol serve`.

It is not ours, and nothing of it is kept here: RECALL_PROTOCOL_SUITE names a checkout of
PerryLink/dsh-memento, whose test/protocol-conformance/run.mjs takes our provider.mjs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHECKOUT = Path(os.environ.get("RECALL_PROTOCOL_SUITE", "/nowhere"))
RUNNER = CHECKOUT / "test" / "protocol-conformance" / "run.mjs"
NODE = shutil.which("node")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    assert NODE
    return subprocess.run(
        [NODE, str(RUNNER), "--provider", str(HERE / "provider.mjs"), *options],
        env=os.environ | {"RECALL_COMMAND": json.dumps([sys.executable, "-m", "recall"])},
        cwd=HERE.parents[1],
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )


@pytest.mark.timeout(960)
@pytest.mark.skipif(not RUNNER.exists(), reason="RECALL_PROTOCOL_SUITE names no checkout")
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_every_case_of_the_protocols_own_suite_passes() -> None:
    """All cases, by the suite's own runner and report."""
    done = run("--json")
    report = json.loads(done.stdout)
    failed = [case for case in report["results"] if case["status"] != "pass"]
    assert not failed, done.stderr
    assert report["protocol"] == "dsh-memory-protocol/v1"
    assert report["passed"] == report["total"] >= 22
    assert done.returncode == 0
    sys.stdout.write(f"{report['protocol']}: {report['passed']}/{report['total']} cases passed\n")
