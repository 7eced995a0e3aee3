#include "options.hpp"

namespace wireload {

std::string_view version_text() { return WIRELOAD_VERSION; }

std::string_view help_text() {
    return R"(NAME
  wireload - load an HTTP or WebSocket server and report truthfully what it did

SYNOPSIS
  wireload [options] URL

  URL is http://host[:port]/path or ws://host[:port]/path. A host name is looked up once, before anything is timed.

DESCRIPTION
  Keeps a number of connections busy: each sends its next request when the reply to the one before has come (a closed
  loop), for a time or a count. Every reply is parsed and checked; what is wrong is an error, never a result. Latency is
  recorded in an HdrHistogram of 3 significant digits.

  First all connections are opened (the connect phase, timed apart), then comes the warm-up, then the measured window.
  A reply or error counts when it arrives inside the window. Requests in flight when the window ends do not count.

LOAD
  -c, --connections N    connections kept open (default 10)
  -d, --duration TIME    length of the window: 10s, 500ms, 1m30s (default 10s, when no count is given)
  -n, --requests N       end after N requests in all, shared by the connections
      --each N           end after N requests on each connection
      --warmup TIME      load before the window, not counted (default 0s)
      --pipeline K       requests in flight on each connection (default 1)
      --no-keepalive     a new connection for each request; its latency includes connecting
      --timeout TIME     a request without a reply after this is an error (default 5s; 30s in a ramp)

REQUEST AND REPLY, http
  -m, --method M         method (default GET; POST with a body)
  -H, --header 'K: V'    add a header; may be repeated. Host may be replaced
  -b, --body TEXT        request body
      --body-file FILE   request body from a file
      --expect-status S  statuses that are right, such as 200 or 200,204 or 2xx (default 2xx)
      --expect-body TEXT the only body that is right (default: any)
      --expect-body-file FILE
                         the same, from a file

MESSAGE AND REPLY, ws
      --message TEXT     text message to send; {c} stands for a counter of the connection
                         (default: a short text; {"c":{c}} with --check count)
      --message-file FILE
                         the same, from a file
      --binary           send binary messages instead of text
      --check KIND       echo: the reply equals the message (default)
                         count: the reply is JSON with the same number "c" and a number "ts"
                         none: any message is right

RAMP
  In round r, A further connections are opened and then every open one sends Q messages.
      --ramp-rounds R    run R rounds
      --ramp-add A       connections added in each round (default 100)
      --ramp-messages Q  messages by each connection in each round (default 100)
      --ramp-pacing P    serial: the next message after the reply (default); burst: all Q at once

WHERE IT RUNS
  -t, --threads N        threads (default: one for each usable CPU, never more than connections)
      --cpu LIST         pin to these CPUs, such as 1 or 0-3,6; one thread for each
      --source LIST      connect from these local addresses, separated by commas
      --seed N           seed of all random choices (default 1)
      --watch WHAT       also report the CPU and memory of a server: its process id (with all its descendants)
                         or its cgroup v2 folder

OUTPUT
      --json FILE        write the result as JSON; - for standard output
      --hdr-log FILE     write an HdrHistogram log, one line for each interval
      --interval TIME    length of an interval of the series (default 100ms)
      --no-histogram     leave the encoded histogram out of the JSON
  -q, --quiet            no summary
      --version          print the version
  -h, --help             print this text

  Colours are used on a terminal only, and not when NO_COLOR is set. Nothing is drawn while the window runs.

EXIT STATUS
  0   measured, and every reply was right
  1   measured, with errors
  2   nothing could be measured: not one complete reply came
  64  the command line is wrong

EXAMPLES
  wireload -c 50 -d 10s http://127.0.0.1:8080/
      fifty connections for ten seconds
  wireload -c 10 --each 1000 --no-keepalive -b '{"param1":42}' -H 'Content-Type: application/json' http://127.0.0.1:8080/test
      ten producers, a thousand requests each, every one on a new connection
  wireload --ramp-rounds 100 --check count ws://127.0.0.1:8080/
      a hundred more WebSocket connections in each of a hundred rounds
)";
}

}  // namespace wireload
