"""The home page, and the switch between languages."""

from quart import Response, request

from ostiary_web.http.browser import TYPED, keep_preference, read_kept_cookie
from ostiary_web.http.context import RequestContext, RequestRefused
from ostiary_web.http.gate import OPEN_TO_ALL, GatedRoutes
from ostiary_web.pages.addresses import return_address, see_other
from ostiary_web.pages.context import LANGUAGE_COOKIE, PageContext, render
from ostiary_web.pages.kept import keep_typed
from ostiary_web.pages.routes import PageRoutes

home = PageRoutes("home", __name__)
languages = GatedRoutes("languages", __name__)


@home.get("/", gate=OPEN_TO_ALL)
async def show_home(page: PageContext) -> Response:
    """Show who is signed in, and where to go from here."""
    return await render(page, "home.html")


@home.post("/language", gate=OPEN_TO_ALL)
async def switch_language_of_form(page: PageContext) -> Response:
    """Keep a language in the browser, and return to its page with what was typed into its form."""
    page.address = return_address()
    try:
        page.require_own_form()
    except RequestRefused as refusal:
        return await render(page, "expired.html", refused=refusal.reply)
    if not read_kept_cookie(TYPED):
        keep_typed(page, page.address, page.form.get("form_action", ""), page.user_mark)
    return _choose(page.redirect(page.address), page.request)


@languages.get("/language", gate=OPEN_TO_ALL)
async def switch_language(context: RequestContext) -> Response:
    """Keep a language in the browser and return to its page; the server stores nothing."""
    return _choose(see_other(return_address()), context)


def _choose(response: Response, context: RequestContext) -> Response:
    chosen = context.languages.by_tag(request.args.get("to"))
    if chosen is not None and request.method != "HEAD":
        keep_preference(response, LANGUAGE_COOKIE, chosen.tag)
    return response
