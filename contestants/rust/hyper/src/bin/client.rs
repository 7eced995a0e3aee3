//! hyper as a client, by hyper-util's pooling client and hyper-rustls: http, https.

use std::env;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{connect::HttpConnector, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::{pem::PemObject, CertificateDer};
use rustls::{ClientConfig, RootCertStore};
use tower::util::MapRequest;
use tower::ServiceExt;

type Failure = Box<dyn Error>;
/// hyper-util's connector, which is asked once for each connection, counting.
type Connector = HttpsConnector<MapRequest<HttpConnector, fn(Uri) -> Uri>>;
type HyperClient = Client<Connector, Full<Bytes>>;

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

fn count(target: Uri) -> Uri {
    CONNECTIONS.fetch_add(1, Ordering::Relaxed);
    target
}

fn number(name: &str) -> usize {
    let text = env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name}: expected a number, got {text:?}"))
}

struct Caller {
    url: Uri,
    ca_file: String,
    policy: String,
    posts: bool,
    expected: Bytes,
}

impl Caller {
    fn new_client(&self) -> Result<HyperClient, Failure> {
        let mut authorities = RootCertStore::empty();
        if !self.ca_file.is_empty() {
            for authority in CertificateDer::pem_file_iter(&self.ca_file)? {
                authorities.add(authority?)?;
            }
        }
        let tls = ClientConfig::builder()
            .with_root_certificates(authorities)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp.map_request(count as fn(Uri) -> Uri));
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new());
        if self.policy == "new" {
            builder.pool_max_idle_per_host(0);
        }
        Ok(builder.build(connector))
    }

    /// A GET, or a POST of what is expected back.
    fn request(&self) -> Result<Request<Full<Bytes>>, Failure> {
        let builder = Request::builder().uri(self.url.clone());
        Ok(if self.posts {
            builder
                .method(Method::POST)
                .header(CONTENT_TYPE, "application/octet-stream")
                .body(Full::new(self.expected.clone()))?
        } else {
            builder.body(Full::default())?
        })
    }

    async fn ask(&self, client: &HyperClient) -> Result<(), Failure> {
        let response = client.request(self.request()?).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if status != StatusCode::OK || body != self.expected {
            return Err("wrong reply".into());
        }
        Ok(())
    }

    async fn operate(&self, kept: &Option<HyperClient>) -> Result<(), Failure> {
        match kept {
            Some(client) => self.ask(client).await,
            None => self.ask(&self.new_client()?).await,
        }
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
    let caller = Caller {
        url: env::var("WIREBENCH_URL")?.parse()?,
        ca_file: env::var("WIREBENCH_CA_FILE").unwrap_or_default(),
        policy: env::var("WIREBENCH_POLICY")?,
        posts: env::var("WIREBENCH_METHOD").is_ok_and(|method| method == "POST"),
        expected: (b'a'..=b'z').cycle().take(bytes).collect(),
    };
    let kept = match caller.policy.as_str() {
        "cold" => None,
        _ => Some(caller.new_client()?),
    };
    let mut errors = 0;
    for _ in 0..warmup {
        errors += usize::from(caller.operate(&kept).await.is_err());
    }
    let mut samples = Vec::with_capacity(8 * operations);
    let (user, system) = cpu_ns();
    let began = Instant::now();
    for _ in 0..operations {
        let start = Instant::now();
        let outcome = caller.operate(&kept).await;
        samples.extend((start.elapsed().as_nanos() as u64).to_le_bytes());
        errors += usize::from(outcome.is_err());
    }
    let wall = began.elapsed().as_nanos() as u64;
    let after = cpu_ns();
    std::fs::write(env::var("WIREBENCH_SAMPLES")?, samples)?;
    let line = serde_json::json!({
        "operations": operations,
        "errors": errors,
        "connections": CONNECTIONS.load(Ordering::Relaxed),
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
