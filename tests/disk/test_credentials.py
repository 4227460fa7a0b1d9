"""recall.disk.credentials: where a key is looked for, and that it is told to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall.disk.config import load
from recall.disk.credentials import Credential, Found, credential, find
from recall.errors import SettingsError

KEY = "m0-0123456789abcdef"
NAME = "MEM0_API_KEY"


class Home:
    """A home with a settings folder, and a project in which a command runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / ".config/recall/config.toml"
        self.config.parent.mkdir(parents=True)
        self.project = folder / "code/shop"
        (self.project / ".recall").mkdir(parents=True)
        (self.project / ".git").mkdir()

    def write(self, text: str, mode: int = 0o600, name: str = "config.toml") -> None:
        path = self.config.with_name(name)
        path.write_text(text)
        path.chmod(mode)

    def find(self, **env: str) -> Found:
        return find(NAME, env=env, config=self.config)

    def credential(self, **env: str) -> Credential:
        return credential(NAME, env=env, config=self.config)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_environment_wins_over_dotenv_over_settings(home: Home) -> None:
    """The first of the three that is not empty counts, and is named."""
    pytest.importorskip("dotenv")
    home.write(f'[env]\n{NAME} = "from-settings"\n')
    assert home.find().value == "from-settings"
    home.write(f"# keys\nexport {NAME}='from-dotenv'\nOTHER=$HOME\n", name=".env")
    assert home.find() == ("from-dotenv", str(home.config.with_name(".env")), ())
    assert home.find(**{NAME: "from-environment"}) == ("from-environment", "environment", ())
    assert home.find(**{NAME: " "}).value == "from-dotenv"
    home.write(f"{NAME}=\n", name=".env")
    assert home.find().value == "from-settings"


def test_a_projects_files_give_no_key(home: Home) -> None:
    """A key of theirs would send what a person stores to somebody else's account."""
    for file in (".env", ".recall/.env"):
        (home.project / file).write_text(f"{NAME}={KEY}\n")
    assert home.find() == ("", "", ())
    with pytest.raises(SettingsError, match="is set neither in the environment"):
        home.credential()


def test_dollars_in_a_dotenv_are_only_dollars(home: Home) -> None:
    """Nothing is put in place of variables: a key is what stands there."""
    pytest.importorskip("dotenv")
    home.write(f"{NAME}=a$HOME-${{PATH}}-b\n", name=".env")
    assert home.find().value == "a$HOME-${PATH}-b"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("short", "fewer than 8"),
        ("two words of it", "holds blanks"),
        ("line\\nbreak-and-more", "holds blanks"),
        ("schlüssel-0123456789", "characters that no header"),
        ("k" * 4_097, "more than 4,096"),
    ],
)
def test_a_key_that_cannot_be_sent_is_refused_unseen(home: Home, key: str, why: str) -> None:
    """The error names the variable and the file, and never what stands there."""
    home.write(f'[env]\n{NAME} = "{key}"\n')
    with pytest.raises(SettingsError) as caught:
        home.credential()
    assert why in caught.value.message and NAME in caught.value.message
    assert str(home.config) in caught.value.message
    assert key not in str(caught.value.details())


def test_a_credential_shows_nothing_of_itself(home: Home) -> None:
    """Neither `repr`, `str` nor its attributes' names give it away; `reveal` does."""
    home.write(f'[env]\n{NAME} = "{KEY}"\n')
    one = home.credential()
    assert KEY not in f"{one!r} {one} {one.source}"
    assert one.reveal() == KEY


def test_a_file_that_others_may_read_is_told_of(home: Home) -> None:
    """The key is used all the same."""
    home.write(f'[env]\n{NAME} = "{KEY}"\n', mode=0o644)
    found = home.find()
    assert found.value == KEY
    assert "others may read it" in found.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        f"[env]\n{NAME} = 12345678",
        f"[env]\n{NAME} = ['{KEY}']",
        f'[env]\nmem0 = "{KEY}"',
        f'env = "{KEY}"',
        f'[external.mem0]\nenv_key = "{KEY}"',
        f'[external.mem0]\ncredential_env = "{KEY}"',
        f'[external.mem0]\nbase_url = ["{KEY}"]',
    ],
)
def test_errors_of_the_settings_repeat_no_key(home: Home, text: str) -> None:
    """Not where it stands as a wrong type, nor where a name or an address belongs."""
    home.write(text)
    with pytest.raises(SettingsError) as caught:
        load(home.project, env={}, home=home.folder)
    told = str(caught.value.details())
    assert str(home.config) in told
    assert KEY not in told and "12345678" not in told


def test_no_setting_holds_what_env_holds(home: Home) -> None:
    """What `[env]` says is in no loaded value, so that no report can show it."""
    home.write(f'[env]\n{NAME} = "{KEY}"\n[external.mem0]\nbase_url = "https://m.example"\n')
    loaded = load(home.project, env={}, home=home.folder)
    assert KEY not in repr(loaded)
    assert loaded.settings.mem0.base_url == "https://m.example"


def test_the_older_name_of_env_key_means_the_same(home: Home) -> None:
    """`credential_env` is taken; beside another `env_key` it is an error that names both."""
    home.write('[external.mem0]\ncredential_env = "OTHER_KEY"\n')
    assert load(home.project, env={}, home=home.folder).settings.mem0.env_key == "OTHER_KEY"
    home.write('[external.mem0]\ncredential_env = "OTHER_KEY"\nenv_key = "OTHER_KEY"\n')
    assert load(home.project, env={}, home=home.folder).settings.mem0.env_key == "OTHER_KEY"
    home.write('[external.mem0]\ncredential_env = "OTHER_KEY"\nenv_key = "MEM0_API_KEY"\n')
    with pytest.raises(SettingsError, match="name different variables") as caught:
        load(home.project, env={}, home=home.folder)
    assert "external.mem0.env_key" in caught.value.message
    assert "external.mem0.credential_env" in caught.value.message
