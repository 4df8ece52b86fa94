//! A server's look at logins.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tapeline_base::{MonoTime, MutexExt};

use super::{base64, rsa};
use crate::plan::{Iperf3Authentication, RsaPadding};

/// Time from a failing login to its answer, whatever was wrong; doubled by each further one from
/// the same address.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Most doublings.
const MAX_DOUBLINGS: u32 = 4;
/// A failure is forgotten after this time.
const MEMORY: Duration = Duration::from_secs(60);
/// Addresses whose failures are remembered.
const MAX_ADDRESSES: usize = 4096;
/// Longest token, characters: an RSA key of 8192 bits makes 1368.
const LONGEST: usize = 2048;

/// Lets in who has a login.
#[derive(Debug)]
pub(crate) struct Gate {
    key: rsa::PrivateKey,
    /// Users and the hashes of their passwords, lower case.
    users: HashMap<String, String>,
    skew: i64,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Logins that were used, until the time in them is too old anyway.
    used: HashMap<rsa::Digest, i64>,
    failures: HashMap<IpAddr, (u32, MonoTime)>,
}

impl Gate {
    /// Reads key and users.
    ///
    /// # Errors
    /// A sentence when the key cannot be used.
    pub(crate) fn new(plan: &Iperf3Authentication) -> Result<Self, String> {
        Ok(Self {
            key: rsa::PrivateKey::read(&plan.private_key)?,
            users: users(&plan.users),
            skew: i64::try_from(plan.skew.as_secs()).unwrap_or(i64::MAX),
            memory: Mutex::default(),
        })
    }

    /// Whether this token is a login at `now`, seconds since 1970. Each token is one only once.
    pub(crate) fn admits(&self, token: Option<&str>, now: i64) -> bool {
        let Some(sealed) = token
            .filter(|token| token.len() <= LONGEST)
            .and_then(base64::decode)
        else {
            return false;
        };
        // Clients up to 3.16 know the older padding only, later ones the newer only.
        let paddings = [RsaPadding::Oaep, RsaPadding::Pkcs1];
        let mut tried = paddings
            .iter()
            .filter_map(|padding| self.key.decrypt(&sealed, *padding));
        tried.any(|plain| self.is_known(&plain, now)) && self.is_first(&sealed, now)
    }

    fn is_known(&self, plain: &[u8], now: i64) -> bool {
        let Some((user, password, at)) = std::str::from_utf8(plain).ok().and_then(fields) else {
            return false;
        };
        let digest = rsa::sha256(format!("{{{user}}}{password}").as_bytes());
        let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = self.users.get(user).map_or("", String::as_str);
        let is_theirs = rsa::are_equal(hash.as_bytes(), known.as_bytes());
        let is_now = now.abs_diff(at) <= self.skew.unsigned_abs();
        is_theirs && is_now
    }

    /// Whether these bytes were never a login before.
    fn is_first(&self, sealed: &[u8], now: i64) -> bool {
        // The time in a login may be ahead of ours by as much as behind it.
        let kept = self.skew.saturating_mul(2).saturating_add(1);
        let mut memory = self.memory();
        memory.used.retain(|_, until| *until >= now);
        let until = now.saturating_add(kept);
        memory.used.insert(rsa::sha256(sealed), until).is_none()
    }

    /// How long the answer to a failing login waits.
    pub(crate) fn pause(&self, client: IpAddr, now: MonoTime) -> Duration {
        let mut memory = self.memory();
        if memory.failures.len() >= MAX_ADDRESSES {
            memory.failures.clear();
        }
        memory.failures.retain(|_, (_, at)| now.since(*at) < MEMORY);
        let (count, at) = memory.failures.entry(client).or_insert((0, now));
        let doublings = (*count).min(MAX_DOUBLINGS);
        *count = count.saturating_add(1);
        *at = now;
        FIRST_PAUSE * (1 << doublings)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock_unpoisoned()
    }
}

/// Users and the hashes of their passwords, lower case, of a file with a line for each.
pub(crate) fn users(file: &str) -> HashMap<String, String> {
    let lines = file.lines().map(str::trim);
    let users = lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(','))
        .map(|(user, hash)| (user.trim().to_owned(), hash.trim().to_ascii_lowercase()));
    users.collect()
}

/// User, password and time of a login.
pub(crate) fn fields(plain: &str) -> Option<(&str, &str, i64)> {
    let mut lines = plain.lines();
    let user = lines.next()?.strip_prefix("user: ")?;
    let password = lines.next()?.strip_prefix("pwd:  ")?;
    let at = lines.next()?.strip_prefix("ts:   ")?.trim().parse().ok()?;
    Some((user, password, at))
}
