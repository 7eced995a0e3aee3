//! actix-web as a server: http.hello, rest, and with actix-ws ws.echo, ws.count.

use std::env;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use actix_web::http::KeepAlive;
use actix_web::rt::{spawn, time::sleep};
use actix_web::{error, web, App, HttpRequest, HttpResponse, HttpServer};
use actix_ws::AggregatedMessage;
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

async fn post_test(service: web::Data<Service>, body: web::Bytes) -> actix_web::Result<String> {
    let text = std::str::from_utf8(&body).map_err(error::ErrorBadRequest)?;
    serde_json::from_str::<&RawValue>(text).map_err(error::ErrorBadRequest)?;
    if !service.delay.is_zero() {
        // Tasks are not bounded by themselves.
        let _handler = service.handlers.acquire().await.expect("never closed");
        sleep(service.delay).await;
    }
    Ok(format!("Sending response: {text}"))
}

async fn label(label: web::Path<String>) -> String {
    format!("label: {label}")
}

fn count(text: &str) -> Option<String> {
    let Request { c } = serde_json::from_str(text).ok()?;
    let ts = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    serde_json::to_string(&Reply { c, ts }).ok()
}

async fn websocket(
    service: web::Data<Service>,
    request: HttpRequest,
    body: web::Payload,
) -> actix_web::Result<HttpResponse> {
    let (response, mut session, stream) = actix_ws::handle(&request, body)?;
    let mut stream = stream
        .max_frame_size(MAX_MESSAGE_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MAX_MESSAGE_BYTES);
    spawn(async move {
        let mut reason = None;
        while let Some(message) = stream.recv().await {
            let sent = match message {
                Ok(AggregatedMessage::Text(text)) if service.is_echo => session.text(text).await,
                Ok(AggregatedMessage::Binary(data)) if service.is_echo => {
                    session.binary(data).await
                }
                Ok(AggregatedMessage::Text(text)) => match count(&text) {
                    Some(reply) => session.text(reply).await,
                    None => break,
                },
                Ok(AggregatedMessage::Ping(data)) => session.pong(&data).await,
                Ok(AggregatedMessage::Pong(_)) => Ok(()),
                Ok(AggregatedMessage::Close(said)) => {
                    reason = said;
                    break;
                }
                _ => break,
            };
            if sent.is_err() {
                return;
            }
        }
        let _ = session.close(reason).await;
    });
    Ok(response)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let threads = number("WIREBENCH_THREADS", 1).max(1) as usize;
    let workload = env::var("WIREBENCH_WORKLOAD").unwrap_or_default();
    let service = web::Data::new(Service {
        delay: Duration::from_millis(number("WIREBENCH_DELAY_MS", 0)),
        handlers: Semaphore::new(threads),
        is_echo: workload == "ws.echo",
    });
    let is_websocket = workload.starts_with("ws.");
    HttpServer::new(move || {
        let app = App::new().app_data(service.clone());
        if is_websocket {
            return app.route("/", web::get().to(websocket));
        }
        // A resource answers other methods with 405; App::route would with 404.
        app.service(web::resource("/route_01").get(|| async { "hello from route_01" }))
            .service(web::resource("/route_02").get(|| async { "hello from route_02" }))
            .service(web::resource("/test").post(post_test))
            .service(web::resource("/test/status").get(|| async { "OK" }))
            .service(web::resource("/test/labels/{label}").get(label))
    })
    .workers(threads)
    .backlog(4096)
    .tcp_nodelay(true)
    .max_connections(100_000)
    .client_request_timeout(Duration::from_secs(60))
    .keep_alive(KeepAlive::Timeout(Duration::from_secs(75)))
    .shutdown_timeout(1)
    .bind((
        env::var("WIREBENCH_HOST").expect("WIREBENCH_HOST"),
        number("WIREBENCH_PORT", 0) as u16,
    ))?
    .run()
    .await
}
