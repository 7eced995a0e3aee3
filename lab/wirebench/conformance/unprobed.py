"""Sections with demands on servers or clients that no probe tests, and why none does."""

from __future__ import annotations

TLS = "probes speak no TLS; `verify` puts an impostor before the clients that have it"
OWN = "up to the resource and its author: any answer may be right"
PROXIES = "of proxies, gateways and caches only"
GET_ONLY = "the contract of clients has GET alone"
WEBSOCKET_CLIENT = "clients are probed over HTTP; Autobahn's suite has both sides of WebSocket"

UNPROBED: tuple[tuple[str, str], ...] = (
    ("RFC 9110 3.3", PROXIES),
    ("RFC 9110 4.2.2", TLS),
    ("RFC 9110 4.3.4", TLS),
    ("RFC 9110 6.5.2", PROXIES),
    ("RFC 9110 6.6.2", OWN),
    ("RFC 9110 7.6.2", f"{PROXIES}; a server is the last recipient whatever the number"),
    ("RFC 9110 7.6.3", PROXIES),
    ("RFC 9110 7.7", PROXIES),
    ("RFC 9110 8.4", OWN),
    ("RFC 9110 8.5", OWN),
    ("RFC 9110 8.7", OWN),
    ("RFC 9110 8.8", "which validators a resource has is up to it; those it has are probed by 13"),
    ("RFC 9110 9.2.2", GET_ONLY),
    ("RFC 9110 9.3.3", OWN),
    ("RFC 9110 9.3.4", OWN),
    ("RFC 9110 9.3.5", OWN),
    ("RFC 9110 10.1.2", "up to the client's application"),
    ("RFC 9110 10.1.3", "up to the client's application"),
    ("RFC 9110 10.1.5", "up to the client's application: a library has no product to name"),
    ("RFC 9110 10.2", OWN),
    ("RFC 9110 11", "no resource that asks for credentials is known"),
    ("RFC 9110 12.5.1", OWN),
    ("RFC 9110 12.5.5", OWN),
    ("RFC 9110 14.3", "a server need not support ranges"),
    ("RFC 9110 14.4", "a server need not support ranges"),
    ("RFC 9110 15.3", "what a resource answers with is its own, but for 200"),
    ("RFC 9110 15.5.2", "no resource that asks for credentials is known"),
    ("RFC 9110 15.5.8", PROXIES),
    ("RFC 9112 3.3", "a resource does not say which URI it was asked for"),
    ("RFC 9112 7.1.3", PROXIES),
    ("RFC 9112 7.2", "a server need not know compress, gzip or deflate as transfer codings"),
    ("RFC 9112 7.4", "what a server sends in chunks, and with which trailer fields, is its own"),
    ("RFC 9112 9.3.1", GET_ONLY),
    ("RFC 9112 9.4", "how many connections are reasonable is not said"),
    ("RFC 9112 9.5", "no probe waits as long as time limits are"),
    ("RFC 9112 9.7", TLS),
    ("RFC 9112 9.8", TLS),
    ("RFC 6455 3", WEBSOCKET_CLIENT),
    ("RFC 6455 4.1", WEBSOCKET_CLIENT),
    ("RFC 6455 7.1.1", "who closes the TCP connection first cannot be told from without"),
    ("RFC 6455 7.2.1", WEBSOCKET_CLIENT),
    ("RFC 6455 7.2.3", WEBSOCKET_CLIENT),
    ("RFC 6455 10.2", "which origins are let in is the server's policy"),
    ("RFC 6455 10.4", "limits are the server's own; those of heads are probed"),
    ("RFC 7692 5.3", WEBSOCKET_CLIENT),
    ("RFC 7692 7.2.1", "how a server compresses is its own; each echo must inflate to the message"),
)
"""The document and the section, and why."""
