//! tokio-tungstenite as a server: ws.echo, ws.count.

use std::env;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

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

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn count(message: Message) -> Result<Message, Failure> {
    let Request { c } = serde_json::from_str(message.to_text()?)?;
    let ts = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    Ok(Message::text(serde_json::to_string(&Reply { c, ts })?))
}

async fn serve(stream: TcpStream, is_echo: bool) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let shaken = tokio_tungstenite::accept_async(stream);
    let mut socket = timeout(HANDSHAKE, shaken).await??;
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
    let is_echo = env::var("WIREBENCH_WORKLOAD").is_ok_and(|workload| workload == "ws.echo");
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
        // Too many open files or a peer already gone: the other connections go on.
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, is_echo));
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
