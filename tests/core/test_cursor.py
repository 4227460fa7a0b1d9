"""Cursors round trip, and nothing else than a cursor issued here is ever accepted."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import Signer

from recall.core.cursor import FARTHEST, LONGEST, BranchCursor, CursorSigner, MemoryCursor
from recall.errors import InvalidCursor
from recall.structs import replace

OLD, NEW, FOREIGN = b"o" * 32, b"n" * 32, b"f" * 32
REF = "project:deploy/staging%20notes.md"
MEMORY = MemoryCursor(REF, "v0123456789abcdef", 8_000)
BACK = MemoryCursor(REF, "v0123456789abcdef", 400, until=1_600)
BRANCH = BranchCursor("tech_stack", ("project", "user"), "project:a.md")
SIGNER = CursorSigner([OLD, NEW])

texts = st.text(min_size=1, max_size=30)
versions = st.binary(min_size=8, max_size=8).map(lambda data: f"v{data.hex()}")
offsets = st.integers(0, FARTHEST - 1)
memory_cursors = st.builds(
    lambda ref, version, offset, more: MemoryCursor(
        ref, version, offset, None if more is None else min(offset + more, FARTHEST)
    ),
    texts,
    versions,
    offsets,
    st.none() | st.integers(1, 10_000),
)
branch_cursors = st.builds(
    BranchCursor, texts, st.lists(texts, min_size=1, max_size=3).map(tuple), texts
)


def signed(
    payload: bytes, purpose: str = "memory", key: bytes = NEW, ref: str = REF, **options: Any
) -> str:
    """Return a payload with half of the signature that itsdangerous itself makes of it."""
    how = {"key_derivation": "hmac", "digest_method": hashlib.sha256} | options
    text = encoded(payload)
    whole = Signer(key, salt=f"recall.{purpose}", **how).get_signature(f"{text}.{ref}")
    return f"{text}.{encoded(base64.urlsafe_b64decode(whole + b'==')[:16])}"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def packed(*numbers: int, version: str = "0123456789abcdef") -> bytes:
    """Return what a cursor into a memory holds: a version, and numbers in LEB128."""
    out = bytearray.fromhex(version)
    for number in numbers:
        while number > 127:
            out.append(128 + number % 128)
            number //= 128
        out.append(number)
    return bytes(out)


def refused(token: Any, signer: CursorSigner = SIGNER) -> bool:
    """Return whether a token is refused, with the right error, as any kind of cursor."""
    for read in (
        lambda: signer.read_memory(token, REF),
        lambda: signer.read_branch(token, BRANCH.category, BRANCH.scopes),
    ):
        try:
            read()
        except InvalidCursor as error:
            assert error.details()["code"] == "INVALID_CURSOR"
            assert error.fix
        else:
            return False
    return True


@given(memory_cursors)
def test_a_memory_cursor_comes_back_as_it_was(cursor: MemoryCursor) -> None:
    """Issue and read give the same value, and the token is URL-safe."""
    token = SIGNER.issue(cursor)
    assert SIGNER.read_memory(token, cursor.ref) == cursor
    assert set(token) <= set(string.ascii_letters + string.digits + "-_.")


@given(branch_cursors)
def test_a_branch_cursor_comes_back_as_it_was(cursor: BranchCursor) -> None:
    """Issue and read give the same value; the order of the scopes does not matter."""
    token = SIGNER.issue(cursor)
    assert SIGNER.read_branch(token, cursor.category, cursor.scopes) == cursor
    assert SIGNER.read_branch(token, cursor.category, cursor.scopes[::-1]) == cursor


def test_undecodable_names_and_long_refs_are_carried() -> None:
    """A category named by a folder's stray bytes and a ref of 12,288 characters work."""
    branch = BranchCursor("caf\udce9", ("team",), "team:caf%E9/x.md")
    assert SIGNER.read_branch(SIGNER.issue(branch), branch.category, branch.scopes) == branch
    memory = MemoryCursor("user:" + "%E6" * 4_096, MEMORY.version, 5)
    assert SIGNER.read_memory(SIGNER.issue(memory), memory.ref) == memory


def test_a_cursor_survives_a_restart_and_keys_rotate() -> None:
    """The same keys read it in another process; a new last key signs, older ones still verify,
    and a key that was dropped no longer does."""
    token = CursorSigner([OLD]).issue(MEMORY)
    assert CursorSigner([OLD]).read_memory(token, REF) == MEMORY
    assert CursorSigner([OLD, NEW]).read_memory(token, REF) == MEMORY
    newer = CursorSigner([OLD, NEW]).issue(MEMORY)
    assert newer == CursorSigner([NEW]).issue(MEMORY) != token
    assert refused(token, CursorSigner([NEW]))
    assert refused(newer, CursorSigner([OLD]))


@pytest.mark.parametrize("keys", [[], [b""], [b"n" * 32, b"short"]])
def test_a_key_that_is_no_secret_is_refused(keys: list[bytes]) -> None:
    """No keys, or a short one, are an error at once and not a signature that anyone can make."""
    with pytest.raises(ValueError, match="16 bytes"):
        CursorSigner(keys)


def test_signatures_are_half_of_what_itsdangerous_makes() -> None:
    """Over payload and ref: another implementation writes and reads the same token."""
    assert signed(packed(8_000)) == SIGNER.issue(MEMORY)
    assert signed(packed(400, 1_600)) == SIGNER.issue(BACK)
    assert SIGNER.read_memory(signed(packed(5)), REF) == replace(MEMORY, offset=5)


@given(memory_cursors)
def test_a_cursor_into_a_memory_is_short(cursor: MemoryCursor) -> None:
    """Models read it, whatever the ref: 37 to 39 characters for a body of less than 2 MB."""
    near = replace(cursor, offset=cursor.offset % 2**21, until=None)
    assert len(SIGNER.issue(near)) <= 39


def test_a_cursor_for_something_else_is_refused() -> None:
    """Another ref, purpose, category, scope or key: invalid; the error says for what."""
    memory, branch = SIGNER.issue(MEMORY), SIGNER.issue(BRANCH)
    with pytest.raises(InvalidCursor, match="issued here for this memory") as caught:
        SIGNER.read_memory(memory, "project:other.md")
    assert caught.value.details()["ref"] == "project:other.md"
    with pytest.raises(InvalidCursor):
        SIGNER.read_memory(branch, REF)
    with pytest.raises(InvalidCursor):
        SIGNER.read_branch(memory, BRANCH.category, BRANCH.scopes)
    with pytest.raises(InvalidCursor, match="tech_stack in project, user"):
        SIGNER.read_branch(branch, "hobbies", BRANCH.scopes)
    for scopes in (["project"], ["project", "team"], ["project", "user", "team"], []):
        with pytest.raises(InvalidCursor):
            SIGNER.read_branch(branch, BRANCH.category, scopes)
    assert refused(CursorSigner([FOREIGN]).issue(MEMORY))


@pytest.mark.parametrize("token", ["", ".", "a.b", None, 5, b"x.y", ["x"], "x" * LONGEST + ".y"])
def test_what_is_no_token_is_refused(token: Any) -> None:
    """Any other value is an invalid cursor and no other error."""
    assert refused(token)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"short",
        packed(),
        packed(1, 2, 3),
        packed(5, 5),
        packed(5, 4),
        packed(FARTHEST + 1),
        packed(0, FARTHEST + 1),
        packed(10**4_000),
        packed(5) + b"\x80",
        packed() + b"\x85\x00",
        json.dumps([REF, MEMORY.version, 5, None]).encode(),
    ],
)
def test_a_signed_payload_of_another_shape_is_refused(payload: bytes) -> None:
    """The signature alone does not make a cursor: shape and ranges are checked."""
    assert refused(signed(payload))


@pytest.mark.parametrize(
    "payload",
    [
        ["tech_stack", "project", "a"],
        ["tech_stack", [], "a"],
        ["tech_stack", ["project", 5], "a"],
        ["tech_stack", ["project", "user"], ""],
        ["tech_stack", ["project", "user"], None],
        ["tech_stack", ["project", "user"]],
        ["tech_stack", ["project", "user"], "a", "b"],
        ["", ["project", "user"], "a"],
        {"category": "tech_stack"},
        None,
    ],
)
def test_a_signed_listing_of_another_shape_is_refused(payload: Any) -> None:
    """The same for cursors into a listing."""
    assert refused(signed(json.dumps(payload).encode(), "branch", ref=""))
    assert refused(signed(b"[" * 40_000, "branch", ref=""))


def test_other_ways_to_sign_are_refused() -> None:
    """Other derivations, salts, digests and refs, and whole signatures: nothing verifies."""
    payload = packed(5)
    assert SIGNER.read_memory(signed(payload), REF)
    assert refused(signed(payload, key_derivation="django-concat"))
    assert refused(signed(payload, key_derivation="none"))
    assert refused(signed(payload, digest_method=hashlib.sha1))
    assert refused(signed(payload, digest_method=hashlib.sha512))
    assert refused(signed(payload, purpose="branch"))
    assert refused(signed(payload, purpose="memory "))
    assert refused(signed(payload, ref=""))
    assert refused(signed(payload, ref=REF + "."))
    whole = Signer(NEW, salt="recall.memory", key_derivation="hmac", digest_method=hashlib.sha256)
    assert refused(
        f"{encoded(payload)}.{whole.get_signature(f'{encoded(payload)}.{REF}').decode()}"
    )


@pytest.mark.parametrize(
    "cursor",
    [
        replace(MEMORY, offset=-1),
        replace(MEMORY, offset=True),
        replace(MEMORY, offset=5, until=5),
        replace(MEMORY, offset=FARTHEST + 1),
        replace(MEMORY, version=""),
        replace(MEMORY, version="v1"),
        replace(MEMORY, version="v0123456789ABCDEF"),
        replace(MEMORY, ref=""),
        BranchCursor("tech_stack", ("project",), "x" * LONGEST),
        BranchCursor("tech_stack", (), "project:a.md"),
        BranchCursor("tech_stack", ("project",), ""),
        BranchCursor("tech_stack", ["project"], "project:a.md"),  # type: ignore[arg-type]
    ],
)
def test_what_could_not_be_read_back_is_not_issued(cursor: MemoryCursor | BranchCursor) -> None:
    """A cursor that would be refused later is an error now."""
    with pytest.raises(ValueError, match="read back"):
        SIGNER.issue(cursor)


# A hundred thousand mutations -----------------------------------------------------------------

ALPHABET = string.ascii_letters + string.digits + "-_"
LOOKALIKES = "аеорсухАВЕКМНОРСТХ０１ＡＢａｂ．‐–＿ıſK\u0301\u200b\u00ad\ufeff"
FOREIGN_CHARACTERS = " \t\n\r\x00\x0b\x7f\x85\u00a0\u2028.,=+/%~\"'" + LOOKALIKES + "\ud800🇦"


def one_step_mutations(token: str, rng: random.Random) -> Iterator[str]:
    """Yield every truncation, bit flip, swap of case or neighbours, insertion and deletion."""
    yield from (token[:n] for n in range(len(token)))
    yield from (token[n:] for n in range(1, len(token)))
    for n, character in enumerate(token):
        head, tail = token[:n], token[n + 1 :]
        yield head + tail
        yield head + character * 2 + tail
        yield head + character.swapcase() + tail
        yield head + token[n + 1 : n + 2] + character + token[n + 2 :]
        yield from (head + chr(ord(character) ^ 1 << bit) + tail for bit in range(16))
        yield from (head + other + tail for other in rng.sample(ALPHABET, 20))
        yield from (head + other + tail for other in FOREIGN_CHARACTERS)
        yield from (head + other + character + tail for other in FOREIGN_CHARACTERS)
    for other in ALPHABET + FOREIGN_CHARACTERS:
        yield from (token + other, other + token, token + other * 3, token[:-1] + other)
    payload, signature = token.split(".")
    for part in (".", "..", "=", "=="):
        yield from (part + token, token + part, payload + part + "." + signature)
    yield from (signature + "." + payload, payload + "." + payload, payload, signature)
    yield from (token.upper(), token.lower(), token[::-1], f" {token} ", f'"{token}"')
    yield base64.b64encode(token.encode()).decode()


def recoded(token: str, rng: random.Random) -> str:
    """Return the token with one byte of its payload or signature changed, rightly encoded."""
    parts = token.split(".")
    which = rng.randrange(2)
    raw = bytearray(base64.urlsafe_b64decode(parts[which] + "=" * (-len(parts[which]) % 4)))
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    parts[which] = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    return ".".join(parts)


def rewritten(token: str, rng: random.Random) -> str:
    """Return the token's signature under another payload of a plausible shape."""
    listing = ["tech_stack", ["project", "user"], f"project:{rng.randrange(9_999)}.md"]
    values = [
        packed(rng.randrange(100_000)),
        packed(rng.randrange(100_000), 100_001),
        packed(8_000, version=rng.randbytes(8).hex()),
        json.dumps(listing, separators=(",", ":")).encode(),
    ]
    return f"{encoded(rng.choice(values))}.{token.split('.')[1]}"


def scrambled(token: str, rng: random.Random) -> str:
    """Return the token after one to six random edits."""
    text = list(token)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(text))
        kind = rng.randrange(4)
        if kind == 0:
            text[place] = rng.choice(ALPHABET)
        elif kind == 1:
            text.insert(place, rng.choice(ALPHABET + FOREIGN_CHARACTERS))
        elif kind == 2 and len(text) > 1:
            del text[place]
        else:
            other = rng.randrange(len(text))
            text[place], text[other] = text[other], text[place]
    return "".join(text)


def mutations(tokens: list[str], rng: random.Random) -> Iterator[str]:
    """Yield systematic mutations of each token, parts swapped between them, then random ones."""
    for token in tokens:
        yield from one_step_mutations(token, rng)
    for one in tokens:
        for other in tokens:
            (payload, _), (_, signature) = one.split("."), other.split(".")
            yield f"{payload}.{signature}"
            for n in range(0, min(len(one), len(other)), 3):
                yield one[:n] + other[n:]
    while True:
        yield rng.choice([recoded, rewritten, scrambled])(rng.choice(tokens), rng)


def test_a_hundred_thousand_mutations_are_all_refused() -> None:
    """No mutated token is accepted, for any purpose, under two keys."""
    rng = random.Random(20_26)
    foreign = CursorSigner([FOREIGN])
    genuine = [SIGNER.issue(c) for c in (MEMORY, BACK, BRANCH)]
    genuine.append(CursorSigner([OLD]).issue(MEMORY))
    genuine.append(SIGNER.issue(MemoryCursor("project:other.md", MEMORY.version, 8_000)))
    seen: set[str] = set(genuine)
    for mutated in mutations([*genuine, foreign.issue(MEMORY)], rng):
        if mutated in seen:
            continue
        seen.add(mutated)
        assert refused(mutated), mutated
        if len(seen) > 100_000 + len(genuine):
            break
