"""Which file system a folder is on, from the kernel's own table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recall.disk.mounts import Mounts, _kind, remote_kind

_TABLE = rb"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /home/dev rw shared:1 - nfs4 server:/home rw
31 30 0:26 / /home/dev/local rw shared:2 master:3 - xfs /dev/vdb rw
32 22 0:27 / /mnt/with\040space rw - fuse.sshfs there: rw
33 22 0:28 / /mnt/twice rw - ext4 /dev/vdc rw
34 33 0:29 / /mnt/twice rw - 9p drvfs rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/home/devil", "ext4"),
        ("/home/dev", "nfs4"),
        ("/home/dev/notes", "nfs4"),
        ("/home/dev/local/notes", "xfs"),
        ("/mnt/with space/notes", "fuse.sshfs"),
        ("/mnt/twice/notes", "9p"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, kind: str) -> None:
    assert _kind(_TABLE, path.encode()) == kind


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_this_machines_own_temporary_folder_reports_changes(tmp_path: Path) -> None:
    assert remote_kind(str(tmp_path)) == ""
    mounts = Mounts()
    assert not mounts.changed()
    mounts.close()
