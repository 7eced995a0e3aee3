// node:http and node:https as a client: http, https.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');

const url = new URL(process.env.WIREBENCH_URL);
const { Agent, request } = url.protocol === 'https:' ? https : http;
const policy = process.env.WIREBENCH_POLICY;
const expected = Buffer.alloc(Number(process.env.WIREBENCH_PAYLOAD_BYTES), 'abcdefghijklmnopqrstuvwxyz');
const posts = process.env.WIREBENCH_METHOD === 'POST';
const sending = {
  method: posts ? 'POST' : 'GET',
  headers: posts ? { 'Content-Type': 'application/octet-stream', 'Content-Length': expected.length } : {},
};
const warmup = Number(process.env.WIREBENCH_WARMUP);
const operations = Number(process.env.WIREBENCH_OPERATIONS);

let connections = 0;

class CountingAgent extends Agent {
  createConnection(...args) {
    connections += 1;
    return super.createConnection(...args);
  }
}

function newAgent(keepAlive) {
  const file = process.env.WIREBENCH_CA_FILE;
  return new CountingAgent({ ca: file ? fs.readFileSync(file) : undefined, keepAlive, maxSockets: 1 });
}

function operate(agent) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...sending, agent }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve(response.statusCode === 200 && expected.equals(Buffer.concat(chunks))));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(posts ? expected : undefined);
  });
}

async function operateCold() {
  const agent = newAgent(true);
  try {
    return await operate(agent);
  } finally {
    agent.destroy();
  }
}

async function main() {
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
  agent.destroy();
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
