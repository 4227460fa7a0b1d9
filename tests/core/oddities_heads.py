"""What people write in heads, and what a person sees there: the tables of the parser's tests.

Each row is a name, the text between the fences, what must come of it, and the faults by kind.
Only fields that are named are compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    name: str
    head: str
    expected: dict[str, Any]
    faults: tuple[str, ...] = ()


SYNTAX = ("yaml-syntax",)

TITLES = [
    Row("colon in a title", "title: a: b", {"title": "a: b"}, SYNTAX),
    Row(
        "colon in the middle field",
        "name: x\ndescription: Use when: it fails\ntype: user",
        {"title": "x", "description": "Use when: it fails", "type": "user"},
        SYNTAX,
    ),
    Row("windows path", r"title: C:\Users\me\notes.md", {"title": r"C:\Users\me\notes.md"}),
    Row("windows path and colon", r"title: C:\a: b", {"title": r"C:\a: b"}, SYNTAX),
    Row("quoted windows path", r'title: "C:\dir\new"', {"title": r"C:\dir\new"}, SYNTAX),
    Row("italic", "title: *Italic*", {"title": "*Italic*"}, SYNTAX),
    Row("italic word first", "title: *Italic* and more", {"title": "*Italic* and more"}, SYNTAX),
    Row("alias to nothing", "title: *nothing", {"title": "*nothing"}),
    Row("bold", "title: **Bold** and more", {"title": "**Bold** and more"}, SYNTAX),
    Row("wikilink", "title: [[wikilink]]", {"title": "wikilink"}),
    Row(
        "wikilink with suffix", "title: [[wikilink]]suffix", {"title": "[[wikilink]]suffix"}, SYNTAX
    ),
    Row("brackets twice", "title: [a|b] [c]", {"title": "[a|b] [c]"}, SYNTAX),
    Row("tag then text", "title: [WIP] rename it", {"title": "[WIP] rename it"}, SYNTAX),
    Row("backtick", "title: `code` first", {"title": "`code` first"}, SYNTAX),
    Row("percent", "title: %TEMP% folder", {"title": "%TEMP% folder"}, SYNTAX),
    Row("at sign", "title: @alice's notes", {"title": "@alice's notes"}, SYNTAX),
    Row("two bangs", "title: !! Before using it", {"title": "!! Before using it"}, SYNTAX),
    Row("bang word", "title: !important read this", {"title": "!important read this"}),
    Row("unknown double tag", "title: !!x y", {"title": "!!x y"}),
    Row("known tag", "title: !!str 12", {"title": "12"}),
    Row("ampersand", "title: &nbsp and more", {"title": "&nbsp and more"}),
    Row("comma first", "title: , and then", {"title": ", and then"}, SYNTAX),
    Row("dash first", "title: - a dash", {"title": "- a dash"}, SYNTAX),
    Row("quoted beginning", 'title: "x" and more', {"title": '"x" and more'}, SYNTAX),
    Row("two quoted", 'title: "x" and "y"', {"title": '"x" and "y"'}, SYNTAX),
    Row("nested quotes", 'title: "He said "hi" to me"', {"title": 'He said "hi" to me'}, SYNTAX),
    Row(
        "nested quotes, Chinese", 'title: "请说"启动"来启动"', {"title": '请说"启动"来启动'}, SYNTAX
    ),
    Row("apostrophe in quotes", "title: 'It's fine'", {"title": "It's fine"}, SYNTAX),
    Row("curly quotes", "title: “Curly” ‘quotes’", {"title": "“Curly” ‘quotes’"}),
    Row(
        "lone opening quote",
        'title: "unclosed\ndescription: fine',
        {"title": "unclosed", "description": "fine"},
        SYNTAX,
    ),
    Row(
        "quoted with comma behind",
        '"name": "x",\n"description": "y"',
        {"title": "x", "description": "y"},
        SYNTAX,
    ),
    Row("date", "title: 2026-06-03", {"title": "2026-06-03"}),
    Row("date and time", "title: 2026-06-03 10:20:30", {"title": "2026-06-03 10:20:30"}),
    Row("octal", "title: 0755", {"title": "0755"}),
    Row("sexagesimal", "title: 12:30:45", {"title": "12:30:45"}),
    Row("yes", "title: yes", {"title": "yes"}),
    Row("no", "title: no", {"title": "no"}),
    Row("exponent", "title: 1e3", {"title": "1e3"}),
    Row("number", "name: 8004", {"title": "8004"}),
    Row("version", "title: 1.0", {"title": "1.0"}),
    Row("surrogate escapes", r'title: "\ud83d\ude00 ok"', {"title": "😀 ok"}, SYNTAX),
    Row("lone surrogate", r'title: "\ud83d ok"', {"title": "\ufffd ok"}, SYNTAX),
    Row("escape of the standard", r'title: "\U+1F4E7 mail"', {"title": "📧 mail"}, SYNTAX),
    Row("yaml escape", r'title: "\U0001F914 Question\u0021"', {"title": "🤔 Question!"}),
    Row("template", "title: {{ title }}", {"title": "{{ title }}"}, ("template",)),
    Row("quoted template", 'title: "{{title}}"', {"title": "{{title}}"}, ("template",)),
    Row(
        "template and text",
        "title: {{ a }} notes",
        {"title": "{{ a }} notes"},
        ("yaml-syntax", "template"),
    ),
    Row("liquid", "title: {% title %}", {"title": "{% title %}"}, ("yaml-syntax", "template")),
    Row("placeholder then text", "title: {AGENT} notes", {"title": "{AGENT} notes"}, SYNTAX),
    Row("mapping, then a text", "name: {a: b}\ntitle: Real", {"title": "Real"}, ("not-text",)),
    Row("list, then a text", "name: [a]\ntitle: Real", {"title": "Real"}, ("not-text",)),
    Row("null, then a text", "name: null\ntitle: Real", {"title": "Real"}, ("empty-value",)),
    Row("tilde, then a text", "name: ~\ntitle: Real", {"title": "Real"}, ("empty-value",)),
    Row("empty, then a text", 'name: ""\ntitle: Real', {"title": "Real"}, ("empty-value",)),
    Row("nothing, then a text", "name:\ntitle: Real", {"title": "Real"}, ("empty-value",)),
    Row("name beats title", "title: second\nname: first", {"title": "first"}),
    Row("folded over lines", "title: one\n  two\n  three", {"title": "one two three"}),
    Row("block scalar", "title: |\n  one\n  two", {"title": "one two"}),
    Row("blanks inside", "title: 'a   b\tc'", {"title": "a b c"}),
    Row("anchor and alias", "author: &a Ann\ntitle: *a", {"title": "*a"}),
    Row(
        "anchor on a field", "name: &a Ann\ndescription: *a", {"title": "Ann", "description": "Ann"}
    ),
    Row(
        "ANSI sequence",
        "title: red \x1b[31malert",
        {"title": "red [31malert"},
        ("control-character",),
    ),
    Row("joiners kept", "title: a\u200db \u202ec", {"title": "a\u200db \u202ec"}),
    Row("line separator", "title: a\u2028b", {"title": "a b"}),
    Row("full width kept", "title: ＡＢＣ", {"title": "ＡＢＣ"}),
    Row("looks like a prompt's tag", "title: <memory>", {"title": "<memory>"}),
]

KEYS = [
    Row("capitalised", "Name: x\nDESCRIPTION: y", {"title": "x", "description": "y"}),
    Row(
        "full-width colon",
        "name：x\ndescription：y",
        {"title": "x", "description": "y"},
        SYNTAX * 2,
    ),
    Row(
        "no blank behind the colon",
        "name:x\ndescription:y",
        {"title": "x", "description": "y"},
        SYNTAX * 2,
    ),
    Row(
        "one without a blank",
        "name: x\ndescription:y z\ntype: user",
        {"title": "x", "description": "y z", "type": "user"},
        SYNTAX,
    ),
    Row(
        "nbsp entity",
        "&nbsp;name: x\n&nbsp;description: y",
        {"title": "x", "description": "y"},
        SYNTAX * 2,
    ),
    Row("nbsp character", "\xa0name: x\n\xa0description: y", {"title": "x", "description": "y"}),
    Row(
        "tab before the second key",
        "name: x\n\tdescription: y",
        {"title": "x", "description": "y"},
        SYNTAX * 2,
    ),
    Row(
        "blank before the second key",
        "name: x\n description: y",
        {"title": "x", "description": "y"},
        SYNTAX,
    ),
    Row("tab behind the colon", "name:\tx", {"title": "x"}),
    Row(
        "all indented",
        "  name: x\n  description: y: z\n  keywords: [a, b]",
        {"title": "x", "description": "y: z", "keywords": ("a", "b")},
        SYNTAX,
    ),
    Row(
        "spellings",
        "usage-scenarios: a\nKEY WORDS: [b, c]",
        {"usage_scenarios": ("a",), "keywords": ("b", "c")},
    ),
    Row("camel case", "usageScenarios: [a]", {"usage_scenarios": ("a",)}),
    Row("quoted keys", "'name': x\n\"description\": y", {"title": "x", "description": "y"}),
    Row("flow mapping", "{name: x, description: y}", {"title": "x", "description": "y"}),
    Row("duplicate", "name: a\nname: b", {"title": "b"}, ("duplicate-key",)),
    Row("a key named handler", "handler: x\nname: y", {"title": "y"}),
    Row("summary", "summary: s", {"description": "s"}),
    Row("intro", "intro: s", {"description": "s"}),
    Row("description beats summary", "summary: s\ndescription: d", {"description": "d"}),
    Row("merge key", "<<: *base\nname: x", {"title": "x"}),
    Row("blank lines between", "\nname: x\n\ndescription: y\n", {"title": "x", "description": "y"}),
    Row("comment first", "# fixed\nname: x", {"title": "x"}),
    Row("dots between keys", "name: x\n...\ndescription: y", {"title": "x", "description": "y"}),
    Row(
        "conflict markers",
        "name: x\n<<<<<<< ours\ntype: user\n=======\ntype: project\n>>>>>>> theirs",
        {"title": "x", "type": "project"},
        ("conflict-markers", "duplicate-key", "yaml-syntax"),
    ),
]

DESCRIPTIONS = [
    Row(
        "hash kept",
        "description: PR #762 fixes the build",
        {"description": "PR #762 fixes the build"},
    ),
    Row("hash first", "description: #762 fixes the build", {"description": "#762 fixes the build"}),
    Row("comment is text", "description: fine # really", {"description": "fine # really"}),
    Row("quoted, then a comment", 'description: "a # b" # c', {"description": "a # b"}),
    Row("folded", "description: >\n  a\n  b\n\n  c", {"description": "a b c"}),
    Row("below its key", "description:\n  a b\n  c", {"description": "a b c"}),
    Row(
        "paragraphs below",
        "description: one: two\n\nthree, and\n- four\ntype: user",
        {"description": "one: two three, and - four", "type": "user"},
        SYNTAX,
    ),
    Row(
        "block, then bad",
        "description: |\n  a: b\n  - c\nhomepage: -\ntype: user",
        {"description": "a: b - c", "type": "user"},
        SYNTAX,
    ),
    Row(
        "bad metadata",
        'name: x\nmetadata: {"emoji": "\\ud83d\\ude00"}\ndescription: d',
        {"title": "x", "description": "d"},
        SYNTAX,
    ),
    Row(
        "many lines of bad metadata",
        'name: x\nmetadata:\n  {\n    "a": [1, 2\n  }\ndescription: d',
        {"title": "x", "description": "d"},
        SYNTAX,
    ),
    Row(
        "list where a text belongs",
        "description: [a, b]\nsummary: s",
        {"description": "s"},
        ("not-text",),
    ),
]

WORDS = [
    Row(
        "comments behind words",
        "type: user # c\ncategory: a/b # d",
        {"type": "user", "category": "a/b"},
    ),
    Row("type in any case", "type: Feedback", {"type": "feedback"}),
    Row("nested type", "metadata:\n  node_type: memory\n  type: feedback", {"type": "feedback"}),
    Row("flat type first", "type: user\nmetadata:\n  type: feedback", {"type": "user"}),
    Row("flat type of others", "type: note\nmetadata:\n  type: project", {"type": "project"}),
    Row("type of others", "type: note", {"type": ""}, ("unknown-type",)),
    Row("metadata as a string", 'metadata: \'{"type": "user"}\'', {"type": ""}),
    Row(
        "nested type, salvaged",
        "metadata:\n  type: user # c\n  bad: a: b",
        {"type": "user"},
        SYNTAX,
    ),
    Row("category number", "category: 2013", {"category": "2013"}),
    Row("categories", "categories: [a, b]", {"category": "a"}),
    Row("category list", "category:\n  - a\n  - b", {"category": "a"}),
    Row("category null", "category: ~", {"category": ""}),
    Row("pinned, version", "pinned: yes\nversion: 3", {"pinned": True, "entry_version": 3}),
    Row("version of others", "version: 1.0.0", {"entry_version": None}),
    Row(
        "dates as text",
        "created: 2026-06-03\nupdated: 2026-06-04T10:00:00Z",
        {"created": "2026-06-03", "updated": "2026-06-04T10:00:00Z"},
    ),
    Row(
        "id, agent, source",
        "id: 007\nagent: scout\nsource: https://example.org/#x",
        {"id": "007", "agent": "scout", "source": "https://example.org/#x"},
    ),
]

LISTS = [
    Row("null tags", "tags: null", {"tags": (), "keywords": ()}),
    Row("one string", "tags: one string", {"tags": ("one string",), "keywords": ("one string",)}),
    Row("commas of all kinds", "keywords: a， b、c, d;e", {"keywords": ("a", "b", "c", "d", "e")}),
    Row("nested", "tags: [[a, b], [c, [d]]]", {"tags": ("a", "b", "c", "d")}),
    Row("mapping", "tags: {deploy: true, env: staging, x: }", {"tags": ("deploy", "staging", "x")}),
    Row(
        "numbers",
        "keywords: [1, 2.0, 2026-06-03, true]",
        {"keywords": ("1", "2.0", "2026-06-03", "true")},
    ),
    Row("wikilinks", 'keywords:\n  - "[[a]]"\n  - [[b]]\n  - c', {"keywords": ("a", "b", "c")}),
    Row("hashtags", "tags: '#a, #b'", {"tags": ("a", "b"), "keywords": ("a", "b")}),
    Row("hashtag behind a blank", "tags: '# a, #b'", {"tags": ("a", "b"), "keywords": ("a", "b")}),
    Row("hash in an item", "keywords:\n  - issue #7\n  - b", {"keywords": ("issue #7", "b")}),
    Row("comment behind a flow list", "keywords: [a, b] # c", {"keywords": ("a", "b")}),
    Row(
        "colon in an item",
        "usage_scenarios:\n  - deploying: staging\n  - b",
        {"usage_scenarios": ("deploying: staging", "b")},
    ),
    Row(
        "unclosed",
        "keywords: [a, b\ndescription: d",
        {"keywords": ("a", "b"), "description": "d"},
        SYNTAX,
    ),
    Row("brace in a flow list", "tags: [x/{{y}}, z]", {"tags": ("x/{{y}}", "z")}, SYNTAX),
    Row(
        "stars for dashes",
        "keywords:\n* a\n* b\nname: x",
        {"keywords": ("a", "b"), "title": "x"},
        SYNTAX,
    ),
    Row("template", "tags: {{tags}}", {"tags": (), "keywords": ()}, ("template",)),
    Row(
        "keywords beat tags",
        "tags: [a]\nkeywords: [b, c]",
        {"tags": ("a",), "keywords": ("b", "c")},
    ),
    Row("empty keywords, then tags", "tags: [a]\nkeywords: []", {"keywords": ("a",)}),
    Row("aliases", "aliases: [a, b]", {"keywords": ("a", "b")}),
    Row("tag in a flow list", "tags: [!a x, y]", {"tags": ("!a x", "y")}),
    Row("case-insensitive once", "keywords: [Go, go, GO, CI]", {"keywords": ("Go", "CI")}),
    Row(
        "scenario as one string",
        "usage_scenarios: when, then",
        {"usage_scenarios": ("when, then",)},
    ),
    Row("alias items", "x: &a foo\nkeywords: [*b, c]", {"keywords": ("*b", "c")}),
]

ALL = [*TITLES, *KEYS, *DESCRIPTIONS, *WORDS, *LISTS]
