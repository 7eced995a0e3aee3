// Fastify as a server: http.hello, rest.
'use strict';

const cluster = require('node:cluster');
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const fastify = require('fastify');

const threads = Number(process.env.WIREBENCH_THREADS || 1);
const delayMs = Number(process.env.WIREBENCH_DELAY_MS || 0);
// In rest the threads are handlers of one service: that many requests are in their delay at a time.
const workers = process.env.WIREBENCH_WORKLOAD === 'rest' ? 1 : threads;
const sending = Buffer.from('Sending response: ');
const waiting = [];
let delayed = 0;

async function delay() {
  if (delayed === threads) await new Promise((resolve) => waiting.push(resolve));
  else delayed += 1;
  await sleep(delayMs);
  // The place goes to the next, if one waits.
  if (waiting.length > 0) waiting.shift()();
  else delayed -= 1;
}

function otherMethods(app, url, allowed) {
  const method = app.supportedMethods.filter((one) => !['HEAD', 'OPTIONS', allowed].includes(one));
  app.route({ method, url, handler: (request, reply) => reply.code(405).header('Allow', allowed).send('method not allowed') });
}

async function serve() {
  const certificate = process.env.WIREBENCH_TLS_CERT;
  const app = fastify({
    https: certificate ? { cert: fs.readFileSync(certificate), key: fs.readFileSync(process.env.WIREBENCH_TLS_KEY) } : null,
  });
  // The body is checked whatever its type, and sent back as received. Without a type and bytes there is none.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => done(null, body));
  app.get('/route_01', async () => 'hello from route_01');
  app.get('/route_02', async () => 'hello from route_02');
  app.get('/test/status', async () => 'OK');
  app.get('/test/labels/:label', async (request) => `label: ${request.params.label}`);
  app.post('/test', async (request, reply) => {
    reply.type('text/plain');
    try {
      JSON.parse(request.body);
    } catch {
      return reply.code(400).send('expected JSON');
    }
    if (delayMs > 0) await delay();
    return Buffer.concat([sending, request.body]);
  });
  for (const url of ['/route_01', '/route_02', '/test/status', '/test/labels/:label']) otherMethods(app, url, 'GET');
  otherMethods(app, '/test', 'POST');
  await app.listen({ host: process.env.WIREBENCH_HOST, port: Number(process.env.WIREBENCH_PORT), backlog: 4096 });
}

if (workers > 1 && cluster.isPrimary) {
  for (let i = 0; i < workers; i += 1) cluster.fork();
  // The primary ends when its last worker has.
  process.once('SIGTERM', () => Object.values(cluster.workers).forEach((worker) => worker.process.kill()));
} else {
  serve();
}
