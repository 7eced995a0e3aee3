//! tokio-tungstenite as a server: ws.echo, ws.count, ws.broadcast.

use std::env;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::broadcast::Sender;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::WebSocketStream;

#[derive(Deserialize)]
struct Request {
    c: i64,
}

#[derive(Serialize)]
struct Reply {
    c: i64,
    ts: u64,
}

/// The library sets no limit of its own.
const HANDSHAKE: Duration = Duration::from_secs(60);

/// As long as axum waits.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn count(message: Message) -> Result<Message, Failure> {
    let Request { c } = serde_json::from_str(message.to_text()?)?;
    let ts = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    Ok(Message::text(serde_json::to_string(&Reply { c, ts })?))
}

/// Messages that a connection may be behind.
const QUEUE: usize = 256;

async fn broadcast(
    mut socket: WebSocketStream<TcpStream>,
    everybody: Sender<Message>,
) -> Result<(), Failure> {
    let mut to_all = everybody.subscribe();
    loop {
        tokio::select! {
            received = socket.next() => match received {
                Some(Ok(message)) if message.is_text() || message.is_binary() => {
                    everybody.send(message)?;
                }
                Some(received) => drop(received?),
                None => return Ok(()),
            },
            message = to_all.recv() => socket.send(message?).await?,
        }
    }
}

async fn serve(
    stream: TcpStream,
    is_echo: bool,
    everybody: Option<Sender<Message>>,
) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let shaken = tokio_tungstenite::accept_async(stream);
    let mut socket = timeout(HANDSHAKE, shaken).await??;
    if let Some(everybody) = everybody {
        return broadcast(socket, everybody).await;
    }
    while let Some(message) = socket.next().await {
        let message = message?;
        if message.is_text() || message.is_binary() {
            socket
                .send(if is_echo { message } else { count(message)? })
                .await?;
        }
    }
    Ok(())
}

async fn run() -> std::io::Result<()> {
    let workload = env::var("WIREBENCH_WORKLOAD").unwrap_or_default();
    let is_echo = workload == "ws.echo";
    let everybody = (workload == "ws.broadcast").then(|| Sender::new(QUEUE));
    let host = env::var("WIREBENCH_HOST")
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("WIREBENCH_HOST: an IPv4 address");
    let port = env::var("WIREBENCH_PORT")
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("WIREBENCH_PORT");
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::V4(SocketAddrV4::new(host, port)))?;
    let listener = socket.listen(4096)?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, is_echo, everybody.clone()));
            }
            // Mostly too many open files: the next attempt would fail at once, too.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

fn main() -> std::io::Result<()> {
    let threads = env::var("WIREBENCH_THREADS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?
        .block_on(run())
}
