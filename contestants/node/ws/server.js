// ws as a server: ws.echo, ws.count, ws.broadcast.
'use strict';

const cluster = require('node:cluster');
const { WebSocket, WebSocketServer } = require('ws');

const workload = process.env.WIREBENCH_WORKLOAD;
// Under ws.broadcast one process has all connections.
const threads = workload === 'ws.broadcast' ? 1 : Number(process.env.WIREBENCH_THREADS || 1);

function broadcast(socket, server) {
  socket.on('message', (data, isBinary) => {
    for (const client of server.clients) {
      if (client.readyState === WebSocket.OPEN) client.send(data, { binary: isBinary });
    }
  });
}

function echo(socket) {
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}

function count(socket) {
  socket.on('message', (data) => {
    let c;
    try {
      ({ c } = JSON.parse(data));
    } catch {
      socket.close(1007, 'expected JSON');
      return;
    }
    socket.send(JSON.stringify({ c, ts: Math.floor(Date.now() / 1000) }));
  });
}

if (threads > 1 && cluster.isPrimary) {
  for (let i = 0; i < threads; i += 1) cluster.fork();
  // The primary ends when its last worker has.
  process.once('SIGTERM', () => Object.values(cluster.workers).forEach((worker) => worker.process.kill()));
} else {
  const handler = { 'ws.echo': echo, 'ws.count': count, 'ws.broadcast': broadcast }[workload];
  const server = new WebSocketServer({
    host: process.env.WIREBENCH_HOST,
    port: Number(process.env.WIREBENCH_PORT),
    backlog: 4096,
  });
  server.on('connection', (socket) => {
    socket.on('error', () => {}); // a peer's protocol error closes its connection, not the server
    handler(socket, server);
  });
}
