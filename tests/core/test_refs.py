"""Refs name files exactly; a wrong one is mended only where one memory can be meant."""

from __future__ import annotations

import os
import string
import subprocess
import sys
import unicodedata
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall.core.refs import LONGEST, RefIndex, make_ref, split_ref
from recall.model import SCOPES

names = st.one_of(
    st.binary(min_size=1, max_size=12),
    st.text(min_size=1, max_size=12).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from(
        [b"a%20b.md", b"%", b"%zz", b"a+b&c.md", b"\\", b"caf\xe9", b"\xf0\x9f", b"..."]
    ),
).filter(lambda name: not {0, 0x2F} & set(name) and name not in (b".", b".."))
paths = st.lists(names, min_size=1, max_size=4).map(b"/".join).map(os.fsdecode)
scopes = st.sampled_from(SCOPES)

UNRESERVED = string.ascii_letters + string.digits + "-_.!~*'()"


@settings(max_examples=400)
@given(scopes, paths)
def test_any_path_comes_back_byte_for_byte(scope: str, path: str) -> None:
    """Whatever bytes a file's name has, its ref leads back to exactly them."""
    ref = make_ref(scope, path)
    assert split_ref(ref) == (scope, path)
    assert set(ref.removeprefix(f"{scope}:")) <= set(UNRESERVED + "/%")


@given(scopes, paths)
def test_a_ref_is_encoded_as_encode_uri_component_does(scope: str, path: str) -> None:
    """Each segment equals percent-encoding with JavaScript's unreserved characters."""
    segments = [quote(os.fsencode(part), safe="-_.!~*'()") for part in path.split("/")]
    assert make_ref(scope, path) == f"{scope}:{'/'.join(segments)}"


@given(scopes, paths, st.data())
def test_a_ref_has_one_spelling(scope: str, path: str, data: st.DataObject) -> None:
    """A ref that was changed in any place is another file's ref or none, never the same file's."""
    ref = make_ref(scope, path)
    at = data.draw(st.integers(0, len(ref) - 1))
    other = ref[:at] + data.draw(st.sampled_from(UNRESERVED + "/%:é\0 ")) + ref[at + 1 :]
    found = split_ref(other)
    if other != ref and found is not None:
        assert found != (scope, path)
        assert make_ref(*found) == other


@given(st.text(max_size=40))
def test_splitting_never_raises_and_never_leads_elsewhere(text: str) -> None:
    """Any text is a ref's two parts, of a file below a root, or None."""
    for candidate in (text, f"project:{text}", f"user:{quote(text)}"):
        found = split_ref(candidate)
        if found is not None:
            assert found[0] in SCOPES
            assert not {"", ".", ".."} & set(found[1].split("/"))
            assert "\0" not in found[1]


def test_the_design_example() -> None:
    """`project:deploy/staging%20notes.md` is the file `deploy/staging notes.md`."""
    assert make_ref("project", "deploy/staging notes.md") == "project:deploy/staging%20notes.md"
    assert split_ref("project:deploy/staging%20notes.md") == ("project", "deploy/staging notes.md")


def test_composed_and_decomposed_names_are_two_refs() -> None:
    """Nothing is normalised: NFC and NFD, upper and lower case stay apart."""
    composed, decomposed = (unicodedata.normalize(form, "é.md") for form in ("NFC", "NFD"))
    assert make_ref("user", composed) == "user:%C3%A9.md"
    assert make_ref("user", decomposed) == "user:e%CC%81.md"
    assert split_ref("user:e%CC%81.md") == ("user", decomposed)
    assert make_ref("user", "A.md") != make_ref("user", "a.md")


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "a.md",
        ":a.md",
        "project:",
        "project",
        "agent:a.md",
        "Project:a.md",
        "project:/etc/passwd",
        "project:../a.md",
        "project:a/../b.md",
        "project:./a.md",
        "project:a//b.md",
        "project:a/",
        "project:%2E%2E/a.md",
        "project:..%2Fa.md",
        "project:a%2Fb.md",
        "project:a%00.md",
        "project:a%2.md",
        "project:a%zz.md",
        "project:100%.md",
        "project:a b.md",
        "project:a%2db.md",
        "project:%e5%ba%93.md",
        "project:库.md",
        "project:a\\b.md",
        " project:a.md",
        "project:a.md\n",
    ],
)
def test_what_is_no_ref_is_none(ref: str) -> None:
    """Unknown scopes, bad or needless escapes, empty, absolute and climbing paths: no refs."""
    assert split_ref(ref) is None


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a\0b"])
def test_what_is_no_path_makes_no_ref(path: str) -> None:
    """A ref is only made of a path below a root, and of a known scope."""
    with pytest.raises(ValueError, match="not a path"):
        make_ref("project", path)
    with pytest.raises(ValueError, match="unknown scope"):
        make_ref("agent", "a.md")


# Suggestions ----------------------------------------------------------------------------------

KNOWN = [
    make_ref(scope, path)
    for scope, path in [
        ("project", "deploy/staging notes.md"),
        ("project", "deploy/production.md"),
        ("project", "部署/测试环境说明.md"),
        ("project", "café/menü.md"),
        ("project", "README.md"),
        ("project", "docs/100%.md"),
        ("project", "docs/[draft] plan.md"),
        ("project", "docs/a%20b.md"),
        ("project", "log-2024.md"),
        ("project", "shared.md"),
        ("user", "shared.md"),
        ("user", "preferences.mdx"),
        ("user", "a/tools.md"),
        ("user", "b/tools.md"),
        ("team", "Code Style.markdown"),
        ("team", "skills/SKILL.md"),
        ("team", "skills/skill.md"),
        ("team", os.fsdecode(b"bytes/caf\xe9.md")),
    ]
]
INDEX = RefIndex(KNOWN)
STAGING = "project:deploy/staging%20notes.md"
CHINESE = make_ref("project", "部署/测试环境说明.md")
MENU = make_ref("project", "café/menü.md")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("deploy/staging%20notes.md", STAGING),
        ("deploy/staging notes.md", STAGING),
        ("project:deploy/staging notes.md", STAGING),
        ("project:deploy/staging notes", STAGING),
        ("Project:Deploy/Staging%20Notes.MD", STAGING),
        ("project%3Adeploy%2Fstaging%20notes.md", STAGING),
        ("staging notes.md", STAGING),
        ("staging%20notes", STAGING),
        ("./deploy/staging notes.md", STAGING),
        ("/deploy//./staging notes.md", STAGING),
        ("deploy\\staging notes.md", STAGING),
        ("[project:deploy/staging%20notes.md]", STAGING),
        ("`project:deploy/staging%20notes.md`", STAGING),
        ("├── [project:deploy/staging%20notes.md] Staging [draft]", STAGING),
        ("[Staging](project:deploy/staging%20notes.md)", STAGING),
        (" “project:deploy/staging notes.md”, ", STAGING),
        ("user:deploy/staging%20notes.md", STAGING),
        ("project:deploy/stagin%20notes.md", STAGING),
        ("stagign-notes", STAGING),
        ("project:dploy/staging_notes.md", STAGING),
        ("project:部署/测试环境说明.md", CHINESE),
        ("测试环境说明", CHINESE),
        ("测试环境的说明", CHINESE),
        (CHINESE.lower(), CHINESE),
        (unicodedata.normalize("NFD", "project:café/menü.md"), MENU),
        ("cafe\u0301/men%C3%BC", MENU),
        ("CAFÉ/MENÜ.md", MENU),
        ("readme", "project:README.md"),
        ("docs/100%.md", "project:docs/100%25.md"),
        ("docs/[draft] plan.md", "project:docs/%5Bdraft%5D%20plan.md"),
        ("a%20b.md", "project:docs/a%2520b.md"),
        ("a b.md", None),
        ("preferences", "user:preferences.mdx"),
        ("preferences.md", "user:preferences.mdx"),
        ("code style", "team:Code%20Style.markdown"),
        ("project:shared", "project:shared.md"),
        ("a/tools", "user:a/tools.md"),
        ("skills/SKILL.md", "team:skills/SKILL.md"),
        ("skill.md", "team:skills/skill.md"),
        ("bytes/caf%e9.md", "team:bytes/caf%E9.md"),
    ],
)
def test_the_one_memory_that_is_meant_is_suggested(text: str, meant: str | None) -> None:
    """Scope, escapes, case, extension, folders, wrapping and typos are seen through."""
    assert INDEX.resolve(text) is None
    assert INDEX.suggest(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "shared.md",
        "team:shared.md",
        "tools",
        "c/tool",
        "Skill.md",
        "log-2025.md",
        "log-2204",
        "",
        " ",
        "[]",
        "``",
        "project:",
        ":",
        "/",
        "..",
        "../..",
        ".md",
        "x",
        "md",
        "something else entirely",
        "\ud83d",
        "project:%",
        "deploy",
        "x" * LONGEST,
        "project:" + "[" * LONGEST,
        "(" * 1_000 + "[" * 900,
    ],
)
def test_nothing_is_suggested_where_none_or_several_may_be_meant(text: str) -> None:
    """Two equally good candidates, another number, or nothing alike: no suggestion."""
    assert INDEX.suggest(text) is None


def test_a_typo_between_two_near_names_is_not_guessed() -> None:
    """The nearest name is suggested only where the second is clearly further away."""
    index = RefIndex(["project:staging-notes.md", "project:staging-noted.md", "user:planning.md"])
    assert index.suggest("staging-note") is None
    assert index.suggest("staging-noteq") is None
    assert index.suggest("staging-notess") == "project:staging-notes.md"
    assert index.suggest("planing") == "user:planning.md"
    assert index.suggest("project:planing") is None


@given(st.text(max_size=60))
def test_what_is_suggested_is_known(text: str) -> None:
    """Whatever the text, the answer is a known ref or None."""
    for asked in (text, f"project:{text}", f"[{text}] x"):
        assert INDEX.suggest(asked) in {None, *KNOWN}


@given(st.lists(st.tuples(scopes, paths), min_size=1, max_size=8), st.data())
def test_every_ref_is_found_without_its_escapes(
    files: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Any known ref resolves to itself, and is suggested for its own raw scope and path unless
    that text is a way to write another one."""
    index = RefIndex(make_ref(*file) for file in files)
    scope, path = data.draw(st.sampled_from(files))
    ref = make_ref(scope, path)
    assert index.resolve(ref) == index.suggest(ref) == ref
    if len(files) == 1 and path == path.strip() and "\\" not in path:
        assert index.suggest(f"{scope}:{path}") == ref


def test_a_set_of_refs_is_used_as_it_is() -> None:
    """No copy is made of a set, and an empty index suggests nothing."""
    refs = frozenset(KNOWN)
    assert RefIndex(refs)._refs is refs
    assert RefIndex([]).suggest("project:a.md") is None


@pytest.mark.timeout(60)
def test_a_hundred_thousand_refs_are_no_trouble() -> None:
    """Suggestions over 100,000 refs, plain, Chinese, or all of one name, end soon."""
    for pattern in ("folder-{}/notes-{}.md", "目录{}/说明文档-{}.md", "skills-{}-{}/SKILL.md"):
        refs = [make_ref("project", pattern.format(n % 97, n)) for n in range(100_000)]
        index = RefIndex(refs)
        raw = pattern.format(5, 5)
        for text in (raw, raw.upper(), f"user:{raw}", raw.rpartition("/")[2], "x", raw[1:], "zzz"):
            assert index.suggest(text) in (None, refs[5])
        assert index.suggest(raw) == refs[5]


def test_exact_refs_never_pay_for_rapidfuzz() -> None:
    """Resolving, and mending anything but a typo, does not import `rapidfuzz`."""
    script = (
        "import sys; from recall.core.refs import RefIndex\n"
        "index = RefIndex(['project:deploy/notes.md'])\n"
        "assert index.resolve('project:deploy/notes.md') and index.suggest('Notes')\n"
        "assert 'rapidfuzz' not in sys.modules\n"
        "assert index.suggest('noets') and 'rapidfuzz' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
