// @NAME@: ws.echo and ws.count.
//
// The lines to edit are marked EDIT. The lab gives the workload, the address and the number of workers (WIREBENCH_THREADS; one here,
// ../ws shows more) in the environment, takes the server for ready when it accepts, and ends it with SIGTERM.
// After changing package.json: `npm install --package-lock-only --omit-lockfile-registry-resolved`.
'use strict';

const { WebSocketServer } = require('ws'); // EDIT

const isEcho = process.env.WIREBENCH_WORKLOAD === 'ws.echo';

// {"c":n} -> {"c":n,"ts":<unix seconds>}
function count(data) {
  const { c } = JSON.parse(data);
  return JSON.stringify({ c, ts: Math.floor(Date.now() / 1000) });
}

const server = new WebSocketServer({ // EDIT
  host: process.env.WIREBENCH_HOST,
  port: Number(process.env.WIREBENCH_PORT),
});

server.on('connection', (socket) => { // EDIT
  socket.on('error', () => {}); // a peer's protocol error closes its connection, not the server
  socket.on('message', (data, isBinary) => {
    try {
      if (isEcho) socket.send(data, { binary: isBinary }); // EDIT: each message back as it came, text or binary
      else socket.send(count(data)); // EDIT
    } catch {
      socket.close(1007, 'expected JSON'); // EDIT
    }
  });
});
