//! A real server with the files of a site.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerError, Subscriber};
use tapeline_fleet::{
    Access, AgentSettings, CollectorSettings, ControllerSettings, Enrolment, HostName, NewSite,
    OperatorSettings,
};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Nothing on this host takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that ends with this.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    server: Server,
}

/// Its process.
struct Server(Child);

impl Site {
    /// A site `lab` with these hosts, and its server; none where no nats-server is installed.
    pub(crate) fn start(test: &str, hosts: &[&str]) -> Option<Self> {
        let Some(program) = interop::nats_server() else {
            interop::skip(test, "no nats-server: see peers/install");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let server = format!("nats://127.0.0.1:{}", interop::free_port());
        let site = NewSite {
            site: "lab".parse().expect("a name"),
            servers: vec![server.parse().expect("a server")],
            is_plain: false,
        };
        site.write(folder.path()).expect("a site");
        enrol(folder.path(), hosts);
        let server = run(&program, &folder.path().join("nats-server.conf"));
        Some(Self { folder, server })
    }

    /// The server reads its users again.
    pub(crate) fn reload(&self) {
        let id = i32::try_from(self.server.0.id()).expect("an id");
        let id = rustix::process::Pid::from_raw(id).expect("an id");
        rustix::process::kill_process(id, rustix::process::Signal::HUP).expect("a signal");
    }

    pub(crate) fn agent(&self, host: &str) -> Access {
        let path = self.folder.path().join(format!("{host}.toml"));
        AgentSettings::read(&path).expect("settings").access
    }

    pub(crate) fn controller(&self) -> Access {
        let path = self.folder.path().join("controller.toml");
        ControllerSettings::read(&path).expect("settings").access
    }

    pub(crate) fn collector(&self) -> Access {
        let path = self.folder.path().join("collector.toml");
        CollectorSettings::read(&path).expect("settings").access
    }

    pub(crate) fn operator(&self) -> Access {
        let path = self.folder.path().join("operator.toml");
        OperatorSettings::read(&path).expect("settings").access
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn enrol(folder: &Path, hosts: &[&str]) {
    let hosts: Vec<HostName> = hosts
        .iter()
        .map(|host| host.parse().expect("a name"))
        .collect();
    let enrolment = Enrolment {
        hosts,
        address: None,
        groups: Vec::new(),
    };
    enrolment.write(folder).expect("enrolled");
}

fn run(program: &Path, conf: &Path) -> Server {
    let server = Command::new(program)
        .arg("-c")
        .arg(conf)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut server = Server(server.expect("a server"));
    let log = BufReader::new(server.0.stderr.take().expect("a log"));
    let mut lines = log.lines();
    let mut said = Vec::new();
    for line in lines.by_ref() {
        let line = line.expect("a line");
        let is_ready = line.contains("Server is ready");
        said.push(line);
        if is_ready {
            std::thread::spawn(move || lines.for_each(drop));
            return server;
        }
    }
    panic!("the server does not start:\n{}", said.join("\n"));
}

/// A connection, and what the server refuses it.
pub(crate) struct Connection {
    pub(crate) client: Client,
    refused: Mutex<UnboundedReceiver<String>>,
}

impl Connection {
    pub(crate) async fn new(access: &Access) -> Self {
        Self::open(access).await.expect("a connection")
    }

    pub(crate) async fn open(access: &Access) -> Result<Self, async_nats::ConnectError> {
        let (sender, refused) = unbounded_channel();
        let sender = Arc::new(sender);
        let client = ConnectOptions::with_nkey(access.seed.clone())
            .custom_inbox_prefix(access.inbox())
            .request_timeout(Some(PATIENCE))
            .event_callback(move |event| {
                let sender = Arc::clone(&sender);
                async move {
                    if let Event::ServerError(ServerError::Other(text)) = event {
                        let _ = sender.send(text);
                    }
                }
            })
            .connect(access.servers.clone())
            .await?;
        Ok(Self {
            client,
            refused: Mutex::new(refused),
        })
    }

    /// The next thing that the server refuses.
    pub(crate) async fn refusal(&self) -> String {
        let mut refused = self.refused.lock().await;
        let refusal = tokio::time::timeout(PATIENCE, refused.recv()).await;
        refusal.expect("a refusal in time").expect("a refusal")
    }

    /// A subscription that the server has: it refuses what is sent after it, and refusals keep their order.
    pub(crate) async fn subscribe(&self, subjects: &str) -> Subscriber {
        let subscribed = self.client.subscribe(subjects.to_owned()).await;
        let subscribed = subscribed.expect("sent");
        self.was_never_refused().await;
        subscribed
    }

    /// A message that the server refuses.
    pub(crate) async fn may_not_publish(&self, subject: &str) {
        let published = self.client.publish(subject.to_owned(), "x".into()).await;
        published.expect("sent");
        let refusal = self.refusal().await;
        let words = format!("Permissions Violation for Publish to \"{subject}\"");
        assert!(
            refusal.to_lowercase().contains(&words.to_lowercase()),
            "{subject}: {refusal}"
        );
    }

    /// A subscription that the server refuses.
    pub(crate) async fn may_not_subscribe(&self, subjects: &str) {
        let subscribed = self.client.subscribe(subjects.to_owned()).await;
        let _subscribed = subscribed.expect("sent");
        let refusal = self.refusal().await;
        let words = format!("Permissions Violation for Subscription to \"{subjects}\"");
        assert!(
            refusal.to_lowercase().contains(&words.to_lowercase()),
            "{subjects}: {refusal}"
        );
    }

    /// Nothing was refused until now: refusals keep their order, and this is the first.
    pub(crate) async fn was_never_refused(&self) {
        self.may_not_publish("of.no.right").await;
    }
}

/// The next of something that comes soon.
pub(crate) async fn soon<T>(what: &str, next: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, next).await {
        Ok(next) => next,
        Err(_) => panic!("no {what}"),
    }
}
