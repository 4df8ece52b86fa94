//! Who may test: permit keys, time limits, identities.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use tapeline_base::WallTime;
use tapeline_dialect::{AccountName, Network, Networks, PermitKey, ServerKey};
use tapeline_sys::reason;

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{AskedKey, Mode, Settings};
use crate::cli::spec::Section::{Both, Client, Server};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{refuse, seconds};
use crate::files::input;

/// How long a server's key is good.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(20);
/// Random characters of a key that a server makes up.
const RANDOM_CHARACTERS: u64 = 16;

/// What they are taken from.
const ALPHABET: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::PermitKey, None, "permit-key", Remote::Yes(ValueKind::Text))
        .every_method()
        .optional_value("KEY")
        .apply(permit_key)
        .help(
            Group::Access,
            "key of 4 to 128 bytes that both ends must know (TCP)",
        )
        .details("A server without KEY makes one up and shows it. It crosses the network as it is.")
        .listed(&[(Both, "", "key that client and server must share (TCP)")]),
    OptionSpec::new(Id::PermitKeyFile, None, "permit-key-file", Remote::No("it names a file"))
        .every_method()
        .value("FILE")
        .apply(|settings, given, log| {
            settings.access.key = Some(key_of(given, key_in_file(given, log)?));
            Ok(())
        })
        .only(Personalities::Native)
        .help(
            Group::Access,
            "the same key from a file that others cannot read",
        )
        .details("The line end behind the key does not count. The variable TAPELINE_PERMIT_KEY holds a key, too."),
    OptionSpec::new(Id::PermitKeyTimeout, None, "permit-key-timeout", Remote::Yes(ValueKind::Seconds))
        .value("SECONDS")
        .apply(|settings, given, log| {
            settings.access.lifetime = Some(seconds(given, log)?);
            Ok(())
        })
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "how long the key is good (default 20; 0: for ever)",
        )
        .listed(&[(Server, "", "seconds for which a permit key is good")]),
    OptionSpec::new(Id::TestExchangeTimeout, None, "test-exchange-timeout", Remote::Yes(ValueKind::Seconds))
        .value("SECONDS")
        .apply(|settings, given, log| {
            settings.access.exchange_timeout = Some(seconds(given, log)?);
            Ok(())
        })
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "time for a client's first message (default 10, of iperf 60; 0: no limit)",
        )
        .listed(&[(
            Server,
            "",
            "seconds for a client's first message, 0 is no limit",
        )]),
    OptionSpec::new(Id::Trust, None, "trust", Remote::Yes(ValueKind::Networks))
        .value("NETWORKS")
        .apply(|settings, given, log| {
            settings.access.limits.trusted = networks(given, log)?;
            Ok(())
        })
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "networks whose clients have no limits: any, none, or a list such as 192.0.2.0/24",
        )
        .details(
            "Default: this host and networks that are not routed on the internet. Others have \
             limits, and get no datagrams on their order.",
        ),
    OptionSpec::new(Id::Allow, None, "allow", Remote::Yes(ValueKind::Networks))
        .value("NETWORKS")
        .apply(|settings, given, log| {
            settings.access.limits.allowed = networks(given, log)?;
            Ok(())
        })
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "networks whose clients are served: any (default), none, or a list",
        ),
    OptionSpec::new(Id::Deny, None, "deny", Remote::Yes(ValueKind::Networks))
        .value("NETWORKS")
        .apply(|settings, given, log| {
            settings.access.limits.denied = networks(given, log)?;
            Ok(())
        })
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "networks whose clients are not served, although allowed: any, none (default), or a list",
        ),
    OptionSpec::new(Id::User, None, "user", Remote::No("it names a user"))
        .value("NAME[:GROUP]")
        .apply(|settings, given, log| {
            settings.access.account = Some(account(given, log)?);
            Ok(())
        })
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "go on as this user once all sockets and files are open (Unix)",
        )
        .details(
            "Names or numbers. Without GROUP the user's own. The server accepts no test before, and cannot \
             change back.",
        ),
    OptionSpec::new(Id::SyncTransferId, None, "sync-transfer-id", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.access.sync_transfer_id = true)
        .sides(Sides::CLIENT)
        .help(
            Group::Access,
            "the server shows the stream numbers of this client",
        )
        .listed(&[(
            Client,
            "",
            "the server shows the flow numbers of this client",
        )]),
];

/// `--permit-key`.
fn permit_key(settings: &mut Settings, given: &Given, _: &mut Diagnostics) -> Result<(), Exit> {
    settings.access.key = Some(match &given.value {
        None => AskedKey::Any,
        Some(_) => key_of(given, given.text().into_bytes()),
    });
    Ok(())
}

fn key_of(given: &Given, key: Vec<u8>) -> AskedKey {
    AskedKey::Given {
        key,
        named: given.named(),
    }
}

/// The key of `--permit-key-file`.
fn key_in_file(given: &Given, log: &mut Diagnostics) -> Result<Vec<u8>, Exit> {
    let path = given.value.clone().unwrap_or_default();
    input::read_key(Path::new(&path)).map_err(|error| {
        let (path, why) = (path.to_string_lossy(), reason(&error));
        refuse(given, &format!("{path}: {why}"), log)
    })
}

/// `NAME[:GROUP]`.
fn account(given: &Given, log: &mut Diagnostics) -> Result<AccountName, Exit> {
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
fn networks(given: &Given, log: &mut Diagnostics) -> Result<Networks, Exit> {
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
pub(crate) fn key_needs_tcp(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.udp && settings.access.key.is_some() {
        log.error(
            "ERROR: Option of --permit-key not supported with UDP",
            "option --permit-key needs TCP (leave out -u)",
        );
    }
}

/// Keys have 4 to 128 bytes.
pub(crate) fn key_has_a_length(settings: &mut Settings, log: &mut Diagnostics) {
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
pub(crate) fn client_has_a_key(settings: &mut Settings, log: &mut Diagnostics) {
    if !settings.udp && settings.access.key == Some(AskedKey::Any) {
        log.error(
            "ERROR: option of --permit-key requires a value on the client",
            "option --permit-key: a client needs the server's key (--permit-key=KEY)",
        );
    }
}

/// A lifetime belongs to a key.
pub(crate) fn lifetime_needs_a_key(settings: &mut Settings, log: &mut Diagnostics) {
    if settings.access.lifetime.is_some() && settings.access.key.is_none() && !settings.iperf() {
        log.error("", "option --permit-key-timeout needs --permit-key");
    }
}

/// The key that a client shows.
pub(crate) fn client_key(settings: &Settings) -> Option<PermitKey> {
    match &settings.access.key {
        Some(AskedKey::Given { key, .. }) => PermitKey::new(key).ok(),
        _ => None,
    }
}

/// The key that a server wants to see.
pub(crate) fn server_key(settings: &Settings) -> Option<ServerKey> {
    debug_assert_eq!(settings.mode, Mode::Server);
    let key = match settings.access.key.as_ref()? {
        AskedKey::Given { key, .. } => PermitKey::new(key).ok()?,
        AskedKey::Any => PermitKey::new(generated(settings.now).as_bytes()).ok()?,
    };
    let lifetime = settings.access.lifetime.unwrap_or(DEFAULT_LIFETIME);
    Some(ServerKey {
        key,
        generated: matches!(settings.access.key, Some(AskedKey::Any)),
        lifetime: (!lifetime.is_zero()).then_some(lifetime),
    })
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
