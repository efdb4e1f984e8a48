"""What an address of gene sets keeps secret is in no file of a run but the user's own."""

import shutil
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from snakemake_process import run_command

from sparsekm.annotation import address_name
from sparsekm.io.input_error import hide_secrets
from sparsekm.network import Downloader, RefusedError

USER, PASSWORD, TOKEN = "ada-l0velace", "pa55-w0rd", "t0ken-of-ada"
SETS = "".join(
    f"term{n}\tna\t" + "\t".join(f"gene{g}" for g in range(n, n + 6)) + "\n" for n in (0, 5)
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://ada:pw@a.org/s.gmt?token=x#y", "https://a.org/s.gmt"),
        (
            "https://pw@a.org:8443/s.gmt?token=x: HTTP status=403.",
            "https://a.org:8443/s.gmt: HTTP status=403.",
        ),
        ("path='HTTPS://ada:p/w@a.org/s.gmt?token=x' should", "path='HTTPS://a.org/s.gmt' should"),
        ("ftp://ada:pw@a.org, https://a.org/?x.", "ftp://a.org, https://a.org/."),
        (
            "Max retries exceeded with url: /s.gmt?token=x (Caused",
            "Max retries exceeded with url: /s.gmt (Caused",
        ),
        ("https://cdn.org/gh/sets@1.2/s.gmt", "https://cdn.org/gh/sets@1.2/s.gmt"),
        ("https://a.org:8080/sets@1/s.gmt", "https://a.org:8080/sets@1/s.gmt"),
        ("data/what?.csv, line 3: a#b", "data/what?.csv, line 3: a#b"),
    ],
)
def test_user_password_and_query_are_cut_out_of_any_text(text, shown):
    assert hide_secrets(text) == shown
    assert hide_secrets(shown) == shown


def test_another_password_or_query_is_another_download():
    addresses = ["https://a.org/s.gmt", "https://u:p@a.org/s.gmt", "https://a.org/s.gmt?t=1"]
    names = {*map(address_name, addresses)}
    assert len(names) == 3
    assert all(len(name) == 20 and name.endswith(".gmt") for name in names)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        place, _, query = self.path.partition("?")
        if place == "/down":
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:1/sets.gmt?{query}")
            self.end_headers()
            return
        # The user name and the password are sent as a header.
        is_known = self.headers.get("Authorization") and query == f"token={TOKEN}"
        body = SETS.encode() if is_known else b""
        self.send_response(200 if is_known else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """An https server on this machine: its address, and the certificate to trust."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on this machine, which makes the certificate")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
    words = [*make.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*words, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", str(certificate)
        server.shutdown()


def test_an_https_address_does_not_lead_to_one_without_encryption(server, monkeypatch):
    host, certificate = server
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", certificate)
    with pytest.raises(RefusedError, match="redirects should lead to https:// addresses"):
        Downloader(tries=1).get(f"https://{host}/down", most=100)


def files_with(folder: Path, *secrets: str) -> set[str]:
    """List the files in a folder, of any kind, that hold one of these texts or have one as name."""
    found = set()
    for file in (file for file in folder.rglob("*") if not file.is_dir()):
        text = str(file).encode() + file.read_bytes()
        if any(secret.encode() in text for secret in secrets):
            found.add(file.relative_to(folder).as_posix())
    return found


@pytest.mark.slow
def test_no_file_of_a_run_holds_a_secret_of_the_address(server, fresh):
    host, certificate = server
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "2", "--executor"]

    def run(token, *arguments):
        address = f"https://{USER}:{PASSWORD}@{host}/sets.gmt?token={token}"
        sets = {"source": "gmt", "path": address}
        change = {"atlas": {"ages": []}, "matrices": {"cells": None}, "methods": ["l0"]}
        fresh.configure(yaml.safe_dump(change | {"annotation": {"gene_sets": sets}}))
        command = [*snakemake, *arguments]
        return run_command(command, fresh.root, REQUESTS_CA_BUNDLE=certificate)

    # Scripts hold what Snakemake gives them; a run that is killed leaves them there.
    failed = run(f"wrong-{TOKEN}", "local", "--skip-script-cleanup", "--", "collect_gene_sets")
    assert f"https://{host}/sets.gmt: HTTP status=403 should be 200" in failed.stdout
    done = run(TOKEN, "sparsekm" if sys.platform == "linux" else "local", "results/report.html")
    assert done.returncode == 0, done.stdout
    for told in (failed.stdout, done.stdout):
        assert not any(secret in told for secret in (USER, PASSWORD, TOKEN))
    assert files_with(fresh.root, USER, PASSWORD, TOKEN) == {"config.yaml"}
    # The address itself is shown, and scripts were kept.
    shown = files_with(fresh.root, f"https://{host}/sets.gmt")
    assert "results/report.html" in shown
    assert any(file.startswith(".snakemake/scripts/") for file in shown)
    address = f"https://{USER}:{PASSWORD}@{host}/sets.gmt?token={TOKEN}"
    assert (fresh.root / "data/raw/fetched" / address_name(address)).read_text() == SETS
