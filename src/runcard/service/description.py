"""The description of the API (OpenAPI), whole: bodies that routes read themselves, errors and keys; and a page of it.

The page at `/docs` is made here. The usual one loads scripts from other sites, which a dispatch centre cannot reach,
and should not run.
"""

from html import escape
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.responses import HTMLResponse

from runcard.service.documents import DecisionRequest
from runcard.service.problems import ProblemDocument

REFERENCE: Final = "#/components/schemas/{model}"
KEY: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, made by `runcard keys add`; needed where the service has keys.",
}
STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #111;
background: #fff }
h2 { margin-top: 2.5rem; border-top: 1px solid #888; padding-top: 1rem; font-size: 1.1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace } table { border-collapse: collapse; margin: .5rem 0 }
td, th { border: 1px solid #999; padding: .2rem .5rem; text-align: left; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #111 } a { color: #9cf } }
"""


def describe(app: FastAPI) -> None:
    """Let an app describe itself at `/openapi.json`, and in words at `/docs`."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found.setdefault("components", {})
            _, own = models_json_schema(
                [(DecisionRequest, "validation"), (ProblemDocument, "validation")], ref_template=REFERENCE
            )
            components["schemas"] = {**own["$defs"], **components.get("schemas", {})}
            components["securitySchemes"] = {"key": KEY}
            found["security"] = [{}, {"key": []}]
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page_of(app.openapi()))


def page_of(description: dict[str, Any]) -> str:
    """The description as a page: every route with its parameters, bodies and errors, then every document."""
    routes = [
        _route(method, path, route)
        for path, methods in description["paths"].items()
        for method, route in methods.items()
    ]  # fmt: skip
    schemas = [_schema(name, schema) for name, schema in sorted(description["components"]["schemas"].items())]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>runcard: the API</title><style>{STYLE}</style><h1>runcard {escape(description['info']['version'])}: "
        f"the API</h1><p>{escape(description['info']['description'])} The same for programs: "
        f'<a href="openapi.json">openapi.json</a>.</p>{"".join(routes)}{"".join(schemas)}</html>'
    )


def _route(method: str, path: str, route: dict[str, Any]) -> str:
    rows = [
        (f"{one['name']} ({one['in']})", _type(one["schema"]), one.get("description", ""))
        for one in route.get("parameters", [])
    ]
    contents = route.get("requestBody", {}).get("content", {}).values()
    rows += [("body", _type(content.get("schema", {})), "") for content in contents]
    for status, response in route["responses"].items():
        kinds = [_type(one.get("schema", {})) for one in response.get("content", {}).values()]
        rows.append((f"answer {status}", ", ".join(filter(None, kinds)), response.get("description", "")))
    head = f"<h2><code>{method.upper()} {escape(path)}</code> {escape(route.get('summary', ''))}</h2>"
    return f"{head}<p>{escape(route.get('description', ''))}</p>{_table(rows)}"


def _schema(name: str, schema: dict[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = [
        (key if key in needed else f"{key} (optional)", _type(one), one.get("description", ""))
        for key, one in schema.get("properties", {}).items()
    ]
    words = escape(schema.get("description", ""))
    return f'<h2 id="{escape(name)}"><code>{escape(name)}</code></h2><p>{words}</p>{_table(rows)}'


def _table(rows: list[tuple[str, str, str]]) -> str:
    """Rows of a name, a type that is HTML already, and words."""
    lines = (f"<tr><th><code>{escape(a)}</code></th><td>{b}</td><td>{escape(c)}</td></tr>" for a, b, c in rows)
    return f"<table>{''.join(lines)}</table>"


def _type(schema: dict[str, Any]) -> str:
    """The type of a value, as HTML, with links to documents."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return escape(", ".join(map(str, schema.get("enum", [schema.get("const")]))))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "additionalProperties" in schema and isinstance(schema["additionalProperties"], dict):
        return f"by name: {_type(schema['additionalProperties'])}"
    return escape(str(schema.get("format") or schema.get("type", "")))
