//! @NAME@: ws.echo and ws.count.
//!
//! The lines to edit are marked EDIT. The lab gives the workload, the address and the number of threads in the environment, takes the
//! server for ready when it accepts, and ends it with SIGTERM. A client goes into src/bin/client.rs.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_async; // EDIT
use tokio_tungstenite::tungstenite::Message; // EDIT

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Deserialize)]
struct Request {
    c: i64,
}

#[derive(Serialize)]
struct Reply {
    c: i64,
    ts: u64,
}

/// {"c":n} -> {"c":n,"ts":<unix seconds>}
fn count(text: &str) -> Result<String, Failure> {
    let Request { c } = serde_json::from_str(text)?;
    Ok(serde_json::to_string(&Reply {
        c,
        ts: SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    })?)
}

async fn serve(stream: TcpStream, is_echo: bool) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let mut socket = accept_async(stream).await?; // EDIT
    while let Some(message) = socket.next().await {
        let message = message?; // EDIT: from here to the end of the loop
        if message.is_text() || message.is_binary() {
            let reply = if is_echo {
                message
            } else {
                Message::text(count(message.to_text()?)?)
            };
            socket.send(reply).await?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let is_echo = env::var("WIREBENCH_WORKLOAD")? == "ws.echo";
    let address = format!(
        "{}:{}",
        env::var("WIREBENCH_HOST")?,
        env::var("WIREBENCH_PORT")?
    );
    let threads = env::var("WIREBENCH_THREADS")?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(serve(stream, is_echo));
        }
    })
}
