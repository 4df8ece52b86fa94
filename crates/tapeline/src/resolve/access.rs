//! Who may test: permit keys, time limits, identities.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_dialect::{AccountName, Limits, Network, Networks, PermitKey, ServerKey};
use tapeline_sys::reason;

use crate::options::OptionId as Id;
use crate::raw::Given;
use crate::secret_file;

use super::limits;
use super::log::{Log, Stop};
use super::reading::{refuse, seconds};
use super::settings::{Mode, Settings};

/// How long a server's key is good.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(20);
/// Random characters of a key that a server makes up.
const RANDOM_CHARACTERS: u64 = 16;
/// What they are taken from.
const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessSettings {
    pub(crate) key: Option<AskedKey>,
    lifetime: Option<Duration>,
    pub(crate) exchange_timeout: Option<Duration>,
    pub(crate) sync_transfer_id: bool,
    /// What is granted to clients that the server does not know.
    pub(crate) limits: Limits,
    /// Whom the process belongs to when its sockets are open.
    pub(crate) account: Option<AccountName>,
}

/// `--permit-key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedKey {
    /// Without a value: a server makes one up.
    Any,
    Given {
        key: Vec<u8>,
        /// Where it was said, for errors.
        named: String,
    },
}

impl AskedKey {
    fn of(given: &Given, key: Vec<u8>) -> Self {
        Self::Given {
            key,
            named: given.named(),
        }
    }
}

/// Carries out one option of this kind.
pub(super) fn apply(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    match given.spec.id {
        Id::PermitKey => {
            settings.access.key = Some(match &given.value {
                None => AskedKey::Any,
                Some(_) => AskedKey::of(given, given.text().into_bytes()),
            });
        }
        Id::PermitKeyFile => {
            settings.access.key = Some(AskedKey::of(given, key_in_file(given, log)?));
        }
        Id::User => settings.access.account = Some(account(given, log)?),
        Id::PermitKeyTimeout => settings.access.lifetime = Some(seconds(given, log)?),
        Id::TestExchangeTimeout => {
            settings.access.exchange_timeout = Some(seconds(given, log)?);
        }
        Id::Trust => settings.access.limits.trusted = networks(given, log)?,
        Id::Allow => settings.access.limits.allowed = networks(given, log)?,
        Id::Deny => settings.access.limits.denied = networks(given, log)?,
        Id::Limit => limits::apply(&mut settings.access.limits, given, log)?,
        _ => settings.access.sync_transfer_id = true,
    }
    Ok(())
}

/// The key of `--permit-key-file`.
fn key_in_file(given: &Given, log: &mut Log) -> Result<Vec<u8>, Stop> {
    let path = given.value.clone().unwrap_or_default();
    secret_file::read_key(Path::new(&path)).map_err(|error| {
        let (path, why) = (path.to_string_lossy(), reason(&error));
        refuse(given, &format!("{path}: {why}"), log)
    })
}

/// `NAME[:GROUP]`.
fn account(given: &Given, log: &mut Log) -> Result<AccountName, Stop> {
    let text = given.text();
    let (user, group) = match text.split_once(':') {
        Some((user, group)) => (user, Some(group)),
        None => (text.as_str(), None),
    };
    if user.is_empty() || group == Some("") {
        return Err(refuse(given, "NAME or NAME:GROUP", log));
    }
    Ok(AccountName {
        user: user.to_owned(),
        group: group.map(str::to_owned),
    })
}

/// The networks of `--trust`, `--allow` and `--deny`.
fn networks(given: &Given, log: &mut Log) -> Result<Networks, Stop> {
    let text = given.text();
    match text.as_str() {
        "any" => return Ok(Networks::any()),
        "none" => return Ok(Networks::none()),
        _ => {}
    }
    let parsed: Option<Vec<Network>> = text.split(',').map(Network::parse).collect();
    parsed.map(Networks).ok_or_else(|| {
        refuse(
            given,
            "any, none, or networks such as 192.0.2.0/24,2001:db8::/32",
            log,
        )
    })
}

/// UDP has no place for a key.
pub(super) fn key_needs_tcp(settings: &mut Settings, log: &mut Log) {
    if settings.udp && settings.access.key.is_some() {
        log.error(
            "ERROR: Option of --permit-key not supported with UDP",
            "option --permit-key needs TCP (leave out -u)",
        );
    }
}

/// Keys have 4 to 128 bytes.
pub(super) fn key_has_a_length(settings: &mut Settings, log: &mut Log) {
    if settings.udp {
        return;
    }
    match &settings.access.key {
        Some(AskedKey::Given { key, named }) if key.len() < 4 => log.error(
            "ERROR: value for --permit-key must have at least 4 characters",
            format!("{named}: a key has at least 4 bytes"),
        ),
        Some(AskedKey::Given { key, named }) if key.len() > 128 => log.error(
            "ERROR: value for --permit-key must have at most 128 characters",
            format!("{named}: a key has at most 128 bytes"),
        ),
        _ => {}
    }
}

/// A client cannot guess a server's key.
pub(super) fn client_has_a_key(settings: &mut Settings, log: &mut Log) {
    if !settings.udp && settings.access.key == Some(AskedKey::Any) {
        log.error(
            "ERROR: option of --permit-key requires a value on the client",
            "option --permit-key: a client needs the server's key (--permit-key=KEY)",
        );
    }
}

/// A lifetime belongs to a key.
pub(super) fn lifetime_needs_a_key(settings: &mut Settings, log: &mut Log) {
    if settings.access.lifetime.is_some() && settings.access.key.is_none() && !settings.iperf() {
        log.error("", "option --permit-key-timeout needs --permit-key");
    }
}

impl Settings {
    /// The key that a client shows.
    pub(super) fn client_key(&self) -> Option<PermitKey> {
        match &self.access.key {
            Some(AskedKey::Given { key, .. }) => PermitKey::new(key).ok(),
            _ => None,
        }
    }

    /// The key that a server wants to see.
    pub(super) fn server_key(&self) -> Option<ServerKey> {
        debug_assert_eq!(self.mode, Mode::Server);
        let key = match self.access.key.as_ref()? {
            AskedKey::Given { key, .. } => PermitKey::new(key).ok()?,
            AskedKey::Any => PermitKey::new(generated(self.now).as_bytes()).ok()?,
        };
        let lifetime = self.access.lifetime.unwrap_or(DEFAULT_LIFETIME);
        Some(ServerKey {
            key,
            lifetime: (!lifetime.is_zero()).then_some(lifetime),
        })
    }
}

/// A key as iperf 2 makes it: the time, which no other server's key has, and letters that
/// cannot be guessed. They come from the hash keys that the system draws at random.
fn generated(now: WallTime) -> String {
    let (seconds, micros) = now.to_wire();
    let random = RandomState::new();
    let letters = (0..RANDOM_CHARACTERS).map(|index| {
        let drawn = random.hash_one(index) % ALPHABET.len() as u64;
        char::from(ALPHABET[drawn as usize])
    });
    format!("{seconds}.{micros:06}-{}", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_made_up_differ() {
        let now = WallTime::from_nanos(1_795_215_956_108_899_000);
        let key = generated(now);
        assert!(key.starts_with("1795215956.108899-"), "{key}");
        assert_eq!(key.len(), 18 + 16);
        assert!(key[18..].bytes().all(|letter| ALPHABET.contains(&letter)));
        assert_ne!(key, generated(now));
    }
}
