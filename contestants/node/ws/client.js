// ws as a client: ws, wss.
'use strict';

const { once } = require('node:events');
const fs = require('node:fs');
const { WebSocket } = require('ws');

const url = process.env.WIREBENCH_URL;
const policy = process.env.WIREBENCH_POLICY;
const expected = Buffer.alloc(Number(process.env.WIREBENCH_PAYLOAD_BYTES), 'abcdefghijklmnopqrstuvwxyz');
const message = expected.toString();
const warmup = Number(process.env.WIREBENCH_WARMUP);
const operations = Number(process.env.WIREBENCH_OPERATIONS);

let connections = 0;

// ws has no object that connections share: policy cold reads the authorities again, and Node parses them for each
// connection anyway.
function newOptions() {
  const file = process.env.WIREBENCH_CA_FILE;
  return { ca: file ? fs.readFileSync(file) : undefined };
}

async function open(options) {
  const socket = new WebSocket(url, options);
  await once(socket, 'open');
  connections += 1;
  return socket;
}

function exchange(socket) {
  return new Promise((resolve, reject) => {
    socket.onmessage = (event) => resolve(event.data === message);
    socket.onclose = () => reject(new Error('closed'));
    socket.onerror = reject;
    socket.send(message);
  });
}

async function exchangeOnce(options) {
  const socket = await open(options);
  const ok = await exchange(socket);
  socket.onclose = null;
  socket.close();
  await once(socket, 'close');
  return ok;
}

async function main() {
  const options = newOptions();
  const kept = policy === 'reuse' ? await open(options) : null;
  const operation = {
    reuse: () => exchange(kept),
    new: () => exchangeOnce(options),
    cold: () => exchangeOnce(newOptions()),
  }[policy];
  const samples = Buffer.alloc(8 * operations);
  let errors = 0;
  let cpu;
  let began;
  for (let i = -warmup; i < operations; i += 1) {
    if (i === 0) {
      cpu = process.cpuUsage();
      began = process.hrtime.bigint();
    }
    const start = process.hrtime.bigint();
    const ok = await operation().catch(() => false);
    if (i >= 0) samples.writeBigUInt64LE(process.hrtime.bigint() - start, 8 * i);
    if (!ok) errors += 1;
  }
  const wall = process.hrtime.bigint() - began;
  cpu = process.cpuUsage(cpu);
  if (kept) kept.close();
  fs.writeFileSync(process.env.WIREBENCH_SAMPLES, samples);
  console.log(JSON.stringify({
    operations,
    errors,
    connections,
    wall_ns: Number(wall),
    cpu_user_ns: cpu.user * 1000,
    cpu_system_ns: cpu.system * 1000,
  }));
  process.exitCode = errors ? 1 : 0;
}

main();
