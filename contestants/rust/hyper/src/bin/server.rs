//! hyper as a server, without a framework: http.hello, rest.

use std::convert::Infallible;
use std::env;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::value::RawValue;
use tokio::net::TcpSocket;
use tokio::sync::Semaphore;
use tokio::time::sleep;

type Reply = Response<Full<Bytes>>;

const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// As long as axum waits.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// What the requests share.
struct Service {
    delay: Duration,
    handlers: Semaphore,
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn threads() -> usize {
    number("WIREBENCH_THREADS", 1).max(1) as usize
}

fn reply(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    response
}

fn not_allowed(allowed: &'static str) -> Reply {
    let mut response = reply(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    let allowed = HeaderValue::from_static(allowed);
    response.headers_mut().insert(ALLOW, allowed);
    response
}

async fn post_test(service: &Service, body: Incoming) -> Reply {
    let Ok(body) = Limited::new(body, MAX_BODY_BYTES).collect().await else {
        return reply(StatusCode::BAD_REQUEST, "expected a body of 16 MiB or less");
    };
    let body = body.to_bytes();
    if serde_json::from_slice::<&RawValue>(&body).is_err() {
        return reply(StatusCode::BAD_REQUEST, "expected JSON");
    }
    if !service.delay.is_zero() {
        // Tasks are not bounded by themselves.
        let _handler = service.handlers.acquire().await.expect("never closed");
        sleep(service.delay).await;
    }
    reply(
        StatusCode::OK,
        [b"Sending response: ", body.as_ref()].concat(),
    )
}

async fn answer(service: &Service, request: Request<Incoming>) -> Reply {
    let path = request.uri().path();
    let label = path
        .strip_prefix("/test/labels/")
        .filter(|label| !label.is_empty() && !label.contains('/'));
    // hyper sends no body in the response to HEAD.
    let get = matches!(request.method(), &Method::GET | &Method::HEAD);
    match (path, label) {
        ("/test", _) if request.method() == Method::POST => {
            post_test(service, request.into_body()).await
        }
        ("/test", _) => not_allowed("POST"),
        ("/route_01", _) if get => reply(StatusCode::OK, "hello from route_01"),
        ("/route_02", _) if get => reply(StatusCode::OK, "hello from route_02"),
        ("/test/status", _) if get => reply(StatusCode::OK, "OK"),
        (_, Some(label)) if get => reply(StatusCode::OK, format!("label: {label}")),
        ("/route_01" | "/route_02" | "/test/status", _) | (_, Some(_)) => not_allowed("GET, HEAD"),
        _ => reply(StatusCode::NOT_FOUND, "not found"),
    }
}

async fn run() -> std::io::Result<()> {
    // Lives as long as the program: no count of its users is kept.
    let service: &'static Service = Box::leak(Box::new(Service {
        delay: Duration::from_millis(number("WIREBENCH_DELAY_MS", 0)),
        handlers: Semaphore::new(threads()),
    }));
    let host = env::var("WIREBENCH_HOST")
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("WIREBENCH_HOST: an IPv4 address");
    let address = SocketAddr::V4(SocketAddrV4::new(host, number("WIREBENCH_PORT", 0) as u16));
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
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
            let handler =
                service_fn(|request| async { Ok::<_, Infallible>(answer(service, request).await) });
            // What a peer does wrong ends its connection only.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), handler)
                .await;
        });
    }
}

fn main() -> std::io::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()?
        .block_on(run())
}
