#!/bin/sh
# Writes a configuration and the static files into WIREBENCH_TMP and becomes nginx, in the foreground.
set -eu

where=$WIREBENCH_TMP/nginx
mkdir -p "$where/files/payload"
ulimit -n "$(ulimit -Hn)" 2>/dev/null || :
files=$(ulimit -n)
[ "$files" != unlimited ] && [ "$files" -le 65536 ] || files=65536

for size in 16 1024 65536 1048576; do
    yes abcdefghijklmnopqrstuvwxyz | tr -d '\n' | head -c "$size" > "$where/files/payload/$size"
done

# As root, nginx would let its workers run as a user who cannot read our folder.
[ "$(id -u)" -ne 0 ] || user="user root root;"

if [ -n "${WIREBENCH_TLS_CERT:-}" ]; then
    ssl=ssl
    # Releases before 1.23.4 leave out TLS 1.3 by default.
    tls="ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate $WIREBENCH_TLS_CERT; ssl_certificate_key $WIREBENCH_TLS_KEY;"
fi

# Without a file for them no sessions to take up again: each new connection pays for its whole handshake.
if [ -n "${WIREBENCH_TLS_SESSIONS:-}" ]; then
    sessions="ssl_session_cache shared:sessions:10m; ssl_session_tickets on; access_log $WIREBENCH_TLS_SESSIONS sessions;"
else
    sessions="ssl_session_cache off; ssl_session_tickets off;"
fi

# Asked for once, when a client has ended: how many connections came.
[ -z "${WIREBENCH_ACCEPTED:-}" ] || accepted="location = /accepted { stub_status; access_log off; }"

# Releases before 1.19.10 close a connection after 100 requests by default.
requests=${WIREBENCH_CLOSES_AFTER:-0}
[ "$requests" -ne 0 ] || requests=1000000000

cat > "$where/nginx.conf" <<EOF
${user-}
daemon off;
worker_processes ${WIREBENCH_THREADS:-1};
pid $where/pid;
error_log stderr crit;
events {
    worker_connections $files;
}
http {
    access_log off;
    log_format sessions '\$connection \$ssl_session_reused';
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 75s;
    keepalive_requests $requests;
    client_body_temp_path $where/body;
    proxy_temp_path $where/proxy;
    fastcgi_temp_path $where/fastcgi;
    uwsgi_temp_path $where/uwsgi;
    scgi_temp_path $where/scgi;
    server {
        listen $WIREBENCH_HOST:$WIREBENCH_PORT ${ssl-} backlog=4096;
        ${tls-} $sessions
        root $where/files;
        location = /route_01 { default_type text/plain; return 200 "hello from route_01"; }
        location = /route_02 { default_type text/plain; return 200 "hello from route_02"; }
        location ~ ^/payload/(16|1024|65536|1048576)\$ { default_type application/octet-stream; }
        ${accepted-}
        location / { return 404; }
    }
}
EOF

nginx=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v nginx) || { echo "nginx is not installed" >&2; exit 1; }
exec "$nginx" -e stderr -p "$where" -c "$where/nginx.conf"
