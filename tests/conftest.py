"""What holds for every test: how Hypothesis runs, and readable failures in the shared assertions."""

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.core.story", "tests.core.door")

# A deadline measures the machine and not the code; machines that run tests are busy.
settings.register_profile(
    "ostiary", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ostiary")
