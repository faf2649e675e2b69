"""A third language as it is added: one module, here beside the test that looks for it."""

from ostiary_web.texts import en_us
from tests.support.languages import made_up

LANGUAGE = made_up(en_us.LANGUAGE)
