// Bun.serve as a server: http.hello, rest, ws.echo, ws.count, ws.broadcast.

const threads = Number(process.env.WIREBENCH_THREADS || 1);
const delayMs = Number(process.env.WIREBENCH_DELAY_MS || 0);
const certificate = process.env.WIREBENCH_TLS_CERT;
const workload = process.env.WIREBENCH_WORKLOAD;
// In rest the threads are handlers of one service: that many requests are in their delay at a time. Under ws.broadcast one
// process has all connections.
const processes = workload === 'rest' || workload === 'ws.broadcast' ? 1 : threads;
const waiting = [];
let delayed = 0;

const sending = Buffer.from('Sending response: ');
const utf8 = new TextDecoder('utf-8', { fatal: true });
const text = { headers: { 'Content-Type': 'text/plain; charset=utf-8' } };

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

async function postTest(request) {
  // As received: text() would leave out a byte order mark and replace what is no UTF-8.
  const body = await request.bytes();
  try {
    JSON.parse(utf8.decode(body));
  } catch {
    return new Response('expected JSON', { status: 400 });
  }
  if (delayMs > 0) await new Promise(afterDelay);
  return new Response(Buffer.concat([sending, body]), text);
}

const routes = {
  '/route_01': { GET: () => new Response('hello from route_01', text) },
  '/route_02': { GET: () => new Response('hello from route_02', text) },
  '/test': { POST: postTest },
  '/test/status': { GET: () => new Response('OK', text) },
  '/test/labels/:label': { GET: (request) => new Response(`label: ${request.params.label}`, text) },
};

// What no route takes: an unknown path, or a method that a known path does not have.
function refuse(request) {
  const path = new URL(request.url).pathname.replace(/^\/test\/labels\/[^/]+$/, '/test/labels/:label');
  if (!Object.hasOwn(routes, path)) return new Response('not found', { status: 404 });
  return new Response('method not allowed', { status: 405, headers: { Allow: Object.keys(routes[path]).join(', ') } });
}

function upgrade(request, server) {
  return server.upgrade(request) ? undefined : new Response('expected a WebSocket', { status: 400 });
}

function echo(socket, message) {
  socket.send(message);
}

function count(socket, message) {
  let c;
  try {
    ({ c } = JSON.parse(message));
  } catch {
    socket.close(1007, 'expected JSON');
    return;
  }
  socket.send(JSON.stringify({ c, ts: Math.floor(Date.now() / 1000) }));
}

const messages = {
  'ws.echo': { message: echo },
  'ws.count': { message: count },
  'ws.broadcast': {
    open: (socket) => socket.subscribe('all'),
    message: (socket, message) => server.publish('all', message),
  },
};
let server;

if (processes > 1 && !process.env.WIREBENCH_WORKER) {
  const env = { ...process.env, WIREBENCH_WORKER: '1' };
  const start = () => Bun.spawn([process.execPath, import.meta.path], { env, stdout: 'inherit', stderr: 'inherit' });
  const workers = Array.from({ length: processes }, start);
  process.once('SIGTERM', () => workers.forEach((worker) => worker.kill()));
} else {
  server = Bun.serve({
    hostname: process.env.WIREBENCH_HOST,
    port: Number(process.env.WIREBENCH_PORT),
    reusePort: processes > 1,
    idleTimeout: 75,
    tls: certificate ? { cert: Bun.file(certificate), key: Bun.file(process.env.WIREBENCH_TLS_KEY) } : undefined,
    routes: workload.startsWith('ws.') ? { '/': upgrade } : routes,
    fetch: refuse,
    websocket: messages[workload] ?? messages['ws.echo'],
  });
}
