"""The description of the API (OpenAPI), whole: bodies that routes read themselves, errors and keys; and a page of it.

The page at `/docs` is made here. The usual one loads scripts from other sites, which a dispatch centre cannot reach,
and should not run.
"""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.responses import HTMLResponse

from runcard.page import page_of
from runcard.service.documents import DecisionRequest
from runcard.service.problems import ProblemDocument

REFERENCE: Final = "#/components/schemas/{model}"
KEY: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key, made by `runcard keys add`; needed where the service has keys.",
}


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
        return HTMLResponse(page_of("api.html", **app.openapi()))
