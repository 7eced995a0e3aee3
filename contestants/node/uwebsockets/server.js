// uWebSockets.js as a server: http.hello, ws.echo, ws.count, ws.broadcast.
'use strict';

const cluster = require('node:cluster');
const uWS = require('@btc-vision/uwebsockets.js');

const workload = process.env.WIREBENCH_WORKLOAD;
// Under ws.broadcast one process has all connections.
const threads = workload === 'ws.broadcast' ? 1 : Number(process.env.WIREBENCH_THREADS || 1);
const maxMessageBytes = 16 * 1024 * 1024;

function text(body) {
  return (response) => response.writeHeader('Content-Type', 'text/plain').end(body);
}

function echo(socket, message, isBinary) {
  socket.send(message, isBinary);
}

function count(socket, message) {
  let c;
  try {
    ({ c } = JSON.parse(Buffer.from(message)));
  } catch {
    socket.end(1007, 'expected JSON');
    return;
  }
  socket.send(JSON.stringify({ c, ts: Math.floor(Date.now() / 1000) }));
}

if (threads > 1 && cluster.isPrimary) {
  for (let i = 0; i < threads; i += 1) cluster.fork();
  // The primary ends when its last worker has.
  process.once('SIGTERM', () => Object.values(cluster.workers).forEach((worker) => worker.process.kill()));
} else {
  const app = uWS.App();
  if (workload === 'http.hello') {
    for (const route of ['route_01', 'route_02']) app.get(`/${route}`, text(`hello from ${route}`));
    app.any('/*', (response) => response.writeStatus('404 Not Found').end('not found'));
  } else if (workload === 'ws.broadcast') {
    app.ws('/*', {
      maxPayloadLength: maxMessageBytes,
      idleTimeout: 120,
      open: (socket) => socket.subscribe('all'),
      message: (socket, message, isBinary) => app.publish('all', message, isBinary),
    });
  } else {
    app.ws('/*', {
      maxPayloadLength: maxMessageBytes,
      maxBackpressure: 4 * maxMessageBytes,
      idleTimeout: 120,
      message: workload === 'ws.echo' ? echo : count,
    });
  }
  // Every process has a socket of its own on the port (SO_REUSEPORT).
  app.listen(process.env.WIREBENCH_HOST, Number(process.env.WIREBENCH_PORT), (listening) => {
    if (!listening) process.exit(1);
  });
}
