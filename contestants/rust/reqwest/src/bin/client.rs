//! reqwest as a client: http, https.

use std::env;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use reqwest::header::CONTENT_TYPE;
use reqwest::{Certificate, Client};
use tower::layer::layer_fn;
use tower::Service;

type Failure = Box<dyn Error>;

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// Around reqwest's connector: it is called once for each connection.
#[derive(Clone)]
struct Counted<S>(S);

impl<Target, S: Service<Target>> Service<Target> for Counted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: Target) -> S::Future {
        CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        self.0.call(target)
    }
}

fn number(name: &str) -> usize {
    let text = env::var(name).unwrap_or_default();
    text.parse()
        .unwrap_or_else(|_| panic!("{name}: expected a number, got {text:?}"))
}

struct Caller {
    url: String,
    ca_file: String,
    policy: String,
    posts: bool,
    expected: Vec<u8>,
}

impl Caller {
    fn new_client(&self) -> Result<Client, Failure> {
        let mut builder = Client::builder()
            .timeout(Duration::from_secs(10))
            .no_proxy()
            .connector_layer(layer_fn(Counted));
        if self.policy == "new" {
            builder = builder.pool_max_idle_per_host(0);
        }
        if !self.ca_file.is_empty() {
            let pem = std::fs::read(&self.ca_file)?;
            builder = builder.tls_certs_only(Certificate::from_pem_bundle(&pem)?);
        }
        Ok(builder.build()?)
    }

    /// Sends a GET, or a POST of what is expected back.
    async fn ask(&self, client: &Client) -> Result<(), Failure> {
        let request = if self.posts {
            client
                .post(&self.url)
                .header(CONTENT_TYPE, "application/octet-stream")
                .body(self.expected.clone())
        } else {
            client.get(&self.url)
        };
        let response = request.send().await?.error_for_status()?;
        if response.bytes().await? != self.expected {
            return Err("wrong reply".into());
        }
        Ok(())
    }

    async fn operate(&self, kept: &Option<Client>) -> Result<(), Failure> {
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
        url: env::var("WIREBENCH_URL")?,
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
