//! How a role gets to the server: where it is, and with which key.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use async_nats::ServerAddr;
use serde_json::Value;
use thiserror::Error;

use crate::names::SiteName;
use crate::rights::{Holder, Rights};
use crate::site::key;
use crate::site::toml_file::{SettingsError, TomlFile};

/// Where a server is: `tls://HOST[:PORT]`, or `nats://HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    text: String,
    address: ServerAddr,
}

/// What is wrong with the address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ServerError {
    /// It is none.
    #[error("\"{0}\" is no server: tls://HOST:PORT, or nats://HOST:PORT without TLS")]
    Form(String),
    /// Others could read along, and see nothing of a forged server.
    #[error("nats://{0} has no TLS: use tls://{0}")]
    Plain(String),
}

impl FromStr for Server {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Self, ServerError> {
        let wrong = || ServerError::Form(text.to_owned());
        let address: ServerAddr = text.parse().map_err(|_| wrong())?;
        let url = address.clone().into_inner();
        let is_whole = ["nats", "tls"].contains(&url.scheme())
            && !address.host().is_empty()
            && url.username().is_empty()
            && url.password().is_none()
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none()
            && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        match is_whole && text.contains("://") {
            true => Ok(Self {
                text: text.trim_end_matches('/').to_owned(),
                address,
            }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Server {
    /// Whether it asks for TLS.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        self.address.tls_required()
    }

    /// Whether it is this host, for sure.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.address.host();
        let ip: Option<IpAddr> = host.parse().ok();
        host == "localhost" || ip.is_some_and(|ip| ip.is_loopback())
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Whether it may be used.
    ///
    /// # Errors
    /// There is no TLS, the way leads over a network, and `is_plain` does not allow that.
    pub fn check(&self, is_plain: bool) -> Result<(), ServerError> {
        match self.has_tls() || self.is_loopback() || is_plain {
            true => Ok(()),
            false => {
                let host = self.text.trim_start_matches("nats://");
                Err(ServerError::Plain(host.to_owned()))
            }
        }
    }
}

/// How a role gets to the server.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    /// Its site.
    pub site: SiteName,
    /// Servers, `nats://` or `tls://`; at least one.
    pub servers: Vec<String>,
    /// The seed of its nkey: a secret.
    pub seed: String,
    /// Who has the key.
    pub holder: Holder,
    /// Whom to believe in the place of the system's roots: a file of PEM.
    pub ca: Option<PathBuf>,
    /// Servers without TLS are accepted over a network.
    pub is_plain: bool,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("site", &self.site)
            .field("servers", &self.servers)
            .field("holder", &self.holder)
            .field("ca", &self.ca)
            .field("is_plain", &self.is_plain)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// Where answers come: what the subscriptions for them begin with.
    #[must_use]
    pub fn inbox(&self) -> String {
        Rights::new(&self.site, &self.holder).inbox
    }

    /// Takes the keys of access from a file; the holder may depend on the file.
    pub(crate) fn take(file: &mut TomlFile, holder: &Holder) -> Result<Self, SettingsError> {
        let site: SiteName = file.parsed("site", "\"lab\"")?;
        let is_plain = file.switch("plain")?;
        let servers = servers(file, is_plain)?;
        let key = file.text("key")?;
        let key = key.ok_or_else(|| file.missing("key", "\"FILE.nk\""))?;
        let path = file.beside(key.value.as_str().unwrap_or_default());
        let seed = key::read_seed(&path).map_err(|why| file.wrong(&key, &why))?;
        let ca = file.text("ca")?;
        let ca = ca.map(|ca| file.beside(ca.value.as_str().unwrap_or_default()));
        Ok(Self {
            holder: holder.clone(),
            site,
            servers,
            seed,
            ca,
            is_plain,
        })
    }
}

/// The key `servers`.
pub(crate) fn servers(file: &mut TomlFile, is_plain: bool) -> Result<Vec<String>, SettingsError> {
    const EXAMPLE: &str = "[\"tls://nats.example.net:4222\"]";
    let key = file.take("servers");
    let key = key.ok_or_else(|| file.missing("servers", EXAMPLE))?;
    let list = key.value.as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| file.wrong(&key, &format!("a list, as {EXAMPLE}")))?;
    let read = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        let server: Server = text.parse()?;
        server.check(is_plain)?;
        Ok(server.to_string())
    };
    let servers: Result<Vec<String>, ServerError> = list.iter().map(read).collect();
    servers.map_err(|error| {
        let more = match error {
            ServerError::Plain(_) => ", or say plain = true: orders pass for all to read and forge",
            ServerError::Form(_) => "",
        };
        file.wrong(&key, &format!("{error}{more}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_a_scheme_and_a_host_and_no_more() {
        for good in [
            "nats://127.0.0.1:4222",
            "nats://[::1]:4222",
            "tls://nats.example.net",
            "nats://localhost",
        ] {
            let server: Server = good.parse().expect(good);
            assert_eq!(server.to_string(), good);
            assert_eq!(server.check(false), Ok(()));
        }
        for bad in [
            "",
            "127.0.0.1:4222",
            "ws://127.0.0.1",
            "nats://",
            "nats://user:word@127.0.0.1",
            "nats://127.0.0.1:4222/x",
            "nats://h:99999",
            "nats://h\n",
        ] {
            assert!(bad.parse::<Server>().is_err(), "{bad}");
        }
    }

    #[test]
    fn without_tls_only_this_host_is_reached() {
        for plain in [
            "nats://192.0.2.1:4222",
            "nats://localhost.example.net",
            "nats://127.0.0.1.example.net",
            "nats://[2001:db8::1]",
        ] {
            let server: Server = plain.parse().expect(plain);
            let error = server.check(false).expect_err(plain).to_string();
            assert!(error.contains("has no TLS: use tls://"), "{error}");
            assert_eq!(server.check(true), Ok(()));
        }
    }
}
