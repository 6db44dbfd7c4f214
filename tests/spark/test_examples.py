"""The examples on Spark, against a few plain lines, and against what their page shows."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from tests.docs.blocks import PAGES, ROOT, blocks, command_on_spark, script, stripped


@pytest.mark.slow
def test_fraud(spark, tmp_path, capsys):
    fraud = script(ROOT / "examples" / "fraud.py")
    sent = fraud.scored(spark, tmp_path)
    payments = pq.read_table(tmp_path / "payments")
    ts = payments["ts"].cast("int64").to_numpy()
    card, cents = payments["card"].to_numpy(), payments["cents"].to_numpy()
    expected = {}
    for i in range(len(ts)):
        before = [(ts > ts[i] - hours * 3_600 * 10**6) & (ts <= ts[i]) & (card == card[i]) for hours in (1, 12, 24)]
        answers = [number for held in before for number in (int(held.sum()), int(cents[held].sum()))]
        expected[int(ts[i]), int(card[i]), int(cents[i])] = answers
    columns = ["unix_micros(ts)", "card", "cents"]
    columns += [f"{name}_{window}" for window in ("1h", "12h", "24h") for name in ("uses", "spent")]
    got = {tuple(row[:3]): list(row[3:]) for row in sent.selectExpr(*columns).collect()}
    assert len(got) == sent.count()  # each once
    assert {payment: expected[payment] for payment in got} == got
    final = ts[: len(ts) // 2].max() - 600 * 10**6  # when the last file came, all before this was
    assert {payment for payment in expected if payment[0] < final} <= set(got)
    capsys.readouterr()
    fraud.show(sent)
    shown = [block for page in PAGES for block in blocks(page) if command_on_spark(block)]
    assert [block.text.splitlines()[0] for block in shown] == [
        "$ python examples/fraud.py",
        "$ python examples/upserts.py",
    ]
    assert stripped(capsys.readouterr().out) == stripped(shown[0].text)[1:]
