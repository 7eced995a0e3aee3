//! fastwebsockets over hyper as a client: ws, wss.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use fastwebsockets::handshake::{self, generate_key};
use fastwebsockets::{FragmentCollector, Frame, OpCode, Payload};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::header::{CONNECTION, HOST, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Request, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::{pem::PemObject, CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

type Socket = FragmentCollector<TokioIo<Upgraded>>;
type Failure = Box<dyn Error>;

const NORMAL_CLOSURE: u16 = 1000;

fn number(name: &str) -> usize {
    let text = env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name}: expected a number, got {text:?}"))
}

/// What connections share, and so what policy cold makes anew: the authorities of the file.
fn new_connector() -> Result<TlsConnector, Failure> {
    let mut authorities = RootCertStore::empty();
    for authority in CertificateDer::pem_file_iter(env::var("WIREBENCH_CA_FILE")?)? {
        authorities.add(authority?)?;
    }
    let config = ClientConfig::builder()
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

struct Caller {
    url: Uri,
    message: String,
    connector: Option<TlsConnector>, // none: without TLS, or each connection makes its own
    connections: usize,
}

impl Caller {
    async fn open(&mut self) -> Result<Socket, Failure> {
        let authority = self.url.authority().ok_or("a URL without a host")?;
        let request = Request::get(self.url.path())
            .header(HOST, authority.as_str())
            .header(UPGRADE, "websocket")
            .header(CONNECTION, "upgrade")
            .header("Sec-WebSocket-Key", generate_key())
            .header("Sec-WebSocket-Version", "13")
            .body(Empty::<Bytes>::new())?;
        let stream = TcpStream::connect(authority.as_str()).await?;
        stream.set_nodelay(true)?;
        let executor = TokioExecutor::new();
        let (socket, _) = if self.url.scheme_str() == Some("wss") {
            let connector = match &self.connector {
                Some(kept) => kept.clone(),
                None => new_connector()?,
            };
            let name = ServerName::try_from(authority.host().to_owned())?;
            let stream = connector.connect(name, stream).await?;
            handshake::client(&executor, request, stream).await?
        } else {
            handshake::client(&executor, request, stream).await?
        };
        self.connections += 1;
        Ok(FragmentCollector::new(socket))
    }

    async fn exchange(&self, socket: &mut Socket) -> Result<(), Failure> {
        let message = Payload::Borrowed(self.message.as_bytes());
        socket.write_frame(Frame::text(message)).await?;
        let reply = socket.read_frame().await?;
        if reply.opcode != OpCode::Text || *reply.payload != *self.message.as_bytes() {
            return Err("wrong reply".into());
        }
        Ok(())
    }

    async fn operate(&mut self, kept: &mut Option<Socket>) -> Result<(), Failure> {
        if let Some(socket) = kept {
            return self.exchange(socket).await;
        }
        // Connecting is a function: with policy new the connector is all that is kept.
        let mut socket = self.open().await?;
        self.exchange(&mut socket).await?;
        socket
            .write_frame(Frame::close(NORMAL_CLOSURE, b""))
            .await?;
        while socket.read_frame().await?.opcode != OpCode::Close {}
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
    let url: Uri = env::var("WIREBENCH_URL")?.parse()?;
    let keeps_connector = policy != "cold" && url.scheme_str() == Some("wss");
    let connector = if keeps_connector {
        Some(new_connector()?)
    } else {
        None
    };
    let mut caller = Caller {
        url,
        message,
        connector,
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
