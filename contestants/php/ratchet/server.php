<?php
// Ratchet as a server: ws.echo, ws.count.

declare(strict_types=1);

use Ratchet\ConnectionInterface;
use Ratchet\Http\HttpServer;
use Ratchet\RFC6455\Messaging\Frame;
use Ratchet\RFC6455\Messaging\MessageInterface;
use Ratchet\Server\IoServer;
use Ratchet\WebSocket\MessageComponentInterface;
use Ratchet\WebSocket\WsServer;
use React\EventLoop\Loop;
use React\Socket\SocketServer;

require '/usr/local/share/php/vendor/autoload.php';

abstract class Messages implements MessageComponentInterface
{
    public function onOpen(ConnectionInterface $connection): void
    {
    }

    public function onClose(ConnectionInterface $connection): void
    {
    }

    public function onError(ConnectionInterface $connection, Exception $error): void
    {
        $connection->close();
    }
}

final class EchoMessages extends Messages
{
    public function onMessage(ConnectionInterface $connection, MessageInterface $message): void
    {
        $opcode = $message->isBinary() ? Frame::OP_BINARY : Frame::OP_TEXT;
        $connection->send(new Frame($message->getPayload(), true, $opcode));
    }
}

final class CountMessages extends Messages
{
    public function onMessage(ConnectionInterface $connection, MessageInterface $message): void
    {
        try {
            $request = json_decode($message->getPayload(), true, 512, JSON_THROW_ON_ERROR);
            $reply = ['c' => $request['c'], 'ts' => time()];
            $connection->send(json_encode($reply, JSON_THROW_ON_ERROR));
        } catch (JsonException | TypeError) { // TypeError: it is a text, which has no member
            $connection->close(Frame::CLOSE_BAD_PAYLOAD);
        }
    }
}

function serve(int $threads): void
{
    $messages = getenv('WIREBENCH_WORKLOAD') === 'ws.echo' ? new EchoMessages() : new CountMessages();
    $websocket = new WsServer($messages);
    $loop = Loop::get();
    $options = ['tcp' => ['backlog' => 4096, 'so_reuseport' => $threads > 1, 'tcp_nodelay' => true]];
    $address = getenv('WIREBENCH_HOST') . ':' . getenv('WIREBENCH_PORT');
    $socket = new SocketServer($address, $options, $loop);
    (new IoServer(new HttpServer($websocket), $socket, $loop))->run();
}

// Ratchet 0.4.4 sets properties that it does not declare, of which PHP 8.2 would write a line each.
error_reporting(E_ALL & ~E_DEPRECATED);
$threads = (int) (getenv('WIREBENCH_THREADS') ?: 1);
if ($threads === 1) {
    serve($threads);
    exit;
}
// Held back until every worker is known, then passed on to each.
pcntl_sigprocmask(SIG_BLOCK, [SIGTERM]);
$workers = [];
for ($i = 0; $i < $threads; $i++) {
    $worker = pcntl_fork();
    if ($worker === 0) {
        pcntl_sigprocmask(SIG_UNBLOCK, [SIGTERM]);
        serve($threads);
        exit;
    }
    $workers[] = $worker;
}
pcntl_sigwaitinfo([SIGTERM]);
foreach ($workers as $worker) {
    posix_kill($worker, SIGTERM);
}
