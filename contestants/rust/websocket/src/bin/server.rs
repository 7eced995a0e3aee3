//! rust-websocket as a server, in its synchronous form: ws.echo, ws.count.

use std::env;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};
use websocket::server::upgrade::sync::IntoWs;
use websocket::{CloseData, OwnedMessage, WebSocketError};

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

const PROTOCOL_ERROR: u16 = 1002;
const INVALID_PAYLOAD: u16 = 1007;

fn closing(code: u16) -> OwnedMessage {
    OwnedMessage::Close(Some(CloseData::new(code, String::new())))
}

fn count(text: &str) -> Option<OwnedMessage> {
    let Request { c } = serde_json::from_str(text).ok()?;
    let ts = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let reply = serde_json::to_string(&Reply { c, ts }).ok()?;
    Some(OwnedMessage::Text(reply))
}

fn answer(received: Result<OwnedMessage, WebSocketError>, is_echo: bool) -> Option<OwnedMessage> {
    match received {
        Ok(OwnedMessage::Ping(data)) => Some(OwnedMessage::Pong(data)),
        Ok(OwnedMessage::Pong(_)) => None,
        Ok(close @ OwnedMessage::Close(_)) => Some(close),
        Ok(message) if is_echo => Some(message),
        Ok(OwnedMessage::Text(text)) => {
            Some(count(&text).unwrap_or_else(|| closing(INVALID_PAYLOAD)))
        }
        Ok(OwnedMessage::Binary(_)) => Some(closing(INVALID_PAYLOAD)),
        Err(WebSocketError::Utf8Error(_)) => Some(closing(INVALID_PAYLOAD)),
        Err(_) => Some(closing(PROTOCOL_ERROR)),
    }
}

/// One connection; what fails ends it. The library's errors are of several types, and nobody reads them.
fn serve(stream: TcpStream, is_echo: bool) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(HANDSHAKE)).ok()?;
    let client = stream.into_ws().ok()?.accept().ok()?;
    client.stream_ref().set_read_timeout(None).ok()?;
    let (mut receiver, mut sender) = client.split().ok()?;
    loop {
        let Some(reply) = answer(receiver.recv_message(), is_echo) else {
            continue;
        };
        sender.send_message(&reply).ok()?;
        if reply.is_close() {
            return Some(());
        }
    }
}

fn listen() -> std::io::Result<TcpListener> {
    let host = env::var("WIREBENCH_HOST")
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("WIREBENCH_HOST: an IPv4 address");
    let port = env::var("WIREBENCH_PORT")
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("WIREBENCH_PORT");
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::V4(SocketAddrV4::new(host, port)).into())?;
    socket.listen(4096)?; // websocket::sync::Server takes the 128 of the standard library
    Ok(socket.into())
}

fn main() -> std::io::Result<()> {
    let is_echo = env::var("WIREBENCH_WORKLOAD").is_ok_and(|workload| workload == "ws.echo");
    for stream in listen()?.incoming() {
        let Ok(stream) = stream else {
            // Mostly too many open files: the next attempt would fail at once, too.
            thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        let _ = thread::Builder::new().spawn(move || serve(stream, is_echo));
    }
    Ok(())
}
