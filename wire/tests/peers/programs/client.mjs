// Node's fetch, node:http and WebSocket against wire's server: client.mjs BASE. Prints "ok". With
// TLS the authority is in NODE_EXTRA_CA_CERTS.
import http from 'node:http';
import https from 'node:https';
import assert from 'node:assert/strict';

const base = process.argv[2];
const text = await (await fetch(`${base}/hello`)).text();
assert.equal(text, 'hello\n');

// fetch asks for gzip, over TLS also for br, and decodes it.
const compressed = await fetch(`${base}/chunks/300000`);
assert.ok(['gzip', 'br', 'zstd'].includes(compressed.headers.get('content-encoding')));
const bytes = new Uint8Array(await compressed.arrayBuffer());
assert.equal(bytes.length, 300000);

const whole = await fetch(`${base}/whole`, { method: 'POST', body: bytes });
assert.deepEqual(new Uint8Array(await whole.arrayBuffer()), bytes);
const stream = new Blob([bytes]).stream(); // of no known length: chunked
const piecewise = await fetch(`${base}/echo`, { method: 'POST', body: stream, duplex: 'half' });
assert.deepEqual(new Uint8Array(await piecewise.arrayBuffer()), bytes);
const head = await fetch(`${base}/bytes/1000`, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } });
assert.equal(head.headers.get('content-length'), '1000');
assert.equal((await head.arrayBuffer()).byteLength, 0);

// node:http with one kept connection, and with Expect.
const module_ = base.startsWith('https') ? https : http;
const agent = new module_.Agent({ keepAlive: true, maxSockets: 1 });
function ask(path, options = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const request = module_.request(`${base}${path}`, { agent, ...options }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    request.on('error', reject);
    if (options.headers?.Expect) request.on('continue', () => request.end(body));
    else request.end(body);
  });
}
const peer = await ask('/peer');
for (let i = 0; i < 20; i += 1) assert.equal(await ask('/peer'), peer);
const expecting = { method: 'PUT', headers: { Expect: '100-continue', 'Content-Length': 5 } };
assert.equal(await ask('/sum', expecting, 'hello'), '5 907060870');
agent.destroy();

const messages = ['hello', 'x'.repeat(100000), 'κόσμε'];
const echoes = await new Promise((resolve, reject) => {
  const socket = new WebSocket(`${base.replace(/^http/, 'ws')}/ws`);
  const got = [];
  socket.onerror = (event) => reject(event.error ?? new Error('WebSocket'));
  socket.onopen = () => messages.forEach((message) => socket.send(message));
  socket.onmessage = (event) => {
    got.push(event.data);
    if (got.length === messages.length) socket.close(1000, 'bye');
  };
  socket.onclose = (event) => (event.code === 1000 ? resolve(got) : reject(new Error(`close ${event.code}`)));
});
assert.deepEqual(echoes, messages);
console.log('ok');
