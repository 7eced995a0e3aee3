// node:http as a server for wire's client: server.mjs PORT [CERTIFICATE KEY].
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import zlib from 'node:zlib';

const block = Buffer.from(Array.from({ length: 65536 }, (_, i) => (i * 7 + Math.floor(i / 251)) % 256));
const table = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function* blocks(size) {
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length));
}

async function answer(request, response) {
  const [, name, size] = request.url.split('/');
  if (name === 'hello') return response.end('hello\n');
  if (name === 'redirect') return response.writeHead(302, { Location: '/hello' }).end();
  if (name === 'sum') {
    let crc = 0xffffffff;
    let count = 0;
    for await (const piece of request) {
      for (const byte of piece) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
      count += piece.length;
    }
    return response.end(`${count} ${(crc ^ 0xffffffff) >>> 0}`);
  }
  if (name === 'bytes') response.setHeader('Content-Length', size);
  if (request.method === 'HEAD') return response.end();
  const stream = Readable.from(blocks(Number(size)));
  if (name !== 'packed') return pipeline(stream, response);
  response.setHeader('Content-Encoding', 'deflate');
  return pipeline(stream, zlib.createDeflate(), response);
}

const [, , port, certificate, key] = process.argv;
const server = certificate
  ? https.createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, answer)
  : http.createServer(answer);
server.listen(Number(port), '127.0.0.1');
