//! axum as a server: http.hello, rest.

use std::env;
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::Router;
use serde_json::value::RawValue;
use tokio::net::TcpSocket;
use tokio::sync::Semaphore;

fn number(name: &str, default: u64) -> u64 {
    env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn threads() -> usize {
    number("WIREBENCH_THREADS", 1).max(1) as usize
}

async fn post_test(
    delay: Duration,
    handlers: Arc<Semaphore>,
    body: Bytes,
) -> Result<String, (StatusCode, &'static str)> {
    let expected_json = |_| (StatusCode::BAD_REQUEST, "expected JSON");
    let text =
        std::str::from_utf8(&body).map_err(|_| (StatusCode::BAD_REQUEST, "expected JSON"))?;
    serde_json::from_str::<&RawValue>(text).map_err(expected_json)?;
    if !delay.is_zero() {
        // Tasks are not bounded by themselves.
        let _handler = handlers.acquire().await.expect("never closed");
        tokio::time::sleep(delay).await;
    }
    Ok(format!("Sending response: {text}"))
}

async fn run() -> std::io::Result<()> {
    let delay = Duration::from_millis(number("WIREBENCH_DELAY_MS", 0));
    let handlers = Arc::new(Semaphore::new(threads()));
    let app = Router::new()
        .route("/route_01", get(|| async { "hello from route_01" }))
        .route("/route_02", get(|| async { "hello from route_02" }))
        .route(
            "/test",
            post(move |body: Bytes| post_test(delay, handlers.clone(), body)),
        )
        .route("/test/status", get(|| async { "OK" }))
        .route(
            "/test/labels/{label}",
            get(|Path(label): Path<String>| async move { format!("label: {label}") }),
        );
    let host = env::var("WIREBENCH_HOST")
        .ok()
        .and_then(|text| text.parse().ok())
        .expect("WIREBENCH_HOST: an IPv4 address");
    let address = SocketAddr::V4(SocketAddrV4::new(host, number("WIREBENCH_PORT", 0) as u16));
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(4096)?.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, app).await
}

fn main() -> std::io::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()?
        .block_on(run())
}
