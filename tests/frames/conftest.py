"""One fixture runs every test on every kind of data."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.frames.cases import KINDS, made


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Any:
    """A function from columns (pyarrow arrays, lists) to data of one kind."""

    def of(**columns: Any) -> Any:
        return made(request.param, pa.table(columns))

    of.kind = request.param
    return of
