// node:http as a server: http.hello, rest.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');

const threads = Number(process.env.WIREBENCH_THREADS || 1);
const delayMs = Number(process.env.WIREBENCH_DELAY_MS || 0);
const sending = Buffer.from('Sending response: ');
const labels = '/test/labels/';

function reply(response, status, body) {
  response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

function postTest(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    try {
      JSON.parse(body);
    } catch {
      reply(response, 400, 'expected JSON');
      return;
    }
    const answer = () => reply(response, 200, Buffer.concat([sending, body]));
    if (delayMs > 0) setTimeout(answer, delayMs);
    else answer();
  });
}

function handle(request, response) {
  const path = request.url.split('?', 1)[0];
  const label = path.startsWith(labels) ? path.slice(labels.length) : '';
  const isLabel = label !== '' && !label.includes('/');
  const isGet = request.method === 'GET';
  if (path === '/test' && request.method === 'POST') postTest(request, response);
  else if (path === '/route_01' && isGet) reply(response, 200, 'hello from route_01');
  else if (path === '/route_02' && isGet) reply(response, 200, 'hello from route_02');
  else if (path === '/test/status' && isGet) reply(response, 200, 'OK');
  else if (isLabel && isGet) reply(response, 200, `label: ${label}`);
  else if (isLabel || ['/route_01', '/route_02', '/test', '/test/status'].includes(path)) reply(response, 405, 'method not allowed');
  else reply(response, 404, 'not found');
}

if (threads > 1 && cluster.isPrimary) {
  for (let i = 0; i < threads; i += 1) cluster.fork();
  // The primary ends when its last worker has.
  process.once('SIGTERM', () => Object.values(cluster.workers).forEach((worker) => worker.process.kill()));
} else {
  const server = http.createServer({ keepAliveTimeout: 75_000 }, handle);
  server.listen({ host: process.env.WIREBENCH_HOST, port: Number(process.env.WIREBENCH_PORT), backlog: 4096 });
}
