"""A stand-in for the atlas' servers, on this machine, with faults to be switched on.

It speaks to clients as the Allen Institute's servers do, from the files of any source.
"""

import json
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from rma_subset import answer
from server_faults import Fault, Reply

from sparsekm.atlas.vocabulary import AGES, PRODUCT, PRODUCT_ID, PRODUCT_NAME
from sparsekm.network import NotFoundError

ANNOTATIONS = "/informatics-archive/current-release/mouse_annotation/"
MOST_ROWS = 25_000
_PRODUCT = {"id": PRODUCT_ID, "abbreviation": PRODUCT, "name": PRODUCT_NAME}


@dataclass
class Request:
    """One request: what was asked for, when, by whom, and how many others were under way."""

    path: str
    time: float
    agent: str
    others: int


@dataclass
class _Switch:
    """A fault on the paths that match, for some times after some others; `times` None: always."""

    pattern: str
    fault: Fault
    times: int | None
    skip: int

    def applies(self, path: str) -> bool:
        if not re.search(self.pattern, path) or self.times == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class _State:
    requests: list[Request] = field(default_factory=list)
    switches: list[_Switch] = field(default_factory=list)
    under_way: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)


class StandInServer:
    """Serve an atlas' files at ``url`` until closed; a context manager.

    Parameters
    ----------
    source : source of the atlas
        Of the phantom, or one like it.
    ages : iterable of str
    """

    def __init__(self, source, ages: Iterable[str]):
        self._source = source
        self._age_of = {i: age for age in ages for i in source.sections(age)}
        self._tables = _make_tables(source, ages)
        self._state = _State()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        return list(self._state.requests)

    def asked(self, pattern: str = "") -> list[str]:
        """List the paths asked for that match."""
        return [r.path for r in self.requests if re.search(pattern, r.path)]

    def fail(self, pattern: str, fault: Fault, times: int | None = None, skip: int = 0) -> None:
        """Switch a fault on for paths that match: after `skip` of them, `times` times."""
        self._state.switches.append(_Switch(pattern, fault, times, skip))

    def work_well(self) -> None:
        """Switch all faults off, and forget what was asked."""
        self._state.switches.clear()
        self._state.requests.clear()

    def reply(self, target: str) -> Reply:
        """Give the answer of a server that is well."""
        parts = urlsplit(target)
        path, asked = parts.path, parse_qs(parts.query)
        try:
            if path == "/api/v2/data/query.json":
                query = (asked.get("criteria") or asked.get("q") or [""])[0]
                body = json.dumps(answer(query, self._tables, MOST_ROWS)).encode()
            elif path == "/api/v2/structure_graph_download/17.json":
                body = self._source.ontology()
            elif match := re.fullmatch(r"/grid_data/download/(\d+)", path):
                section_id = int(match[1])
                with self._state.lock:
                    body = self._source.energy(self._age_of.get(section_id, "P4"), section_id)
            elif path.startswith(ANNOTATIONS):
                body = self._annotation(path.removeprefix(ANNOTATIONS))
            else:
                raise NotFoundError(path)
        except NotFoundError:
            return Reply(404, b"not found")
        return Reply(200, body)

    def _annotation(self, file: str) -> bytes:
        for name, age in AGES.items():
            if file == age.annotation_file:
                with self._state.lock:
                    return self._source.annotation(name)
        raise NotFoundError(file)

    def _make_handler(self):
        outer, state = self, self._state

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Else every answer waits 40 ms for the client's acknowledgement of its header.
            disable_nagle_algorithm = True

            def do_GET(self):
                path = unquote(self.path)
                agent = self.headers.get("User-Agent", "")
                with state.lock:
                    state.requests.append(Request(path, time.time(), agent, state.under_way))
                    state.under_way += 1
                    found = [s for s in state.switches if s.applies(path)]
                try:
                    reply = outer.reply(self.path)
                    for switch in found:
                        reply = switch.fault(reply)
                    self._send(reply)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with state.lock:
                        state.under_way -= 1

            def _send(self, reply):
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                if reply.send is None:
                    self.wfile.write(reply.body)
                else:
                    reply.send(self, reply.body)

            def log_message(self, *_):
                pass

        return Handler


def _make_tables(source, ages: Iterable[str]) -> dict[str, list[dict]]:
    """Make the tables that queries look into; section data sets know their product."""
    sections = [row for age in ages for row in json.loads(source.listing(age))["msg"]]
    genes = json.loads(source.genes())["msg"]
    return {
        "SectionDataSet": [{**row, "products": [_PRODUCT]} for row in sections],
        "Gene": [{**row, "products": [_PRODUCT]} for row in genes],
        "Product": [_PRODUCT],
    }
