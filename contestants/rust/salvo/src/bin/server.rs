//! Salvo as a server: http.hello, rest.

use std::env;
use std::time::Duration;

use salvo::prelude::*;
use serde_json::value::RawValue;
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

#[handler]
async fn route_01() -> &'static str {
    "hello from route_01"
}

#[handler]
async fn route_02() -> &'static str {
    "hello from route_02"
}

#[handler]
async fn status() -> &'static str {
    "OK"
}

#[handler]
async fn show_label(request: &mut Request) -> String {
    let label = request.param::<String>("label").unwrap_or_default();
    format!("label: {label}")
}

struct PostTest {
    delay: Duration,
    handlers: Semaphore,
}

#[handler]
impl PostTest {
    async fn handle(&self, request: &mut Request) -> Result<String, StatusError> {
        let body = request
            .payload()
            .await
            .map_err(|_| StatusError::bad_request())?;
        let text = std::str::from_utf8(body).map_err(|_| StatusError::bad_request())?;
        serde_json::from_str::<&RawValue>(text).map_err(|_| StatusError::bad_request())?;
        if !self.delay.is_zero() {
            // Tasks are not bounded by themselves.
            let _handler = self.handlers.acquire().await.expect("never closed");
            tokio::time::sleep(self.delay).await;
        }
        Ok(format!("Sending response: {text}"))
    }
}

async fn run() {
    let post_test = PostTest {
        delay: Duration::from_millis(number("WIREBENCH_DELAY_MS", 0)),
        handlers: Semaphore::new(threads()),
    };
    let router = Router::new()
        .push(Router::with_path("route_01").get(route_01))
        .push(Router::with_path("route_02").get(route_02))
        .push(
            Router::with_path("test")
                .post(post_test)
                .push(Router::with_path("status").get(status))
                .push(Router::with_path("labels/{label}").get(show_label)),
        );
    let host = env::var("WIREBENCH_HOST").expect("WIREBENCH_HOST");
    let port = number("WIREBENCH_PORT", 0) as u16;
    let acceptor = TcpListener::new((host, port)).backlog(4096).bind().await;
    Server::new(acceptor).serve(router).await;
}

fn main() -> std::io::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()?
        .block_on(run());
    Ok(())
}
