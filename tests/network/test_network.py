"""Whatever a server sends, a download ends in time and in one line; what is there stays."""

import gzip
import signal
import socket
import struct
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sparsekm.network import (
    Downloader,
    Received,
    RefusedError,
    UnavailableError,
    parse_retry_after,
)

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"


def whole(body=b"a body", head=OK):
    return lambda conn: conn.sendall(head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


def drip(start, piece):
    """Send something, and then a piece again and again, a little later each time."""

    def send(conn):
        conn.sendall(start)
        while True:
            conn.sendall(piece)
            time.sleep(0.01)

    return send


def redirect(to, more=b"Content-Length: 0\r\n\r\n", pause=0.0):
    def send(conn):
        time.sleep(pause)
        conn.sendall(b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: %s\r\n%s" % (to, more))

    return send


class RawServer:
    """Answers each connection with the next of its `answers`, of which the last one stays."""

    def __init__(self):
        self.answers, self.asked, self.sent = [], 0, 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/file"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                conn, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(conn,), daemon=True).start()

    def _answer(self, conn):
        with conn, suppress(OSError):
            while not conn.recv(65536).endswith(b"\r\n\r\n"):
                pass
            self.asked += 1
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            answer(conn)

    def flood(self, head):
        """Send a head and then a body of 1.5 GB, and count what is taken of it."""

        def send(conn):
            conn.sendall(head)
            while self.sent < 1_500_000_000:
                self.sent += conn.send(bytes(2**16))

        return send

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def server():
    server = RawServer()
    yield server
    server.close()


def fail(error, url, match, **limits):
    """Download with one attempt, and check that it fails in one line that names the address."""
    limits = {"tries": 1, "timeout": 5.0, **limits}
    with pytest.raises(error, match=match) as caught:
        Downloader(**limits).get(url, most=1000)
    assert str(caught.value).startswith(url)
    assert len(str(caught.value).splitlines()) == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


SLOW = {
    "a header": drip(OK + b"X-Slow: ", b"x"),
    "answers that only announce another": drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body": drip(OK + b"Content-Length: 1000\r\n\r\n", b"x"),
    "a body in pieces": drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "nothing": lambda conn: time.sleep(1),
}


@pytest.mark.parametrize("part", SLOW)
def test_an_exchange_ends_at_its_time_limit_whatever_is_slow(server, part):
    server.answers = [SLOW[part]]
    fail(UnavailableError, server.url, r"after 1 attempt \(took longer than 0.1 s\)", timeout=0.1)


def test_redirects_share_the_time_of_one_exchange_and_end(server):
    server.answers = [redirect(b"/file", pause=0.1)]
    fail(UnavailableError, server.url, r"\(took longer than 0.25 s\)", timeout=0.25)
    assert server.asked <= 4
    server.answers, server.asked = [redirect(b"/file")], 0
    fail(RefusedError, server.url, "redirects should be <= 5")
    assert server.asked == 6


def test_the_body_of_a_redirect_is_not_read(server):
    more = b"Content-Length: 1500000000\r\n\r\n"
    head = b"HTTP/1.1 301 Moved\r\nLocation: /other\r\n" + more
    server.answers = [server.flood(head), whole()]
    assert Downloader(tries=1, timeout=5).get(server.url, most=1000) == b"a body"
    # What the system buffers.
    assert server.sent < 50_000_000


TOO_LARGE = {
    "announced": (b"Content-Length: 1500000000\r\n\r\n", "Content-Length=1500000000 should be <= "),
    "without an end": (b"\r\n", "the body should have <= 1000 bytes; it has more"),
    "of an error": (None, "HTTP status=403 should be 200"),
}


@pytest.mark.parametrize("body", TOO_LARGE)
def test_no_more_than_the_size_limit_is_read_nor_unpacked(server, body):
    more, message = TOO_LARGE[body]
    head = b"HTTP/1.1 403 No\r\n\r\n" if more is None else OK + more
    server.answers = [server.flood(head)]
    fail(RefusedError, server.url, message)
    assert server.sent < 50_000_000
    packed = gzip.compress(bytes(500_000))
    server.answers = [whole(packed, OK + b"Content-Encoding: gzip\r\n")]
    fail(RefusedError, server.url, "the body should have <= 1000 bytes; it has more")


BROKEN = {
    "no HTTP": b"220 mail ready\r\n",
    "nothing": b"",
    "a header of 1 MB": OK + b"X: " + b"x" * 2**20 + b"\r\n\r\n",
    "half a body": OK + b"Content-Length: 100\r\n\r\nhalf",
    "pieces of no length": OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "no gzip": OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx",
}


def reset(conn):
    conn.sendall(BROKEN["half a body"])
    # With no linger, closing the socket resets the connection.
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("answer", [*BROKEN, "a reset"])
def test_a_broken_answer_is_told_in_one_line(server, answer):
    broken = reset if answer == "a reset" else lambda conn: conn.sendall(BROKEN[answer])
    server.answers = [broken]
    fail((UnavailableError, RefusedError), server.url, ": ")


ADDRESSES = ["http://[::bad/", "ftp://x/y", "file:///etc/passwd", "http://a..b/c", "nothing"]
ADDRESSES.append("http://x:port/")


@pytest.mark.parametrize("address", [*ADDRESSES, "http://\ud800/"])
def test_a_bad_address_is_refused_also_of_a_redirect(server, address):
    fail(RefusedError, address, "not an address that can be requested")
    # One without a scheme or a host is an address on the same host.
    if address in ADDRESSES:
        server.answers = [redirect(address.encode())]
        fail(RefusedError, server.url, "address that can be requested|redirects should be <= 5")


@pytest.fixture
def slept():
    """The seconds that somebody slept, while no time passes otherwise."""
    return []


@pytest.fixture
def fake(slept):
    return {"clock": lambda: 1000.0 + sum(slept), "sleep": slept.append}


def busy(retry_after=None):
    more = b"" if retry_after is None else b"Retry-After: %s\r\n" % retry_after
    return lambda conn: conn.sendall(b"HTTP/1.1 503 Busy\r\n%s\r\n" % more)


def test_what_passes_is_tried_again_after_doubling_pauses_or_as_is_asked(server, fake, slept):
    cut = BROKEN["half a body"]
    server.answers = [busy(), lambda conn: conn.sendall(cut), busy(), whole()]
    assert Downloader(**fake).get(server.url, most=1000) == b"a body"
    assert slept == [1, 2, 4]
    slept.clear()
    server.answers = [busy(b"40"), busy(b"0"), whole()]
    Downloader(**fake).get(server.url, most=1000)
    assert slept == [40, 2]


@pytest.mark.parametrize("retry_after", [b"9" * 400, b"Sat, 01 Jan 2180 00:00:00 GMT"])
def test_a_pause_beyond_the_total_is_not_waited_for(server, fake, slept, retry_after):
    server.answers = [busy(retry_after)]
    message = r"after 1 attempt \(HTTP status=503.*asked to"
    fail(UnavailableError, server.url, message, tries=5, **fake)
    assert slept == []


def test_retry_after_is_seconds_or_a_date():
    assert parse_retry_after("7") == 7
    past = "Sat, 21 Nov 2015 09:00:00 GMT"
    for value in (past, past.replace("2015", "99999999"), "soon", "-3", ""):
        assert parse_retry_after(value) == 0
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    assert 3500 < parse_retry_after(later) <= 3600


FILE, URL, BODY = "energy/1.zip", "http://host/1", b"some bytes"


@pytest.fixture
def received(tmp_path):
    received = Received(tmp_path)
    received.add(FILE, URL, BODY)
    return received


def test_neither_a_body_without_its_line_nor_a_line_without_its_body_counts(received, tmp_path):
    (tmp_path / FILE).unlink()
    assert received.find(FILE, URL) is None
    assert not received.knows(FILE, URL)
    received.add(FILE, URL, BODY)
    (tmp_path / "received.jsonl").unlink()
    assert Received(tmp_path).find(FILE, URL) is None


def test_a_body_of_another_address_does_not_count(received):
    assert received.find(FILE, URL) == BODY
    assert received.find(FILE, "http://other/1") is None


def test_half_a_line_of_a_killed_job_spoils_no_other(received, tmp_path):
    lines = tmp_path / "received.jsonl"
    part = '\n{"file": "energy/1.zip", "url": "http://host/1"}'
    lines.write_text(lines.read_text() + part + '\n{"file": "energy/2.zip", "url')
    after = Received(tmp_path)
    after.add("energy/3.zip", "http://host/3", b"more")
    again = Received(tmp_path)
    assert again.find(FILE, URL) == BODY
    assert again.find("energy/2.zip", "http://host/2") is None
    assert again.find("energy/3.zip", "http://host/3") == b"more"


def test_all_attempts_and_pauses_take_no_longer_than_their_total(server, fake, slept):
    server.answers = [busy(b"30")]
    fail(UnavailableError, server.url, "after 4 attempts", tries=100, total_timeout=100, **fake)
    assert slept == [30] * 3
