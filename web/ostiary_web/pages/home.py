"""The first page, and the switch between the two languages."""

from quart import Blueprint, Response, request

from ostiary_core.http.language import Language
from ostiary_web.browser import keep_preference
from ostiary_web.pages.addresses import local_path, see_other
from ostiary_web.pages.visit import LANGUAGE_COOKIE, open_visit, page

__all__ = ["home"]

home = Blueprint("home", __name__)


@home.get("/")
async def first_page() -> Response:
    """Who is signed in, and where to go from here."""
    return await page(await open_visit(), "home.html")


@home.get("/language")
async def switch_language() -> Response:
    """Remember a language in the browser and go back; it changes nothing on the server."""
    response = see_other(local_path(request.args.get("next", "")))
    chosen = request.args.get("to")
    if chosen in (Language.EN.value, Language.ZH.value):
        keep_preference(response, LANGUAGE_COOKIE, chosen)
    return response
