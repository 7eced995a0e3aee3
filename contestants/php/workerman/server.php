<?php
// Workerman as a server: http.hello, ws.echo, ws.count, ws.broadcast.

declare(strict_types=1);

use Workerman\Connection\TcpConnection;
use Workerman\Protocols\Http\Request;
use Workerman\Protocols\Http\Response;
use Workerman\Protocols\Websocket;
use Workerman\Worker;

require '/usr/local/share/php/vendor/autoload.php';

/** Workerman's WebSocket, with the type of each message, which it does not hand out. */
final class TypedWebsocket extends Websocket
{
    public static function decode(string $buffer, TcpConnection $connection): string
    {
        $opcode = ord($buffer[0]) & 0x0f;
        if ($opcode < 0x8) {
            if ($opcode > 0x0) { // no continuation
                $connection->websocketType = chr(0x80 | $opcode);
            }
            return parent::decode($buffer, $connection);
        }
        // A ping between the fragments of a message: Workerman 5.2.2 would answer with them.
        $fragments = $connection->context->websocketDataBuffer;
        $connection->context->websocketDataBuffer = '';
        $data = parent::decode($buffer, $connection);
        $connection->context->websocketDataBuffer = $fragments;
        return $data;
    }
}

function reply(TcpConnection $connection, Request $request): void
{
    $path = $request->path();
    $response = match (true) {
        $path !== '/route_01' && $path !== '/route_02' => text(404, 'not found'),
        $request->method() !== 'GET' => text(405, 'method not allowed'),
        default => text(200, 'hello from ' . substr($path, 1)),
    };
    // Workerman leaves the end of a connection to the application.
    $kept = $request->protocolVersion() === '1.1' ? 'keep-alive' : 'close';
    if (strtolower($request->header('connection', $kept)) === 'close') {
        $connection->close($response->header('Connection', 'close'));
    } else {
        $connection->send($response);
    }
}

function text(int $status, string $body): Response
{
    return new Response($status, ['Content-Type' => 'text/plain'], $body);
}

function send_back(TcpConnection $connection, string $message): void
{
    $connection->send($message);
}

function count_up(TcpConnection $connection, string $message): void
{
    try {
        $request = json_decode($message, true, 512, JSON_THROW_ON_ERROR);
        $connection->send(json_encode(['c' => $request['c'], 'ts' => time()], JSON_THROW_ON_ERROR));
    } catch (JsonException | TypeError) { // TypeError: it is a text, which has no member
        $connection->close("\x88\x02\x03\xef", true); // status 1007: invalid data
    }
}

function send_to_all(TcpConnection $connection, string $message): void
{
    foreach ($connection->worker->connections as $one) {
        if (isset($one->context->websocketHandshake)) {
            $one->send($message);
        }
    }
}

$workload = getenv('WIREBENCH_WORKLOAD');
$address = getenv('WIREBENCH_HOST') . ':' . getenv('WIREBENCH_PORT');
$isWebsocket = str_starts_with($workload, 'ws.');
$worker = new Worker(($isWebsocket ? 'tcp' : 'http') . "://$address", ['socket' => ['backlog' => 4096]]);
if ($isWebsocket) {
    $worker->protocol = TypedWebsocket::class;
}
$worker->count = $workload === 'ws.broadcast' ? 1 : (int) (getenv('WIREBENCH_THREADS') ?: 1);
$worker->onMessage = match ($workload) {
    'ws.echo' => send_back(...),
    'ws.count' => count_up(...),
    'ws.broadcast' => send_to_all(...),
    default => reply(...),
};

TcpConnection::$defaultMaxPackageSize = 16 * 1024 * 1024;
Worker::$pidFile = getenv('WIREBENCH_TMP') . '/workerman.pid';
Worker::$statusFile = getenv('WIREBENCH_TMP') . '/workerman.status';
Worker::$logFile = '/dev/null';
Worker::runAll();
