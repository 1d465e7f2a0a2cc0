"""The explorer's page and its files, served as they are: no build step, and nothing from elsewhere."""

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from runcard.outputs.page import page_parts

FILES: Final = {
    "": ("index.html", "text/html; charset=utf-8"),
    "explorer/explorer.js": ("explorer.js", "text/javascript; charset=utf-8"),
    "explorer/explorer.css": ("explorer.css", "text/css; charset=utf-8"),
}
SECURITY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes() -> APIRouter:
    """The explorer's page and its files, which need no key: what they show does."""
    router, folder, parts = APIRouter(include_in_schema=False), files("runcard.service.explorer"), page_parts()

    def serve(path: str, content: bytes, media_type: str) -> None:
        @router.get(f"/{path}")
        async def file() -> Response:
            return Response(content, media_type=media_type, headers=SECURITY)

    for path, (name, media_type) in FILES.items():
        serve(path, (folder / name).read_bytes(), media_type)
    serve("explorer/map.js", parts.script.encode(), "text/javascript; charset=utf-8")
    serve("explorer/map.css", parts.style.encode(), "text/css; charset=utf-8")
    return router
