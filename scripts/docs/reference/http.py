"""What `graspline serve` answers, from the description that FastAPI makes of its routes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from graspline.serve.http.app import description
from reference.markdown import code, sentence, table

HEAD = """# HTTP routes

`graspline serve TASK` answers these, besides the [browser panel](../panel.md). Every request needs the header
`Authorization: Bearer TOKEN`; [the guide](../service.md) shows how to get the token and what the answers mean. A
running server describes itself at `/openapi.json`.
"""


def page() -> str:
    described = description()
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = defaultdict(list)
    for path, methods in described["paths"].items():
        for method, call in methods.items():
            groups[(call.get("tags") or ["other"])[0]].append((method.upper(), path, call))
    parts = [HEAD]
    for tag, calls in groups.items():
        rows = [
            (code(f"{method} {path}"), sentence(call.get("summary", "")), _takes(call, described))
            for method, path, call in calls
        ]
        parts.append(f"## {tag.replace('_', ' ').capitalize()}\n\n{table(('route', 'what it does', 'takes'), rows)}")
    sockets = table(("WebSocket", "sends"), SOCKETS)
    return "\n".join([*parts, f"## WebSockets\n\nThey are read-only.\n\n{sockets}"])


SOCKETS = (
    ("`/ws/state`", "The state of the session, many times a second."),
    ("`/ws/evidence`", "Every state that ends, with its outcome and evidence."),
    ("`/ws/camera/{name}`", "JPEG pictures of one camera; `size` chooses how large."),
)


def _takes(call: dict[str, Any], described: dict[str, Any]) -> str:
    query = [code(each["name"]) for each in call.get("parameters", ()) if each["in"] != "header"]
    content = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields = [code(each) for each in _fields(content, described)]
    return "; ".join(
        part
        for part in (f"body: {', '.join(fields)}" if fields else "", f"query: {', '.join(query)}" if query else "")
        if part
    )


def _fields(schema: dict[str, Any], described: dict[str, Any]) -> list[str]:
    """Keys of a request's body; of alternatives, the keys of all."""
    if "$ref" in schema:
        return _fields(described["components"]["schemas"][schema["$ref"].rpartition("/")[2]], described)
    found = list(schema.get("properties", ()))
    for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        found += [key for key in _fields(each, described) if key not in found]
    return found
