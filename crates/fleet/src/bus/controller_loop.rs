//! What a controller wants, carried out.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt;
use tapeline_base::MonoTime;

use crate::bus::books::SiteBooks;
use crate::bus::connection::Connection;
use crate::bus::error::BusError;
use crate::bus::machine_clock::MachineClock;
use crate::bus::records::{
    deleting, expecting, identified, json, read, read_subject, subject, written,
};
use crate::bus::requests::{Reply as Came, Requests, send};
use crate::bus::runtime::block_on;
use crate::bus::setup::{set_up, store};
use crate::bus::stop::Stop;
use crate::bus::watch::{Shown, watch};
use crate::controller::{
    CallId, Controller, ControllerEffect, ControllerInput, Outcome, Reply, Target, WatchInput,
};
use crate::job::{Epoch, JobRecord};
use crate::message::{Answer, Beat, Stored};
use crate::names::{JobId, PREFIX, SiteName, Subject};
use crate::site::ControllerSettings;
use crate::store::{Bucket, Entry, Revision, Written, job_key, lease_key};

/// Pause before streams are made that could not be.
const AGAIN: Duration = Duration::from_secs(2);
/// Schedules are planned when hosts and schedules have not changed for this time: with each host that is entered, a
/// sample of them is another one.
const UNCHANGED: Duration = Duration::from_secs(2);

/// Plans the schedules of a site anew from what its buckets hold.
pub type Planner<'a> = dyn FnMut(&SiteBooks) -> crate::schedule::Schedules + 'a;

/// What a request was for.
#[derive(Debug)]
enum Purpose {
    Order(CallId),
    Write(CallId),
    ReadJob(CallId),
    ReadLease(CallId),
    Event(JobId, Revision),
    Marker,
}

/// Controls a site until the end is wished for: active, or standing by.
///
/// # Errors
/// The server refuses it, or will not do.
pub fn run_controller(
    settings: &ControllerSettings,
    clock: &MachineClock,
    planner: &mut Planner<'_>,
    stop: Stop,
    say: &mut dyn FnMut(&str),
) -> Result<(), BusError> {
    block_on(control(settings, clock, planner, stop, say))
}

async fn control(
    settings: &ControllerSettings,
    clock: &MachineClock,
    planner: &mut Planner<'_>,
    mut stop: Stop,
    say: &mut dyn FnMut(&str),
) -> Result<(), BusError> {
    let access = &settings.access;
    let mut connection = tokio::select! {
        () = stop.wished() => return Ok(()),
        connection = Connection::open_in_time(access, say) => connection?,
    };
    set_up(&store(&connection.client)).await?;
    let client = connection.client.clone();
    let site = &access.site;
    let (requests, mut replies) = Requests::new(&client).await?;
    let mut beats = connection
        .subscribe(format!("{PREFIX}.beat.{site}.*"))
        .await?;
    let mut stored = connection
        .subscribe(format!("{PREFIX}.stored.{site}.*"))
        .await?;
    let within = format!("{site}.");
    let mut jobs = watch(&connection, Bucket::Job, within.clone());
    let mut hosts = watch(&connection, Bucket::Agent, within.clone());
    let mut schedules = watch(&connection, Bucket::Schedule, within);
    let random = RandomState::new();
    let who = format!("{}-{:016x}", std::process::id(), random.hash_one(0));
    let mut control = Control {
        machine: Controller::new(who, settings.links.clone(), random.hash_one(1)),
        client: client.clone(),
        requests,
        site: site.clone(),
        clock: *clock,
        epoch: None,
    };
    let mut books = SiteBooks::default();
    let mut plan_at = MonoTime::FAR;
    let mut linked = connection.link.borrow().number;
    let mut set_up_at = MonoTime::FAR;
    say("stands by");
    control.take(ControllerInput::Tick).await;
    loop {
        let now = clock.now().mono;
        while let Some(purpose) = control.requests.expired(now) {
            control.answered(purpose, &Came::Silence).await;
        }
        // A server that lost its folder gets its streams back.
        if now >= set_up_at {
            set_up_at = MonoTime::FAR;
            if let Err(error) = set_up(&store(&client)).await {
                say(&error.to_string());
                set_up_at = clock.now().mono + AGAIN;
            }
        }
        if now >= plan_at {
            plan_at = MonoTime::FAR;
            if books.are_current() {
                control.machine.set_schedules(planner(&books));
            }
        }
        let wake = control.machine.wake_at().min(control.requests.wake_at());
        tokio::select! {
            () = stop.wished() => return Ok(()),
            Ok(()) = connection.link.changed() => {
                let link = *connection.link.borrow_and_update();
                if link.is_up && link.number != linked {
                    linked = link.number;
                    set_up_at = clock.now().mono;
                }
            }
            Some(refusal) = connection.refused.recv() => say(&refusal),
            Some(message) = replies.next() => {
                if let Some((purpose, came)) = control.requests.take(message) {
                    control.answered(purpose, &came).await;
                }
            }
            Some(shown) = jobs.recv() => control.watched(shown).await,
            Some(shown) = hosts.recv() => {
                books.hosts_shown(shown);
                plan_at = clock.now().mono + UNCHANGED;
            }
            Some(shown) = schedules.recv() => {
                books.schedules_shown(shown);
                plan_at = clock.now().mono + UNCHANGED;
            }
            Some(message) = beats.next() => {
                if let Some(beat) = Beat::of_subject(&message.subject, &message.payload) {
                    control.take(ControllerInput::Beat(beat.into())).await;
                }
            }
            Some(message) = stored.next() => {
                if let Ok(stored) = serde_json::from_slice::<Stored>(&message.payload) {
                    control.take(ControllerInput::Stored(stored)).await;
                }
            }
            () = clock.until(wake.min(plan_at).min(set_up_at)) => control.take(ControllerInput::Tick).await,
        }
        if control.machine.epoch() != control.epoch {
            control.epoch = control.machine.epoch();
            say(&match control.epoch {
                Some(epoch) => format!("is active (epoch {})", epoch.0),
                None => "stands by".to_owned(),
            });
        }
    }
}

struct Control {
    machine: Controller,
    client: Client,
    requests: Requests<Purpose>,
    site: SiteName,
    clock: MachineClock,
    epoch: Option<Epoch>,
}

impl Control {
    async fn take(&mut self, input: ControllerInput) {
        let effects = self.machine.handle(input, self.clock.now());
        for effect in effects {
            self.carry_out(effect).await;
        }
    }

    async fn carry_out(&mut self, effect: ControllerEffect) {
        match effect {
            ControllerEffect::Order(call, host, order) => {
                let subject = Subject::Do(self.site.clone(), host).to_string();
                self.send(Purpose::Order(call), subject, None, json(&order))
                    .await;
            }
            ControllerEffect::Write(call, target, expected) => {
                let (bucket, key, value) = match target {
                    Target::Job(job, record) => {
                        (Bucket::Job, job_key(&self.site, &job), Some(json(&record)))
                    }
                    Target::NoJob(job) => (Bucket::Job, job_key(&self.site, &job), None),
                    Target::Lease(lease) => {
                        (Bucket::Lease, lease_key(&self.site), Some(json(&lease)))
                    }
                };
                let headers = match value {
                    Some(_) => expecting(expected),
                    None => deleting(expected),
                };
                let subject = subject(bucket, &key);
                let value = value.unwrap_or_default();
                self.send(Purpose::Write(call), subject, Some(headers), value)
                    .await;
            }
            ControllerEffect::ReadJob(call, job) => {
                let subject = read_subject(Bucket::Job, &job_key(&self.site, &job));
                self.send(Purpose::ReadJob(call), subject, None, Vec::new())
                    .await;
            }
            ControllerEffect::ReadLease(call) => {
                let subject = read_subject(Bucket::Lease, &lease_key(&self.site));
                self.send(Purpose::ReadLease(call), subject, None, Vec::new())
                    .await;
            }
            ControllerEffect::Ask(ask) => {
                let subject = Subject::Ask(self.site.clone()).to_string();
                send(&self.client, subject, None, None, json(&ask)).await;
            }
            ControllerEffect::Event(event) => {
                let subject = Subject::Event(self.site.clone(), event.job.clone()).to_string();
                let headers = Some(identified(&event.message_id()));
                let payload = json(&event);
                let purpose = Purpose::Event(event.job, event.revision);
                self.send(purpose, subject, headers, payload).await;
            }
        }
    }

    async fn send(
        &mut self,
        purpose: Purpose,
        subject: String,
        headers: Option<async_nats::header::HeaderMap>,
        payload: Vec<u8>,
    ) {
        let now = self.clock.now().mono;
        self.requests
            .send(purpose, subject, headers, payload, now)
            .await;
    }

    /// What came of a request.
    async fn answered(&mut self, purpose: Purpose, came: &Came) {
        let (call, outcome) = match purpose {
            Purpose::Order(call) => (call, Outcome::Reply(reply(came))),
            Purpose::Write(call) => (call, Outcome::Written(written(came))),
            Purpose::ReadJob(call) => (call, Outcome::Job(read(came))),
            Purpose::ReadLease(call) => (call, Outcome::Lease(read(came))),
            Purpose::Event(job, revision) => {
                // A step that the stream has already is acknowledged, too.
                if matches!(written(came), Written::At(_)) {
                    self.take(ControllerInput::EventKept(job, revision)).await;
                }
                return;
            }
            Purpose::Marker => return,
        };
        self.take(ControllerInput::Outcome(call, outcome)).await;
    }

    async fn watched(&mut self, shown: Shown) {
        let input = match shown {
            Shown::Began => WatchInput::Began,
            Shown::Current => WatchInput::Current,
            Shown::Entry(key, revision, value, age) => {
                let entry = key.parse().ok().zip(job(revision, &value));
                let Some((id, entry)) = entry else {
                    return;
                };
                WatchInput::Job(id, entry, age)
            }
            Shown::Gone(key) => {
                let Ok(id) = key.parse::<JobId>() else {
                    return;
                };
                self.remove_marker(&id).await;
                WatchInput::Gone(id)
            }
        };
        self.take(ControllerInput::Watch(input)).await;
    }

    /// What is left of a deleted key would stay for ever.
    async fn remove_marker(&mut self, job: &JobId) {
        let keys = subject(Bucket::Job, &job_key(&self.site, job));
        let payload = json(&serde_json::json!({ "filter": keys }));
        let purge = format!("$JS.API.STREAM.PURGE.{}", Bucket::Job.stream());
        self.send(Purpose::Marker, purge, None, payload).await;
    }
}

fn job(revision: Revision, value: &[u8]) -> Option<Entry<JobRecord>> {
    let value = serde_json::from_slice(value).ok()?;
    Some(Entry { revision, value })
}

fn reply(came: &Came) -> Reply {
    match came {
        Came::Message(message) => match serde_json::from_slice::<Answer>(&message.payload) {
            Ok(answer) => Reply::Answer(answer),
            Err(_) => Reply::NoAnswer,
        },
        Came::NoReceiver => Reply::NoAgent,
        Came::Silence => Reply::NoAnswer,
    }
}
