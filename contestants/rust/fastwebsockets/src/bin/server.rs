//! fastwebsockets over hyper as a server: ws.echo, ws.count.

use std::env;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastwebsockets::upgrade::{self, UpgradeFut};
use fastwebsockets::{FragmentCollector, Frame, OpCode, Payload, WebSocketError};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;
use tokio::time::sleep;

#[derive(Deserialize)]
struct Request {
    c: i64,
}

#[derive(Serialize)]
struct Reply {
    c: i64,
    ts: u64,
}

/// As long as axum waits.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn count(message: &[u8]) -> Result<Vec<u8>, Failure> {
    let Request { c } = serde_json::from_slice(message)?;
    let ts = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    Ok(serde_json::to_vec(&Reply { c, ts })?)
}

async fn serve(upgrade: UpgradeFut, is_echo: bool) -> Result<(), Failure> {
    let mut socket = FragmentCollector::new(upgrade.await?);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()), // the library has answered it
            OpCode::Text | OpCode::Binary if is_echo => socket.write_frame(frame).await?,
            OpCode::Text => {
                let reply = Frame::text(Payload::Owned(count(&frame.payload)?));
                socket.write_frame(reply).await?;
            }
            _ => {}
        }
    }
}

async fn answer(
    mut request: HttpRequest<Incoming>,
    is_echo: bool,
) -> Result<Response<Empty<Bytes>>, WebSocketError> {
    let (response, upgrade) = upgrade::upgrade(&mut request)?;
    tokio::spawn(serve(upgrade, is_echo));
    Ok(response)
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
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Mostly too many open files: the next attempt would fail at once, too.
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            let handler = service_fn(|request| answer(request, is_echo));
            let _ = http1::Builder::new()
                .timer(TokioTimer::new()) // else a head may take forever
                .serve_connection(TokioIo::new(stream), handler)
                .with_upgrades()
                .await;
        });
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
