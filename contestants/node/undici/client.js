// fetch of undici as a client: http, https.
'use strict';

const fs = require('node:fs');
const { Agent, fetch } = require('undici');

const url = process.env.WIREBENCH_URL;
const policy = process.env.WIREBENCH_POLICY;
const expected = Buffer.alloc(Number(process.env.WIREBENCH_PAYLOAD_BYTES), 'abcdefghijklmnopqrstuvwxyz');
const sending = process.env.WIREBENCH_METHOD === 'POST'
  ? { method: 'POST', headers: { 'Content-Type': 'application/octet-stream' }, body: expected }
  : {};
const warmup = Number(process.env.WIREBENCH_WARMUP);
const operations = Number(process.env.WIREBENCH_OPERATIONS);

let connections = 0;

function newAgent(keepAlive) {
  const file = process.env.WIREBENCH_CA_FILE;
  const agent = new Agent({
    connect: { ca: file ? fs.readFileSync(file) : undefined },
    connections: 1,
    pipelining: keepAlive ? 1 : 0,
  });
  return agent.on('connect', () => {
    connections += 1;
  });
}

async function operate(dispatcher) {
  const response = await fetch(url, { ...sending, dispatcher });
  const body = Buffer.from(await response.arrayBuffer());
  return response.status === 200 && expected.equals(body);
}

async function operateCold() {
  const agent = newAgent(true);
  try {
    return await operate(agent);
  } finally {
    await agent.destroy();
  }
}

async function main() {
  // At an address, undici leaves the request open whose certificate names another host: Node then ends for want of work.
  process.exitCode = 1;
  const agent = newAgent(policy === 'reuse');
  const operation = policy === 'cold' ? operateCold : () => operate(agent);
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
  await agent.destroy();
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
