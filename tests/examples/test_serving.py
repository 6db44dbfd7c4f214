"""What the feature server gives is what `run(events, at=...)` gives afterwards: training and serving agree."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

from tests.docs.blocks import ROOT, script


def called(address, row=None):
    return json.load(urlopen(Request(address, None if row is None else json.dumps(row).encode())))


def test_training_and_serving_agree(tmp_path):
    serving = script(ROOT / "examples" / "serving.py")
    rng = np.random.default_rng(4)
    n, begin = 120, 1_767_225_600
    payments = {
        "ts": (begin + np.cumsum(rng.integers(0, 2000, n))).tolist(),
        "card": rng.integers(0, 4, n).tolist(),
        "amount": rng.integers(1, 500, n).tolist(),
    }
    asked = {"card": [], "ts": []}
    got = []
    for a in range(0, n, 40):  # it stops and starts anew in between
        with serving.running(tmp_path / "state") as server:
            for i in range(a, a + 40):
                row = {name: column[i] for name, column in payments.items()}
                assert called(f"{server}/payments", row) == {"late": 0, "rejected": 0}
                ask = {"card": int(rng.integers(0, 5)), "ts": row["ts"] + int(rng.choice([0, 1, 100, 5000]))}
                if i + 1 < n and ask["ts"] >= payments["ts"][i + 1]:
                    ask["ts"] = row["ts"]  # afterwards, later payments are not to be seen
                got.append(called(f"{server}/features?card={ask['card']}&ts={ask['ts']}"))
                for name in asked:
                    asked[name].append(ask[name])
            with pytest.raises(HTTPError, match="422") as error:
                called(f"{server}/features?card=1&ts={begin - 10**6}")
            assert "oldest" in error.value.read().decode()
    trained = serving.features.run(payments, at=asked)
    columns = {name: np.ma.asarray(column).tolist() for name, column in trained.items()}
    expected = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert got == expected
    assert sum(row["n_1h"] > 0 for row in got) > 10
