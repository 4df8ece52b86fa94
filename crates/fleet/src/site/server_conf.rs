//! What the server reads: `nats-server.conf` and, included there, `users.conf`.

use std::fmt::Write as _;
use std::path::Path;

use crate::names::PREFIX;
use crate::rights::{Holder, Rights};
use crate::site::access::Server;
use crate::site::folder::quoted;
use crate::site::registry::Registry;
use crate::store::Stream;

/// The name of the server's configuration.
pub(crate) const SERVER: &str = "nats-server.conf";
/// The name of the file with its users.
pub(crate) const USERS: &str = "users.conf";

/// The server's configuration. It keeps its streams below the folder.
pub(crate) fn server_conf(registry: &Registry, servers: &[Server], folder: &Path) -> String {
    let port = servers.first().map_or(4222, Server::port);
    let host = match servers.iter().all(Server::is_loopback) {
        true => "127.0.0.1",
        false => "0.0.0.0",
    };
    let tls = servers.iter().any(Server::has_tls);
    // The file that is needed is named, and the server does not start without it.
    let (comment, hint) = match tls {
        true => ("", "# Put the server's certificate and its key there."),
        false => (
            "# ",
            "# Over a network: a certificate, and servers = [\"tls://...\"] in all files.",
        ),
    };
    format!(
        "# The server of the site \"{site}\": nats-server 2.10 or newer.\n\
         #   nats-server -c {SERVER}\n\
         \n\
         listen: \"{host}:{port}\"\n\
         server_name: {name}\n\
         \n\
         jetstream {{\n  \
           store_dir: {store}\n  \
           # An answer is on the disk before it is given; 2.9 does not know this.\n  \
           sync_interval: always\n  \
           # Results take up to 10 GiB; the server counts them twice when a controller asks for their stream again.\n  \
           max_file_store: 24GiB\n  \
           max_memory_store: 256MiB\n\
         }}\n\
         \n\
         # Results are up to 900 kB, orders 64 kB.\n\
         max_payload: 1MiB\n\
         max_connections: 65536\n\
         \n\
         {hint}\n\
         {comment}tls {{\n\
         {comment}  cert_file: {cert}\n\
         {comment}  key_file: {key}\n\
         {comment}}}\n\
         \n\
         # Who may do what. After a change: nats-server --signal reload, or kill -HUP.\n\
         include ./{USERS}\n",
        site = registry.site,
        name = quoted(&format!("tapeline-{}", registry.site)),
        store = quoted(&folder.join("jetstream").to_string_lossy()),
        cert = quoted(&folder.join("server.crt").to_string_lossy()),
        key = quoted(&folder.join("server.key").to_string_lossy()),
    )
}

/// The users with their rights, agents apart from all that is stored: the server acknowledges a result wherever
/// its sender wants, with its own rights, and only accounts keep that from being the key of a job.
pub(crate) fn users_conf(registry: &Registry) -> String {
    let mut fleet = String::new();
    let mut agents = String::new();
    for (key, holder) in registry.holders() {
        let text = match holder {
            Holder::Agent(_) => &mut agents,
            Holder::Controller | Holder::Collector | Holder::Operator => &mut fleet,
        };
        user(text, key, &holder, &Rights::new(&registry.site, &holder));
    }
    let site = &registry.site;
    let result = quoted(&Stream::Result.of_site(site));
    let stored = quoted(&format!("{PREFIX}.stored.{site}.*"));
    let order = quoted(&format!("{PREFIX}.agent.{site}.*.do"));
    let ask = quoted(&format!("{PREFIX}.all.{site}.ask"));
    let beat = quoted(&format!("{PREFIX}.beat.{site}.*"));
    let live = quoted(&format!("{PREFIX}.live.>"));
    format!(
        "# Made of enrolled.toml by tapeline fleet: changes here do not last.\n\
         accounts {{\n  \
           FLEET {{\n    \
             jetstream: enabled\n    \
             exports: [\n      \
               {{ service: {result}, accounts: [AGENTS] }}\n      \
               {{ stream: {stored}, accounts: [AGENTS] }}\n      \
               {{ stream: {ask}, accounts: [AGENTS] }}\n    \
             ]\n    \
             imports: [\n      \
               {{ service: {{ account: AGENTS, subject: {order} }} }}\n      \
               {{ stream: {{ account: AGENTS, subject: {beat} }} }}\n      \
               {{ stream: {{ account: AGENTS, subject: {live} }} }}\n    \
             ]\n    \
             users: [\n{fleet}    ]\n  \
           }}\n  \
           AGENTS {{\n    \
             exports: [\n      \
               {{ service: {order}, accounts: [FLEET] }}\n      \
               {{ stream: {beat}, accounts: [FLEET] }}\n      \
               {{ stream: {live}, accounts: [FLEET] }}\n    \
             ]\n    \
             imports: [\n      \
               {{ service: {{ account: FLEET, subject: {result} }} }}\n      \
               {{ stream: {{ account: FLEET, subject: {stored} }} }}\n      \
               {{ stream: {{ account: FLEET, subject: {ask} }} }}\n    \
             ]\n    \
             users: [\n{agents}    ]\n  \
           }}\n\
         }}\n"
    )
}

fn user(text: &mut String, key: &str, holder: &Holder, rights: &Rights) {
    let who = match holder {
        Holder::Agent(host) => format!("the agent of {host}"),
        Holder::Controller => "controllers".to_owned(),
        Holder::Collector => "the collector".to_owned(),
        Holder::Operator => "operators".to_owned(),
    };
    let list = |subjects: &[String]| {
        let subjects = subjects.iter();
        let lines = subjects.map(|subject| format!("          {}\n", quoted(subject)));
        format!("[\n{}        ]", lines.collect::<String>())
    };
    let responses = match rights.allow_responses {
        true => "\n        allow_responses: true",
        false => "",
    };
    let _ = writeln!(
        text,
        "      # {who}\n      {{ nkey: {key}, permissions: {{\n        \
         publish: {}\n        subscribe: {}{responses}\n      }} }}",
        list(&rights.publish),
        list(&rights.subscribe),
    );
}
