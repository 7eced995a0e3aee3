//! tokio-tungstenite as a client: ws, wss.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use futures_util::{SinkExt, StreamExt};
use rustls::pki_types::{pem::PemObject, CertificateDer};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{
    connect_async_tls_with_config, Connector, MaybeTlsStream, WebSocketStream,
};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
type Failure = Box<dyn Error>;

fn number(name: &str) -> usize {
    let text = env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name}: expected a number, got {text:?}"))
}

/// What connections share, and so what policy cold makes anew: the authorities of the file.
fn new_connector() -> Result<Connector, Failure> {
    let file = env::var("WIREBENCH_CA_FILE").unwrap_or_default();
    if file.is_empty() {
        return Ok(Connector::Plain);
    }
    let mut authorities = RootCertStore::empty();
    for authority in CertificateDer::pem_file_iter(file)? {
        authorities.add(authority?)?;
    }
    let config = ClientConfig::builder()
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(Connector::Rustls(Arc::new(config)))
}

struct Caller {
    url: String,
    message: String,
    connector: Option<Connector>, // none: each connection makes its own
    connections: usize,
}

impl Caller {
    async fn open(&mut self) -> Result<Socket, Failure> {
        let connector = match &self.connector {
            Some(kept) => kept.clone(),
            None => new_connector()?,
        };
        let no_delay = true;
        let url = self.url.as_str();
        let (socket, _) =
            connect_async_tls_with_config(url, None, no_delay, Some(connector)).await?;
        self.connections += 1;
        Ok(socket)
    }

    async fn exchange(&self, socket: &mut Socket) -> Result<(), Failure> {
        socket.send(Message::text(self.message.as_str())).await?;
        match socket.next().await {
            Some(Ok(Message::Text(reply))) if reply.as_str() == self.message => Ok(()),
            Some(Err(error)) => Err(error.into()),
            _ => Err("wrong reply".into()),
        }
    }

    async fn operate(&mut self, kept: &mut Option<Socket>) -> Result<(), Failure> {
        if let Some(socket) = kept {
            return self.exchange(socket).await;
        }
        // Connecting is a function: with policy new the connector is all that is kept.
        let mut socket = self.open().await?;
        self.exchange(&mut socket).await?;
        socket.close(None).await?;
        while let Some(message) = socket.next().await {
            message?; // until the peer has answered the close
        }
        Ok(())
    }
}

/// User and system CPU time of this process, in nanoseconds.
fn cpu_ns() -> (i64, i64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the struct it is given, for which all zero bytes are a valid value.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
    (ns(usage.ru_utime), ns(usage.ru_stime))
}

async fn run() -> Result<usize, Failure> {
    let (warmup, operations, bytes) = (
        number("WIREBENCH_WARMUP"),
        number("WIREBENCH_OPERATIONS"),
        number("WIREBENCH_PAYLOAD_BYTES"),
    );
    let message: String = ('a'..='z').cycle().take(bytes).collect();
    let policy = env::var("WIREBENCH_POLICY")?;
    let mut caller = Caller {
        url: env::var("WIREBENCH_URL")?,
        message,
        connector: match policy.as_str() {
            "cold" => None,
            _ => Some(new_connector()?),
        },
        connections: 0,
    };
    let mut kept = if policy == "reuse" {
        Some(caller.open().await?)
    } else {
        None
    };
    let mut errors = 0;
    for _ in 0..warmup {
        errors += usize::from(caller.operate(&mut kept).await.is_err());
    }
    let mut samples = Vec::with_capacity(8 * operations);
    let (user, system) = cpu_ns();
    let began = Instant::now();
    for _ in 0..operations {
        let start = Instant::now();
        let outcome = caller.operate(&mut kept).await;
        samples.extend((start.elapsed().as_nanos() as u64).to_le_bytes());
        errors += usize::from(outcome.is_err());
    }
    let wall = began.elapsed().as_nanos() as u64;
    let after = cpu_ns();
    std::fs::write(env::var("WIREBENCH_SAMPLES")?, samples)?;
    let line = serde_json::json!({
        "operations": operations,
        "errors": errors,
        "connections": caller.connections,
        "wall_ns": wall,
        "cpu_user_ns": after.0 - user,
        "cpu_system_ns": after.1 - system,
    });
    println!("{line}");
    Ok(errors)
}

fn main() -> Result<(), Failure> {
    let errors = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run())?;
    std::process::exit(i32::from(errors > 0));
}
