//! What a person asks of a fleet: one call each, which returns when it is done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::header::HeaderMap;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::{Client, Request};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout, timeout_at};

use crate::bus::books::SiteBooks;
use crate::bus::connection::Connection;
use crate::bus::error::BusError;
use crate::bus::records::{self, deleting, expecting, json, read_subject, subject, written};
use crate::bus::requests::Reply;
use crate::bus::runtime::runtime;
use crate::bus::setup::store;
use crate::bus::stop::Stop;
use crate::bus::watch::{Shown, watch};
use crate::job::{JobRecord, JobSpec};
use crate::message::{Ask, Beat};
use crate::names::{HostName, JobId, PREFIX, ScheduleName, SiteName, Subject};
use crate::schedule::{Enrolled, ScheduleSpec};
use crate::site::OperatorSettings;
use crate::store::{Bucket, Entry, Expected, Read, Revision, Written, job_key};

/// Time for a request's answer, and for all entries of a bucket to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time for an entry that was written while all were read.
const LATE: Duration = Duration::from_secs(2);
/// After an agent's answer no other one is waited for longer than this.
const QUIET: Duration = Duration::from_millis(500);
/// Time for all agents to answer.
const ANSWERS: Duration = Duration::from_secs(3);
/// Jobs whose submission is under way at a time.
const AT_ONCE: usize = 64;

/// A person's connection to a fleet.
#[derive(Debug)]
pub struct Operator {
    runtime: Runtime,
    connection: Connection,
    site: SiteName,
}

/// What came of a withdrawal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It is withdrawn.
    Done,
    /// There is no such job.
    Unknown,
    /// Why it cannot be.
    TooLate(String),
}

impl Operator {
    /// Connects, and enters hosts into the site's registry that were enrolled since.
    ///
    /// # Errors
    /// The server is not reached, refuses the key, or will not do.
    pub fn connect(settings: &OperatorSettings) -> Result<Self, BusError> {
        let runtime = runtime()?;
        let connection = runtime.block_on(async {
            let connection = Connection::open(&settings.access).await?;
            let jobs = Bucket::Job.stream();
            match store(&connection.client).get_stream(jobs).await {
                Ok(_) => Ok(connection),
                Err(error) => Err(match error.kind() {
                    GetStreamErrorKind::JetStream(_) => BusError::Refused(
                        "no controller has run at that server yet: tapeline fleet controller"
                            .to_owned(),
                    ),
                    _ => BusError::NoAnswer("look for jobs"),
                }),
            }
        })?;
        let operator = Self {
            runtime,
            connection,
            site: settings.access.site.clone(),
        };
        operator.register(&settings.enrolled)?;
        Ok(operator)
    }

    fn client(&self) -> &Client {
        &self.connection.client
    }

    fn key(&self, name: &str) -> String {
        format!("{}.{name}", self.site)
    }

    /// All entries of a bucket now.
    fn entries(&self, bucket: Bucket) -> Result<Vec<(String, Revision, Vec<u8>)>, BusError> {
        let within = self.key("");
        let failed = || BusError::NoAnswer("read a bucket");
        let entries = self.runtime.block_on(async {
            let mut shown = watch(&self.connection, bucket, within.clone());
            let mut entries = Entries::default();
            let read = timeout(PATIENCE, entries.take_all(&mut shown)).await;
            read.map_err(|_| failed())?;
            let names = self.names(bucket, &within).await;
            let names = names.map_err(|_| failed())?;
            // One that was removed meanwhile does not come.
            let _ = timeout(LATE, entries.take_named(&names, &mut shown)).await;
            Ok(entries)
        })?;
        let there = entries.0.into_iter();
        Ok(there
            .filter_map(|(key, entry)| entry.map(|(revision, value)| (key, revision, value)))
            .collect())
    }

    /// The keys of a bucket that begin so, without that beginning.
    async fn names(
        &self,
        bucket: Bucket,
        within: &str,
    ) -> Result<BTreeSet<String>, async_nats::Error> {
        let store = store(self.client());
        let stream = store.get_stream_no_info(bucket.stream()).await?;
        let all = subject(bucket, within);
        let subjects = stream.info_with_subjects(format!("{all}>")).await?;
        let names = subjects.map(|subject| {
            let (subject, _) = subject?;
            Ok(subject.strip_prefix(&all).unwrap_or_default().to_owned())
        });
        names.try_collect().await
    }

    fn write(
        &self,
        bucket: Bucket,
        name: &str,
        headers: HeaderMap,
        value: Vec<u8>,
    ) -> Result<Written, BusError> {
        let subject = subject(bucket, &self.key(name));
        let reply = self
            .runtime
            .block_on(request(self.client().clone(), subject, headers, value));
        match written(&reply) {
            Written::Unknown => Err(BusError::NoAnswer("write a record")),
            known => Ok(known),
        }
    }

    /// What a bucket holds under a name.
    fn read<V: DeserializeOwned>(
        &self,
        bucket: Bucket,
        name: &str,
    ) -> Result<Option<Entry<V>>, BusError> {
        let subject = read_subject(bucket, &self.key(name));
        let request = request(self.client().clone(), subject, HeaderMap::new(), Vec::new());
        match records::read(&self.runtime.block_on(request)) {
            Read::There(entry) => Ok(Some(entry)),
            Read::Absent => Ok(None),
            Read::Unknown => Err(BusError::NoAnswer("read a record")),
        }
    }

    /// Enters hosts into the registry that are not there as they are.
    fn register(&self, enrolled: &[Enrolled]) -> Result<(), BusError> {
        if enrolled.is_empty() {
            return Ok(());
        }
        let entries = self.entries(Bucket::Agent)?;
        for host in enrolled {
            let known = entries
                .iter()
                .find(|(name, ..)| *name == host.name.as_str());
            let is_known = known.is_some_and(|(.., value)| {
                serde_json::from_slice::<Enrolled>(value).is_ok_and(|known| known == *host)
            });
            if !is_known {
                let expected = match known {
                    Some((_, revision, _)) => Expected::At(*revision),
                    None => Expected::Absent,
                };
                // Another operator may have done the same.
                self.write(
                    Bucket::Agent,
                    host.name.as_str(),
                    expecting(expected),
                    json(host),
                )?;
            }
        }
        Ok(())
    }

    /// The enrolled hosts and the schedules.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn books(&self) -> Result<SiteBooks, BusError> {
        let mut books = SiteBooks::default();
        for (key, revision, value) in self.entries(Bucket::Agent)? {
            books.hosts_shown(Shown::Entry(key, revision, value, Duration::ZERO));
        }
        for (key, revision, value) in self.entries(Bucket::Schedule)? {
            books.schedules_shown(Shown::Entry(key, revision, value, Duration::ZERO));
        }
        Ok(books)
    }

    /// Agents that are there now.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn present(&self) -> Result<BTreeMap<HostName, Beat>, BusError> {
        self.runtime.block_on(async {
            let failed = |_| BusError::NoAnswer("ask who is there");
            let beats = format!("{PREFIX}.beat.{}.*", self.site);
            let mut answers = self.connection.subscribe(beats).await?;
            let question = Subject::Ask(self.site.clone()).to_string();
            let asked = self
                .client()
                .publish(question, json(&Ask::default()).into());
            asked.await.map_err(failed)?;
            let end = Instant::now() + ANSWERS;
            let mut beats = BTreeMap::new();
            let mut until = end;
            while let Ok(Some(message)) = timeout_at(until, answers.next()).await {
                if let Some(beat) = Beat::of_subject(&message.subject, &message.payload) {
                    beats.insert(beat.host.clone(), beat);
                }
                until = end.min(Instant::now() + QUIET);
            }
            Ok(beats)
        })
    }

    /// Submits jobs; one that is there already stays as it is.
    ///
    /// # Errors
    /// The server does not answer for one of them.
    pub fn submit(&self, jobs: &[(JobId, JobSpec)]) -> Result<(), BusError> {
        let all = jobs.iter().map(|(id, spec)| {
            let subject = subject(Bucket::Job, &job_key(&self.site, id));
            let record = json(&JobRecord::new(spec.clone()));
            let headers = expecting(Expected::Absent);
            request(self.client().clone(), subject, headers, record)
        });
        let all: Vec<_> = all.collect();
        let replies: Vec<Reply> = self
            .runtime
            .block_on(stream::iter(all).buffer_unordered(AT_ONCE).collect());
        let is_known = |reply: &Reply| written(reply) != Written::Unknown;
        match replies.iter().all(is_known) {
            true => Ok(()),
            false => Err(BusError::NoAnswer("submit jobs")),
        }
    }

    /// The jobs that the bucket holds: those that are not final, and those that became so within the hour.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn jobs(&self) -> Result<BTreeMap<JobId, Entry<JobRecord>>, BusError> {
        let entries = self.entries(Bucket::Job)?.into_iter();
        Ok(entries
            .filter_map(|(key, revision, value)| {
                let value = serde_json::from_slice(&value).ok()?;
                Some((key.parse().ok()?, Entry { revision, value }))
            })
            .collect())
    }

    /// A job, if the bucket holds it.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn job(&self, job: &JobId) -> Result<Option<Entry<JobRecord>>, BusError> {
        self.read(Bucket::Job, job.as_str())
    }

    /// Follows jobs until all are final, or the end is wished for. `each` sees every step.
    ///
    /// # Errors
    /// None of its own; a connection that is lost comes back.
    pub fn follow(
        &self,
        jobs: &BTreeSet<JobId>,
        mut stop: Stop,
        each: &mut dyn FnMut(&JobId, &JobRecord),
    ) -> Result<(), BusError> {
        self.runtime.block_on(async {
            let mut shown = watch(&self.connection, Bucket::Job, self.key(""));
            let mut open = jobs.clone();
            while !open.is_empty() {
                let entry = tokio::select! {
                    () = stop.wished() => return Ok(()),
                    shown = shown.recv() => shown,
                };
                let Some(Shown::Entry(key, _, value, _)) = entry else {
                    continue;
                };
                let record = serde_json::from_slice::<JobRecord>(&value).ok();
                let known = key.parse::<JobId>().ok().filter(|id| open.contains(id));
                if let Some((id, record)) = known.zip(record) {
                    each(&id, &record);
                    if record.state.is_final() {
                        open.remove(&id);
                    }
                }
            }
            Ok(())
        })
    }

    /// Passes on the live events of a job until the end is wished for or the job is over.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn watch_live(
        &self,
        job: &JobId,
        mut stop: Stop,
        each: &mut dyn FnMut(&str),
    ) -> Result<(), BusError> {
        self.runtime.block_on(async {
            let live = Subject::Live(job.clone()).to_string();
            let mut live = self.connection.subscribe(live).await?;
            let mut shown = watch(&self.connection, Bucket::Job, self.key(""));
            loop {
                tokio::select! {
                    () = stop.wished() => return Ok(()),
                    Some(message) = live.next() => {
                        each(&String::from_utf8_lossy(&message.payload));
                    }
                    Some(shown) = shown.recv() => match shown {
                        Shown::Entry(key, _, value, _) if key == job.as_str() => {
                            let record = serde_json::from_slice::<JobRecord>(&value);
                            if record.is_ok_and(|record| record.state.is_final()) {
                                return Ok(());
                            }
                        }
                        Shown::Gone(key) if key == job.as_str() => return Ok(()),
                        _ => {}
                    }
                }
            }
        })
    }

    /// Withdraws a job.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn cancel(&self, job: &JobId) -> Result<Cancelled, BusError> {
        loop {
            let Some(entry) = self.job(job)? else {
                return Ok(Cancelled::Unknown);
            };
            let record = match entry.value.cancelled() {
                Ok(record) => record,
                Err(error) => return Ok(Cancelled::TooLate(error.to_string())),
            };
            let headers = expecting(Expected::At(entry.revision));
            // In a conflict the job took a step meanwhile: it is looked at again.
            if let Written::At(_) = self.write(Bucket::Job, job.as_str(), headers, json(&record))? {
                return Ok(Cancelled::Done);
            }
        }
    }

    /// Adds a schedule, or puts it in the place of one with its name.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn add_schedule(&self, spec: &ScheduleSpec) -> Result<(), BusError> {
        let headers = HeaderMap::new();
        self.write(Bucket::Schedule, spec.name.as_str(), headers, json(spec))?;
        Ok(())
    }

    /// Removes a schedule; whether it was there.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn remove_schedule(&self, name: &ScheduleName) -> Result<bool, BusError> {
        let Some(entry) = self.read::<Value>(Bucket::Schedule, name.as_str())? else {
            return Ok(false);
        };
        let headers = deleting(Expected::At(entry.revision));
        let written = self.write(Bucket::Schedule, name.as_str(), headers, Vec::new())?;
        Ok(matches!(written, Written::At(_)))
    }
}

/// What a watch has shown of a bucket: none for what was deleted.
#[derive(Debug, Default)]
struct Entries(BTreeMap<String, Option<(Revision, Vec<u8>)>>);

impl Entries {
    fn take(&mut self, shown: Shown) {
        match shown {
            Shown::Began => self.0.clear(),
            Shown::Entry(key, revision, value, _) => {
                self.0.insert(key, Some((revision, value)));
            }
            Shown::Gone(key) => {
                self.0.insert(key, None);
            }
            Shown::Current => {}
        }
    }

    async fn take_all(&mut self, shown: &mut UnboundedReceiver<Shown>) {
        while let Some(shown) = shown.recv().await {
            let is_all = matches!(shown, Shown::Current);
            self.take(shown);
            if is_all {
                return;
            }
        }
    }

    /// Takes until all these have been shown: an entry that is written while it is read out leaves its
    /// place, and comes behind what the server had counted as all.
    async fn take_named(&mut self, names: &BTreeSet<String>, shown: &mut UnboundedReceiver<Shown>) {
        while names.iter().any(|name| !self.0.contains_key(name)) {
            let Some(shown) = shown.recv().await else {
                return;
            };
            self.take(shown);
        }
    }
}

async fn request(client: Client, subject: String, headers: HeaderMap, payload: Vec<u8>) -> Reply {
    let request = Request::new()
        .headers(headers)
        .payload(payload.into())
        .timeout(Some(PATIENCE));
    match client.send_request(subject, request).await {
        Ok(message) => Reply::Message(message),
        Err(error) if error.kind() == RequestErrorKind::NoResponders => Reply::NoReceiver,
        Err(_) => Reply::Silence,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    #[test]
    fn an_entry_that_is_written_while_all_are_read_is_among_them() {
        let (sender, mut shown) = unbounded_channel();
        let entry = |key: &str, number| {
            Shown::Entry(key.to_owned(), Revision(number), Vec::new(), Duration::ZERO)
        };
        let names = ["a", "b", "gone"].map(str::to_owned).into();
        for shown in [
            Shown::Began,
            entry("a", 1),
            Shown::Current,
            Shown::Gone("gone".to_owned()),
            entry("b", 9),
            entry("later", 10),
        ] {
            sender.send(shown).expect("a receiver");
        }
        let mut entries = Entries::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(async {
            entries.take_all(&mut shown).await;
            entries.take_named(&names, &mut shown).await;
        });
        let there: Vec<&str> = entries.0.keys().map(String::as_str).collect();
        assert_eq!(there, ["a", "b", "gone"]);
    }
}
