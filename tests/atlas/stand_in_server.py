"""A stand-in for the atlas' servers, on this machine, with faults to be switched on.

Of their query language (RMA) it knows one form: all rows of a model, and age, ordered by a column.
"""

import json
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from hand_made import Fault, Reply

from sparsekm.atlas import AGES, annotation_file
from sparsekm.atlas.allen import PRODUCT, PRODUCT_ID, PRODUCT_NAME
from sparsekm.network import NotFoundError

ANNOTATIONS = "/informatics-archive/current-release/mouse_annotation/"
MOST_ROWS = 25_000
_PRODUCT = {"id": PRODUCT_ID, "abbreviation": PRODUCT, "name": PRODUCT_NAME}
_QUERY = re.compile(
    r"model::(?P<model>\w+),.*?(?:age\[name\$eq'(?P<age>[\w.]+)'.*)?\[order\$eq'\w+\.(?P<order>\w+)'\]"
    r"\[start_row\$eq(?P<start>\d+)\]\[num_rows\$eq(?P<rows>\d+)\]"
)


@dataclass
class Request:
    """One request: what was asked for, by whom, and how many others were under way."""

    path: str
    agent: str
    others: int


@dataclass
class _Switch:
    """A fault on the paths that match, for some times; `times` None: always."""

    pattern: str
    fault: Fault
    times: int | None

    def applies(self, path: str) -> bool:
        if not re.search(self.pattern, path) or self.times == 0:
            return False
        self.times = self.times and self.times - 1
        return True


class StandInServer:
    """Serve an atlas' files at ``url`` until closed; a context manager."""

    def __init__(self, source, ages: Iterable[str]):
        self._source, self.lock, self.under_way = source, threading.RLock(), 0
        self.requests: list[Request] = []
        self.switches: list[_Switch] = []
        self._age_of = {item: age for age in ages for item in source.sections(age)}
        self._tables = {
            "SectionDataSet": [r for age in ages for r in json.loads(source.listing(age))["msg"]],
            "Gene": json.loads(source.genes())["msg"],
            "Product": [_PRODUCT],
        }

    def __enter__(self):
        handler = type("Handler", (_Handler,), {"server_of": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def asked(self, pattern: str = "") -> list[str]:
        return [r.path for r in self.requests if re.search(pattern, r.path)]

    def fail(self, pattern: str, fault: Fault, times: int | None = None) -> None:
        """Switch a fault on for paths that match, `times` times."""
        self.switches.append(_Switch(pattern, fault, times))

    def work_well(self) -> None:
        """Switch all faults off, and forget what was asked."""
        self.switches.clear()
        self.requests.clear()

    def note(self, path: str, agent: str) -> list[Fault]:
        with self.lock:
            self.requests.append(Request(path, agent, self.under_way))
            self.under_way += 1
            return [switch.fault for switch in self.switches if switch.applies(path)]

    def reply(self, target: str) -> Reply:
        parts = urlsplit(target)
        try:
            with self.lock:
                return Reply(200, self._find(parts.path, parse_qs(parts.query)))
        except NotFoundError:
            return Reply(404, b"not found")

    def _find(self, path: str, asked: dict[str, list[str]]) -> bytes:
        if path == "/api/v2/data/query.json":
            return json.dumps(self._answer(asked["criteria"][0])).encode()
        if path == "/api/v2/structure_graph_download/17.json":
            return self._source.ontology()
        if match := re.fullmatch(r"/grid_data/download/(\d+)", path):
            section_id = int(match[1])
            return self._source.energy(self._age_of.get(section_id, "P4"), section_id)
        for name in AGES:
            if path == ANNOTATIONS + annotation_file(name):
                return self._source.annotation(name)
        raise NotFoundError(path)

    def _answer(self, query: str) -> dict:
        model, age, order, start, most = _QUERY.fullmatch(query).groups()
        rows = sorted(self._tables[model], key=lambda row: row[order])
        if age is not None:
            rows = [row for row in rows if row["specimen"]["donor"]["age"]["name"] == age]
        page = rows[int(start) :][: min(int(most), MOST_ROWS)]
        counts = {"start_row": int(start), "num_rows": len(page), "total_rows": len(rows)}
        return {"success": True, "id": 0, **counts, "msg": page}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else every answer waits 40 ms for the client's acknowledgement of its header.
    disable_nagle_algorithm = True
    server_of: StandInServer

    def do_GET(self):
        server = self.server_of
        faults = server.note(unquote(self.path), self.headers.get("User-Agent", ""))
        try:
            reply = server.reply(self.path)
            for fault in faults:
                reply = fault(reply)
            self.send_response(reply.status)
            headers = {**reply.headers, "Content-Length": str(len(reply.body))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with server.lock:
                server.under_way -= 1

    def log_message(self, *_):
        pass
