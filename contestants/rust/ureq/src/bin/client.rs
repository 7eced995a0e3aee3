//! ureq as a client: http, https.

use std::env;
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ureq::tls::{parse_pem, PemItem, RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectionDetails, Connector, DefaultConnector, Transport};
use ureq::Agent;

type Failure = Box<dyn Error>;

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

/// Behind ureq's own connector: it is handed each connection that has been made.
#[derive(Debug)]
struct Counter;

impl<Made: Transport> Connector<Made> for Counter {
    type Out = Made;

    fn connect(
        &self,
        _: &ConnectionDetails,
        made: Option<Made>,
    ) -> Result<Option<Made>, ureq::Error> {
        CONNECTIONS.fetch_add(usize::from(made.is_some()), Ordering::Relaxed);
        Ok(made)
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
    fn new_agent(&self) -> Result<Agent, Failure> {
        let mut config = Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(10)))
            .proxy(None);
        if self.policy == "new" {
            config = config.max_idle_connections(0);
        }
        if !self.ca_file.is_empty() {
            let pem = std::fs::read(&self.ca_file)?;
            let authorities = parse_pem(&pem).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            let tls = TlsConfig::builder().root_certs(RootCerts::from(authorities));
            config = config.tls_config(tls.build());
        }
        let connector = DefaultConnector::default().chain(Counter);
        let resolver = DefaultResolver::default();
        Ok(Agent::with_parts(config.build(), connector, resolver))
    }

    /// Sends a GET, or a POST of what is expected back.
    fn ask(&self, agent: &Agent) -> Result<(), Failure> {
        let mut response = if self.posts {
            agent
                .post(&self.url)
                .content_type("application/octet-stream")
                .send(&self.expected)?
        } else {
            agent.get(&self.url).call()?
        };
        let body = response.body_mut().read_to_vec()?;
        if body != self.expected {
            return Err("wrong reply".into());
        }
        Ok(())
    }

    fn operate(&self, kept: &Option<Agent>) -> Result<(), Failure> {
        match kept {
            Some(agent) => self.ask(agent),
            None => self.ask(&self.new_agent()?),
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

fn main() -> Result<(), Failure> {
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
        _ => Some(caller.new_agent()?),
    };
    let mut errors = 0;
    for _ in 0..warmup {
        errors += usize::from(caller.operate(&kept).is_err());
    }
    let mut samples = Vec::with_capacity(8 * operations);
    let (user, system) = cpu_ns();
    let began = Instant::now();
    for _ in 0..operations {
        let start = Instant::now();
        let outcome = caller.operate(&kept);
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
    std::process::exit(i32::from(errors > 0));
}
