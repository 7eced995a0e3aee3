"""OCSP responses in the handshake: openssl's and curl's clients, and openssl's server."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from harness import HOST, Authority, Wire, free_port, need, run, running

VERSIONS = ("1.2", "1.3")


def response(authority: Authority, folder: Path, *, revoked: bool = False) -> Path:
    """What the authority says of its certificate for the next day, in DER."""
    openssl = need("openssl")
    facts = [openssl, "x509", "-in", str(authority.certificate), "-noout", "-serial"]
    serial = run(facts).decode().strip().removeprefix("serial=")
    state, since = ("R", "200101000000Z") if revoked else ("V", "")
    index = folder / "index"
    index.write_text(f"{state}\t491231000000Z\t{since}\t{serial}\tunknown\t/CN=localhost\n")
    made = folder / "response.der"
    ca = str(authority.ca)
    signer = ("-CA", ca, "-rsigner", ca, "-rkey", str(authority.ca.with_name("ca.key")))
    about = ("-issuer", ca, "-cert", str(authority.certificate), "-ndays", "1", "-no_nonce")
    run(
        [openssl, "ocsp", "-index", str(index), *signer, *about, "-noverify", "-respout", str(made)]
    )
    return made


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("revoked", [False, True])
def test_a_server_of_wire(
    wire: Wire, authority: Authority, tmp_path: Path, version: str, revoked: bool
) -> None:
    made = response(authority, tmp_path, revoked=revoked)
    # curl looks for the issuer among what the server sends.
    chain = tmp_path / "chain.pem"
    chain.write_text(authority.certificate.read_text() + authority.ca.read_text())
    shown_chain = replace(authority, certificate=chain)
    with wire.server(tmp_path, shown_chain, "--ocsp", str(made)) as port:
        at = ("-connect", f"{HOST}:{port}", "-servername", "localhost", "-status")
        chosen = "-tls" + version.replace(".", "_")
        shown = run([need("openssl"), "s_client", *at, "-CAfile", str(authority.ca), chosen])
        assert b"OCSP Response Status: successful" in shown
        assert (b"Cert Status: revoked" if revoked else b"Cert Status: good") in shown
        trusted = ("--cacert", str(authority.ca), f"--tlsv{version}", "--tls-max", version)
        command = [need("curl"), "-sS", "--max-time", "30", "--cert-status", *trusted]
        asked = subprocess.run(
            [*command, f"https://localhost:{port}/hello"], capture_output=True, check=False
        )
        if revoked:
            assert asked.returncode == 91  # "Invalid SSL certificate status verification"
        else:
            assert asked.stdout == b"hello\n", asked.stderr


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("status", ["good", "revoked", "none"])
def test_a_client_of_wire(
    wire: Wire, authority: Authority, tmp_path: Path, version: str, status: str
) -> None:
    (tmp_path / "hello").write_text("hello\n")
    made = response(authority, tmp_path, revoked=status == "revoked")
    port = free_port()
    shown = ("-cert", str(authority.certificate), "-key", str(authority.key))
    stapled = () if status == "none" else ("-status_file", str(made))
    command = [need("openssl"), "s_server", "-accept", f"{HOST}:{port}", *shown, *stapled, "-WWW"]
    url = f"https://localhost:{port}/hello"
    asked = ("--ca", str(authority.ca), "--ocsp", "--tls", version)
    with running(command, port, folder=tmp_path):
        if status == "good":
            assert wire.ask(url, *asked)["status"] == 200
            return
        failed = subprocess.run(
            [wire.program, "client", url, *asked], capture_output=True, timeout=60, check=False
        )
        assert failed.returncode == 1
        said = (failed.stdout + failed.stderr).decode()
        assert ("is revoked" if status == "revoked" else "sent no OCSP response") in said
