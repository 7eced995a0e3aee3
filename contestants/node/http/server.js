// node:http as a server: http.hello, rest.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');

const threads = Number(process.env.WIREBENCH_THREADS || 1);
const delayMs = Number(process.env.WIREBENCH_DELAY_MS || 0);
// In rest the threads are handlers of one service: that many requests are in their delay at a time.
const workers = process.env.WIREBENCH_WORKLOAD === 'rest' ? 1 : threads;
const waiting = [];
let delayed = 0;
const sending = Buffer.from('Sending response: ');
const labels = '/test/labels/';
const maxBodyBytes = 16 * 1024 * 1024;

function reply(response, status, body) {
  response.writeHead(status, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

function afterDelay(answer) {
  if (delayed === threads) {
    waiting.push(answer);
    return;
  }
  delayed += 1;
  setTimeout(() => {
    delayed -= 1;
    if (waiting.length > 0) afterDelay(waiting.shift());
    answer();
  }, delayMs);
}

function postTest(request, response) {
  const chunks = [];
  let size = 0;
  request.on('data', (chunk) => {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  });
  request.on('end', () => {
    if (size > maxBodyBytes) {
      reply(response, 413, 'too large');
      return;
    }
    const body = Buffer.concat(chunks);
    try {
      JSON.parse(body);
    } catch {
      reply(response, 400, 'expected JSON');
      return;
    }
    const answer = () => reply(response, 200, Buffer.concat([sending, body]));
    if (delayMs > 0) afterDelay(answer);
    else answer();
  });
}

// The handler of each path, by method.
const paths = new Map([
  ['/route_01', { GET: (request, response) => reply(response, 200, 'hello from route_01') }],
  ['/route_02', { GET: (request, response) => reply(response, 200, 'hello from route_02') }],
  ['/test', { POST: postTest }],
  ['/test/status', { GET: (request, response) => reply(response, 200, 'OK') }],
]);
const label = { GET: (request, response) => reply(response, 200, `label: ${pathOf(request).slice(labels.length)}`) };

function pathOf(request) {
  return request.url.split('?', 1)[0];
}

function handle(request, response) {
  const path = pathOf(request);
  const methods = paths.get(path) ?? (/^\/test\/labels\/[^/]+$/.test(path) ? label : null);
  if (methods === null) {
    reply(response, 404, 'not found');
  } else if (methods[request.method]) {
    methods[request.method](request, response);
  } else {
    response.setHeader('Allow', Object.keys(methods).join(', '));
    reply(response, 405, 'method not allowed');
  }
}

if (workers > 1 && cluster.isPrimary) {
  for (let i = 0; i < workers; i += 1) cluster.fork();
  // The primary ends when its last worker has.
  process.once('SIGTERM', () => Object.values(cluster.workers).forEach((worker) => worker.process.kill()));
} else {
  const server = http.createServer({ keepAliveTimeout: 75_000 }, handle);
  server.listen({ host: process.env.WIREBENCH_HOST, port: Number(process.env.WIREBENCH_PORT), backlog: 4096 });
}
