"""What a command line does with files, read from its syntax: nothing is run.

The statements are gone through as a shell would: `cd` moves, variables take values, a pipe hands
on what its left side prints where that is known. What each command does with its words is in
core/shell_commands.py. The grammar is tree-sitter's for bash, imported when it is first used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from recall.core import shell_commands, shell_settings
from recall.core.guard import DYNAMIC, READ, WRITE, Seen, Use
from recall.core.guard_glob import literal, plain
from recall.core.shell_state import NOTHING, UNSEEN, Flow, State
from recall.core.shell_words import Values, Words, encoded, lines, prepared, text_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser
else:
    Node = Parser = Any

_BETWEEN = re.compile(r"[\s;|&<>()\"'`]+")
_DEEPEST = 24
_MOST_USES = 2_000
_LONGEST = 200_000
"""Characters of a command line that is read."""


class NoParser(Exception):
    """The packages that parse shell commands are not installed."""


@cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError as error:
        raise NoParser from error
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def see(command: str, cwd: str, env: Mapping[str, str], toplevel: str = "") -> Seen:
    """Return what a command line does, run in `cwd` with these variables.

    `toplevel` is the folder of the git checkout around `cwd`, empty where there is none. Raises
    NoParser where the parser is not installed.
    """
    reader = Reader()
    reader.script(command, State(cwd, env, toplevel), NOTHING)
    return Seen(tuple(dict.fromkeys(reader.uses)), tuple(dict.fromkeys(reader.unknown)))


class Reader:
    """Goes through command lines, and collects what they do."""

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.unknown: list[str] = []
        self.substituted = NOTHING
        """What the last `<(…)` prints."""
        self._depth = 0
        self._groups: Mapping[str, str] = {}

    # -----------------------------------------------------------------------------------------
    # For commands

    def use(self, state: State, path: str, how: str = READ, **more: Any) -> list[Use]:
        """Note that a pattern's files are used; returns what was noted."""
        found = [
            Use(path, cwd, how, dots=state.dots, stars=state.stars, **more) for cwd in state.cwds
        ]
        self.note(found)
        return found

    def note(self, uses: Sequence[Use]) -> None:
        self.uses += uses
        if len(self.uses) > _MOST_USES:
            self.uses[_MOST_USES:] = []
            self.miss("a command line with more paths than are looked at")

    def miss(self, what: str) -> None:
        """Note that something can't be seen."""
        self.unknown.append(what)

    def script(self, text: str, state: State, stdin: Flow) -> Flow:
        """Go through the text of a script."""
        if self._depth > _DEEPEST or len(text) > _LONGEST:
            self.miss("a script that is too long or too deeply nested")
            return UNSEEN
        if DYNAMIC in text:
            self.miss("a script that is only known when it runs")
            return UNSEEN
        ready, groups = prepared(text)
        tree = _parser().parse(encoded(ready))
        outer, self._groups = self._groups, groups
        self._depth += 1
        try:
            if tree.root_node.has_error:
                self.miss("a command line that does not parse")
                for token in dict.fromkeys(_BETWEEN.split(text)):
                    if "/" in token:
                        self.use(state, literal(token))
            return self._all(tree.root_node, state, stdin)
        finally:
            self._depth -= 1
            self._groups = outer

    # -----------------------------------------------------------------------------------------
    # Statements

    def _all(self, node: Node, state: State, stdin: Flow) -> Flow:
        flows = [self._run(child, state, stdin) for child in node.children if child.is_named]
        return _together(flows)

    def _run(self, node: Node, state: State, stdin: Flow) -> Flow:
        self._depth += 1
        try:
            if self._depth > _DEEPEST * 8:
                self.miss("a script that is too deeply nested")
                return UNSEEN
            handler = _HANDLERS.get(node.type)
            if handler is not None:
                return handler(self, node, state, stdin)
            if node.type in ("comment", "heredoc_body", "file_descriptor"):
                return NOTHING
            return self._all(node, state, stdin)
        finally:
            self._depth -= 1

    def _list(self, node: Node, state: State, stdin: Flow) -> Flow:
        """`A && B` and `A || B`: B may come after A, or (`||`) where A did nothing."""
        left, right = node.named_children[0], node.named_children[-1]
        either = any(child.type == "||" for child in node.children)
        before = state.copy() if either else None
        flows = [self._run(left, state, stdin)]
        if before is None:
            flows.append(self._run(right, state, stdin))
            return _together(flows)
        before.join(state)
        flows.append(self._run(right, before, stdin))
        state.join(before)
        return _together(flows)

    def _subshell(self, node: Node, state: State, stdin: Flow) -> Flow:
        return self._all(node, state.copy(), stdin)

    def _pipeline(self, node: Node, state: State, stdin: Flow) -> Flow:
        return self._piped(node.named_children, state, stdin)

    def _piped(self, parts: Sequence[Node], state: State, stdin: Flow) -> Flow:
        flow = stdin
        for part in parts:
            flow = self._run(part, state.copy(), flow)
        return flow

    def _case(self, node: Node, state: State, stdin: Flow) -> Flow:
        words = self._words(state)
        flows = []
        for child in node.children:
            if child.type != "case_item":
                if child.is_named:
                    words.fields(child)
                continue
            taken = state.copy()
            bodies = [
                one
                for at, one in enumerate(child.children)
                if one.is_named and child.field_name_for_child(at) != "value"
            ]
            flows += [self._run(one, taken, stdin) for one in bodies]
            state.join(taken)
        return _together(flows)

    def _perhaps(self, node: Node, state: State, stdin: Flow) -> Flow:
        """What may run or not: afterwards the state is either one."""
        taken = state.copy()
        flow = self._all(node, taken, stdin)
        state.join(taken)
        return flow

    def _for(self, node: Node, state: State, stdin: Flow) -> Flow:
        words = self._words(state)
        values: Values = ()
        named = node.child_by_field_name("variable")
        for child in node.children_by_field_name("value"):
            values += tuple(words.fields(child))
        name = text_of(named) if named else "_"
        if not node.children_by_field_name("value"):
            values = state.lookup("@")
        taken = state.copy()
        taken.variables[name] = values or ("",)
        body = node.child_by_field_name("body")
        flow = self._run(body, taken, stdin) if body else NOTHING
        state.join(taken)
        return flow

    def _function(self, node: Node, state: State, _stdin: Flow) -> Flow:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            state.functions[text_of(name)] = body
        return NOTHING

    def call(self, body: Node, arguments: Sequence[str], state: State, stdin: Flow) -> Flow:
        """Go through a function's body, called with these words."""
        before = state.positional
        state.positional = tuple(arguments)
        flow = self._run(body, state, stdin)
        state.positional = before
        return flow

    # -----------------------------------------------------------------------------------------
    # Assignments, redirections, commands

    def _assignment(self, node: Node, state: State, _stdin: Flow) -> Flow:
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if named is None:
            return NOTHING
        if named.type == "subscript":
            inner = named.child_by_field_name("name")
            state.assign(text_of(inner) if inner else "_", (DYNAMIC,))
            return NOTHING
        words = self._words(state)
        values: Values = ("",)
        if value is not None and value.type == "array":
            fields = [one for c in value.named_children for one in words.fields(c)]
            values = tuple(fields)
        elif value is not None:
            values = words.texts(value)
        more = any(child.type == "+=" for child in node.children)
        state.assign(text_of(named), values, more=more)
        shell_settings.assigned(self, state, text_of(named), values)
        return NOTHING

    def _declaration(self, node: Node, state: State, stdin: Flow) -> Flow:
        refers = any(text_of(child) == "-n" for child in node.named_children)
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assignment(child, state, stdin)
                if refers:
                    named = child.child_by_field_name("name")
                    state.assign(text_of(named) if named else "_", (DYNAMIC,))
            elif child.type == "concatenation" or "string" in child.type:
                for field in self._words(state).fields(child):
                    name, sign, value = field.partition("=")
                    if sign and name.isidentifier():
                        state.assign(name, (value,))
                        shell_settings.assigned(self, state, name, (value,))
        return NOTHING

    def _unset(self, node: Node, state: State, _stdin: Flow) -> Flow:
        for child in node.named_children:
            state.variables[text_of(child)] = ("",)
        return NOTHING

    def _test(self, node: Node, state: State, _stdin: Flow) -> Flow:
        """`[ … ]` and `[[ … ]]` only look whether something is there; what they run counts."""
        self._substitutions(node, state)
        return NOTHING

    def _substitutions(self, node: Node, state: State) -> None:
        for child in node.children:
            if child.type in ("command_substitution", "process_substitution"):
                self._inner(child, state)
            else:
                self._substitutions(child, state)

    def _redirected(self, node: Node, state: State, stdin: Flow) -> Flow:
        body = node.child_by_field_name("body")
        tail: list[Node] = []
        for redirect in node.children:
            if redirect.type.endswith("_redirect"):
                stdin = self._redirect(redirect, state, stdin)
                tail += _behind_heredoc(redirect)
        flow = self._run(body, state, stdin) if body else NOTHING
        # A pipe or an `&&` behind `<<EOF` stands within the redirection.
        for part in tail:
            if part.type == "pipeline":
                flow = self._piped(part.named_children, state, flow)
            else:
                flow = self._run(part, state, stdin)
        return flow

    def _redirect(self, node: Node, state: State, stdin: Flow) -> Flow:
        """Note what a redirection opens; returns what then comes in."""
        words = self._words(state)
        if node.type == "heredoc_redirect":
            return self._heredoc(node, state)
        if node.type == "herestring_redirect":
            texts: Values = ()
            for child in node.named_children:
                texts += words.texts(child)
            return _text_flow(texts)
        operator = next((c.type for c in node.children if not c.is_named), "")
        for target in node.children_by_field_name("destination"):
            for field in words.fields(target):
                if field.isdigit() or field == "-":
                    continue
                reads = operator.startswith("<") and operator != "<>"
                self.use(state, field, READ if reads else WRITE)
        return UNSEEN if operator.startswith("<") else stdin

    def _heredoc(self, node: Node, state: State) -> Flow:
        body = next((c for c in node.children if c.type == "heredoc_body"), None)
        if body is None:
            return NOTHING
        self._substitutions(body, state)
        start = next((c for c in node.children if c.type == "heredoc_start"), None)
        quoted = start is not None and text_of(start)[:1] in ("'", '"', "\\")
        text, dynamic = text_of(body), False
        if not quoted:
            for child in body.named_children:
                if child.type in ("simple_expansion", "expansion", "command_substitution"):
                    values = self._words(state).texts(child)
                    dynamic = dynamic or len(values) != 1
                    text = text.replace(text_of(child), plain(values[0]) if values else DYNAMIC, 1)
        return Flow((text,), unseen=dynamic)

    def _command(self, node: Node, state: State, stdin: Flow) -> Flow:
        words = self._words(state)
        inner = state
        fields: list[str] = []
        parts: list[list[Node]] = []
        assigned = [c for c in node.named_children if c.type == "variable_assignment"]
        named = node.child_by_field_name("name")
        if assigned and named is not None:
            inner = state.copy()
        for one in assigned:
            self._assignment(one, inner, stdin)
        for child in node.named_children:
            if child.type == "variable_assignment":
                continue
            if child.type.endswith("_redirect"):
                stdin = self._redirect(child, state, stdin)
                continue
            if child.type == "subshell":  # of another shell's syntax: what it runs counts
                self._run(child, state, stdin)
                continue
            if parts and parts[-1][-1].end_byte == child.start_byte:
                parts[-1].append(child)
            else:
                parts.append([child])
        for word in parts:
            fields += words.fields(*word)
        if not fields:
            return NOTHING
        flow = shell_commands.run(self, fields, inner, stdin)
        if inner is not state:
            state.cwds = inner.cwds
        return flow

    def _words(self, state: State) -> Words:
        home = state.lookup("HOME")[0]
        return Words(state.lookup, home, lambda node: self._inner(node, state), self._groups)

    def _inner(self, node: Node, state: State) -> Values:
        """Go through a substitution; returns the texts that it may stand for."""
        source = next((c for c in node.children if c.type == "file_redirect"), None)
        if source is not None and len(node.named_children) == 1:  # $(< file)
            self._redirect(source, state, NOTHING)
            return (DYNAMIC,)
        flow = self._all(node, state.copy(), NOTHING)
        shell_commands.consume(self, flow, READ)
        if node.type == "process_substitution":
            self.substituted = flow  # a script, or a list of files
            shell_commands.name_tokens(self, flow.texts, state)
        return flow.values()


_HANDLERS: dict[str, Callable[[Reader, Node, State, Flow], Flow]] = {
    "list": Reader._list,
    "subshell": Reader._subshell,
    "command_substitution": Reader._subshell,
    "process_substitution": Reader._subshell,
    "pipeline": Reader._pipeline,
    "if_statement": Reader._perhaps,
    "while_statement": Reader._perhaps,
    "c_style_for_statement": Reader._perhaps,
    "for_statement": Reader._for,
    "case_statement": Reader._case,
    "function_definition": Reader._function,
    "variable_assignment": Reader._assignment,
    "declaration_command": Reader._declaration,
    "unset_command": Reader._unset,
    "test_command": Reader._test,
    "arithmetic_expansion": Reader._test,
    "redirected_statement": Reader._redirected,
    "command": Reader._command,
}
"""By the grammar's names; what has none is gone through part by part."""


def _together(flows: Sequence[Flow]) -> Flow:
    if len(flows) == 1:
        return flows[0]
    return Flow(
        tuple(text for flow in flows for text in flow.texts),
        tuple(walk for flow in flows for walk in flow.walks),
        any(flow.unseen for flow in flows),
    )


def _text_flow(texts: Values) -> Flow:
    known = tuple(line for text in texts if DYNAMIC not in text for line in lines(plain(text)))
    return Flow(known, unseen=any(DYNAMIC in text for text in texts))


def _behind_heredoc(node: Node) -> list[Node]:
    if node.type != "heredoc_redirect":
        return []
    known = ("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor")
    return [
        child
        for child in node.named_children
        if child.type not in known and not child.type.endswith("_redirect")
    ]
