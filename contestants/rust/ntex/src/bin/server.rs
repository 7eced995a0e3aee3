//! ntex as a server: http.hello, rest, ws.echo, ws.count.

use std::cell::RefCell;
use std::convert::Infallible;
use std::env;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ntex::http::{body::BodySize, h1, HttpServiceConfig, StatusCode};
use ntex::io::{DispatchItem, Dispatcher};
use ntex::time::Seconds;
use ntex::util::{ByteString, Bytes, BytesMut};
use ntex::web::error::InternalError;
use ntex::web::types::{Path, State};
use ntex::web::{self, App, HttpRequest, HttpResponse, HttpServer};
use ntex::ws::{self, error::HandshakeError, CloseCode, Frame, Item, Message};
use ntex::{rt, SharedCfg};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// What the workers share.
struct Service {
    delay: Duration,
    handlers: Semaphore,
    is_echo: bool,
}

#[derive(Deserialize)]
struct Request {
    c: i64,
}

#[derive(Serialize)]
struct Reply {
    c: i64,
    ts: u64,
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

async fn post_test(service: State<Arc<Service>>, body: Bytes) -> Result<String, web::Error> {
    let text = std::str::from_utf8(&body)?;
    serde_json::from_str::<&RawValue>(text)
        .map_err(|error| InternalError::default(error, StatusCode::BAD_REQUEST))?;
    if !service.delay.is_zero() {
        // Tasks are not bounded by themselves.
        let _handler = service.handlers.acquire().await.expect("never closed");
        // ntex's own timer is for timeouts: it counts in steps of 16 ms.
        tokio::time::sleep(service.delay).await;
    }
    Ok(format!("Sending response: {text}"))
}

async fn label(label: Path<String>) -> String {
    format!("label: {label}")
}

fn count(text: &[u8]) -> Option<String> {
    let Request { c } = serde_json::from_slice(text).ok()?;
    let ts = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    serde_json::to_string(&Reply { c, ts }).ok()
}

/// Answers the frames of one connection. ntex leaves it to its user to assemble messages.
struct Session {
    is_echo: bool,
    is_text: bool,
    parts: BytesMut,
}

impl Session {
    fn answer(&mut self, frame: Frame) -> Result<Option<Message>, CloseCode> {
        Ok(Some(match frame {
            Frame::Text(text) if self.is_echo => {
                Message::Text(ByteString::try_from(text).map_err(|_| CloseCode::Invalid)?)
            }
            Frame::Text(text) => Message::Text(count(&text).ok_or(CloseCode::Invalid)?.into()),
            Frame::Binary(data) => Message::Binary(data),
            Frame::Continuation(part) => match self.assemble(part)? {
                Some(whole) => return self.answer(whole),
                None => return Ok(None),
            },
            Frame::Ping(data) => Message::Pong(data),
            Frame::Pong(_) => return Ok(None),
            Frame::Close(reason) => Message::Close(reason),
        }))
    }

    /// The message, once this part is its last.
    fn assemble(&mut self, part: Item) -> Result<Option<Frame>, CloseCode> {
        if let Item::FirstText(_) | Item::FirstBinary(_) = part {
            self.is_text = matches!(part, Item::FirstText(_));
            self.parts.clear();
        }
        let is_last = matches!(part, Item::Last(_));
        let (Item::FirstText(data)
        | Item::FirstBinary(data)
        | Item::Continue(data)
        | Item::Last(data)) = part;
        if self.parts.len() + data.len() > MAX_MESSAGE_BYTES {
            return Err(CloseCode::Size);
        }
        self.parts.extend_from_slice(&data);
        Ok(is_last.then(|| {
            let message = std::mem::take(&mut self.parts).freeze();
            if self.is_text {
                Frame::Text(message)
            } else {
                Frame::Binary(message)
            }
        }))
    }
}

/// What web::ws::start() does, which has no way to accept frames of more than 64 KiB.
async fn websocket(
    service: State<Arc<Service>>,
    request: HttpRequest,
) -> Result<HttpResponse, web::Error> {
    let response = ws::handshake(request.head())?.finish().drop_body();
    let (io, http) = request
        .head()
        .take_io()
        .ok_or(HandshakeError::NoWebsocketUpgrade)?;
    io.encode(h1::Message::Item((response, BodySize::Empty)), &http)
        .map_err(|_| HandshakeError::NoWebsocketUpgrade)?;
    // It was for the request's head.
    io.stop_timer();
    let connection = io.get_ref();
    let session = RefCell::new(Session {
        is_echo: service.is_echo,
        is_text: false,
        parts: BytesMut::new(),
    });
    let answer = async move |item: DispatchItem<ws::Codec>| {
        let DispatchItem::Item(frame) = item else {
            return Ok::<_, Infallible>(None);
        };
        let reply = session
            .borrow_mut()
            .answer(frame)
            .unwrap_or_else(|code| Some(Message::Close(Some(code.into()))));
        if let Some(Message::Close(_)) = reply {
            // Once the reply is written.
            let connection = connection.clone();
            rt::spawn(async move { connection.close() });
        }
        Ok(reply)
    };
    let codec = ws::Codec::new().max_size(MAX_MESSAGE_BYTES);
    rt::spawn(Dispatcher::new(io, codec, answer));
    Ok(HttpResponse::new(StatusCode::OK))
}

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let threads = number("WIREBENCH_THREADS", 1).max(1) as usize;
    let workload = env::var("WIREBENCH_WORKLOAD").unwrap_or_default();
    let service = Arc::new(Service {
        delay: Duration::from_millis(number("WIREBENCH_DELAY_MS", 0)),
        handlers: Semaphore::new(threads),
        is_echo: workload == "ws.echo",
    });
    let is_websocket = workload.starts_with("ws.");
    HttpServer::new(async move || {
        let app = App::new().state(service.clone());
        if is_websocket {
            return app.route("/", web::get().to(websocket));
        }
        // A resource answers other methods with 405; App::route would with 404.
        app.service((
            web::resource("/route_01").route(web::get().to(async || "hello from route_01")),
            web::resource("/route_02").route(web::get().to(async || "hello from route_02")),
            web::resource("/test").route(web::post().to(post_test)),
            web::resource("/test/status").route(web::get().to(async || "OK")),
            web::resource("/test/labels/{label}").route(web::get().to(label)),
        ))
    })
    .workers(threads)
    .shutdown_timeout(Seconds(1))
    .backlog(4096)
    .maxconn(100_000)
    .config(
        SharedCfg::new("wirebench").add(
            HttpServiceConfig::new()
                .set_client_timeout(Seconds(60))
                .set_keepalive(Seconds(75)),
        ),
    )
    .bind((
        env::var("WIREBENCH_HOST").expect("WIREBENCH_HOST"),
        number("WIREBENCH_PORT", 0) as u16,
    ))?
    .run()
    .await
}
