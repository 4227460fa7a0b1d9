"""The three languages that hosts speak with models: how an answer is put, where a text stands."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Content = str | tuple[str, dict[str, Any]]
Spoken = tuple[str, bytes]

_numbers = itertools.count(1)


def messages(body: dict[str, Any], content: Content, tokens: int) -> Spoken:
    """Anthropic's `/v1/messages`."""
    number = next(_numbers)
    if isinstance(content, str):
        block: dict[str, Any] = {"type": "text", "text": content}
        opened = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": content}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number:08}", "name": content[0]}
        opened = {**block, "input": {}}
        block = {**block, "input": content[1]}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(content[1])}
    reason = "end_turn" if isinstance(content, str) else "tool_use"
    message = {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 20},
    }
    if not body.get("stream"):
        return "application/json", json.dumps(message).encode()
    events = [
        {
            "type": "message_start",
            "message": {**message, "content": [], "stop_reason": None},
        },
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 20},
        },
        {"type": "message_stop"},
    ]
    return _events(events)


def chat_completions(body: dict[str, Any], content: Content, tokens: int) -> Spoken:
    """OpenAI's `/v1/chat/completions`."""
    number = next(_numbers)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if not isinstance(content, str):
        function = {"name": content[0], "arguments": json.dumps(content[1])}
        call = {"index": 0, "id": f"call_{number:08}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
    reason = "stop" if isinstance(content, str) else "tool_calls"
    head = {"id": f"chat_{number:08}", "created": 1, "model": body.get("model")}
    if not body.get("stream"):
        whole = {
            **head,
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": usage,
        }
        return "application/json", json.dumps(whole).encode()
    head["object"] = "chat.completion.chunk"
    chunks = [
        {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**head, "choices": [], "usage": usage},
    ]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode()


def responses(body: dict[str, Any], content: Content, tokens: int) -> Spoken:
    """OpenAI's `/v1/responses`."""
    number = next(_numbers)
    if isinstance(content, str):
        item: dict[str, Any] = {
            "type": "message",
            "id": f"item_{number:08}",
            "role": "assistant",
            "content": [{"type": "output_text", "text": content, "annotations": []}],
        }
    else:
        namespace, _, name = content[0].rpartition("/")
        item = {
            "type": "function_call",
            "id": f"item_{number:08}",
            "call_id": f"call_{number:08}",
            "name": name,
            "arguments": json.dumps(content[1]),
        }
        if namespace:
            item["namespace"] = namespace
    response = {"id": f"resp_{number:08}", "object": "response", "model": body.get("model")}
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 20,
    }
    events = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [item], "usage": usage},
        },
    ]
    return _events(events)


SPEAKERS: dict[str, Callable[[dict[str, Any], Content, int], Spoken]] = {
    "/v1/messages": messages,
    "/v1/chat/completions": chat_completions,
    "/v1/responses": responses,
}


def _events(events: Iterable[dict[str, Any]]) -> Spoken:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return "text/event-stream", "".join(lines).encode()


def places(body: dict[str, Any], marker: str) -> list[str]:
    """Where `marker` stands in a request: `system`, `tools`, or `messages[3]: user`."""
    found = []
    for key, value in body.items():
        if key in ("messages", "input") and isinstance(value, list):
            for index, message in enumerate(value):
                role = message.get("role") or message.get("type")
                count = sum(text.count(marker) for text in texts(message))
                found += [f"{key}[{index}]: {role}"] * count
        else:
            found += [key] * sum(text.count(marker) for text in texts(value))
    return found


def texts(value: object) -> Iterator[str]:
    """Every text in a piece of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
