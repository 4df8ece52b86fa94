//! `hosts.toml` from an inventory.

use std::fmt::Write;

use serde_json::Value;

use super::fault::InventoryError;
use super::groups::{ALL, HostGroups, UNGROUPED, Variables};
use crate::hosts_file::HostsFile;

/// What a mesh leaves to ssh's own configuration.
const OF_SSH: [&str; 6] = [
    "ansible_ssh_private_key_file",
    "ansible_private_key_file",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_ssh_pass",
    "ansible_password",
];

/// The text, which [`HostsFile::read`] takes.
pub(crate) fn write(inventory: &HostGroups, file: &str) -> Result<String, InventoryError> {
    let fault = |text: String| InventoryError {
        file: file.to_owned(),
        line: None,
        text,
    };
    let mut text = format!("# From {}\n", file.replace(char::is_control, " "));
    for host in inventory.hosts() {
        let variables = inventory.variables_of(host);
        let reached = Reached::new(host, &variables).map_err(fault)?;
        let _ = writeln!(text, "\n[hosts.{}]", key(host));
        if let Some(via) = reached.via {
            let _ = writeln!(text, "via = {}", quoted(via));
        }
        if reached.destination != *host {
            let _ = writeln!(text, "ssh = {}", quoted(&reached.destination));
        }
        let held = inventory.groups.iter();
        let held = held.filter(|(name, group)| is_own(name) && group.hosts.contains(host));
        let held: Vec<String> = held.map(|(name, _)| quoted(name)).collect();
        if !held.is_empty() {
            let _ = writeln!(text, "groups = [{}]", held.join(", "));
        }
        let left = OF_SSH.iter().filter(|name| variables.contains_key(**name));
        for name in left {
            let _ = writeln!(
                text,
                "# {name}: ssh's own configuration is the place for it"
            );
        }
    }
    let groups = inventory.groups.iter();
    let outer = groups.filter(|(name, group)| {
        is_own(name) && (!group.children.is_empty() || group.hosts.is_empty())
    });
    for (place, (name, group)) in outer.enumerate() {
        if place == 0 {
            text += "\n[groups]\n";
        }
        let children = group.children.iter().map(|child| quoted(child));
        let children: Vec<String> = children.collect();
        let _ = writeln!(text, "{} = [{}]", key(name), children.join(", "));
    }
    HostsFile::read(file, &text).map_err(|error| fault(error.text))?;
    Ok(text)
}

/// Whether a group is there because somebody named it.
fn is_own(name: &str) -> bool {
    name != ALL && name != UNGROUPED
}

/// How a host is reached.
struct Reached {
    destination: String,
    via: Option<&'static str>,
}

impl Reached {
    fn new(host: &str, variables: &Variables) -> Result<Self, String> {
        let first = |names: &[&str]| {
            let known = names
                .iter()
                .find_map(|name| Some((*name, variables.get(*name)?)));
            match known {
                Some((name, value)) if value.contains("{{") => Err(format!(
                    "{name} of {host} is a template: ansible-inventory -i FILE --list may know it"
                )),
                known => Ok(known.map(|(_, value)| value.as_str())),
            }
        };
        let address = first(&["ansible_host", "ansible_ssh_host"])?.unwrap_or(host);
        let user = first(&["ansible_user", "ansible_ssh_user"])?;
        let port = first(&["ansible_port", "ansible_ssh_port"])?.filter(|port| *port != "22");
        let connection = first(&["ansible_connection"])?.unwrap_or("ssh");
        let via = match connection.rsplit('.').next().unwrap_or_default() {
            "ssh" | "smart" | "paramiko" | "paramiko_ssh" | "libssh" => None,
            "local" => Some("env"),
            "docker" | "docker_api" => Some("docker exec -i {host}"),
            "podman" => Some("podman exec -i {host}"),
            "kubectl" => Some("kubectl exec -i {host} --"),
            "lxc" => Some("lxc-attach -n {host} --"),
            "lxd" | "incus" => Some("lxc exec {host} --"),
            _ => {
                return Err(format!(
                    "{host} has the connection \"{connection}\", which a mesh does not know: \
                     write its hosts.toml by hand, with via = \"COMMAND\""
                ));
            }
        };
        if via.is_some() {
            return Ok(Self {
                destination: address.to_owned(),
                via,
            });
        }
        let at = user.map_or_else(String::new, |user| format!("{user}@"));
        let destination = match port {
            None => format!("{at}{address}"),
            Some(port) if address.contains(':') => format!("ssh://{at}[{address}]:{port}"),
            Some(port) => format!("ssh://{at}{address}:{port}"),
        };
        Ok(Self { destination, via })
    }
}

/// A key of a table, in quotation marks where it needs them.
fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A string of JSON is one of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Via;
    use crate::inventory::Inventory;

    const INI: &str = r#"
alone ansible_connection=local  # this machine

[web]
web[1:2].example ansible_user=admin
[db:children]
primary
spare
[primary]
db1 ansible_host=198.51.100.4 ansible_port=2222 ansible_user="op"
[spare]
[db:vars]
ansible_user = nobody
ansible_ssh_common_args='-o ProxyJump=gate'
[eu:children]
web
db
"#;

    const TOML: &str = r#"# From FILE

[hosts.alone]
via = "env"

[hosts."web1.example"]
ssh = "admin@web1.example"
groups = ["web"]

[hosts."web2.example"]
ssh = "admin@web2.example"
groups = ["web"]

[hosts.db1]
ssh = "ssh://op@198.51.100.4:2222"
groups = ["primary"]
# ansible_ssh_common_args: ssh's own configuration is the place for it

[groups]
db = ["primary", "spare"]
eu = ["db", "web"]
spare = []
"#;

    /// What `ansible-inventory --list` writes of it.
    const LISTED: &str = r#"{
        "_meta": {"hostvars": {
            "alone": {"ansible_connection": "local"},
            "web1.example": {"ansible_user": "admin"}, "web2.example": {"ansible_user": "admin"},
            "db1": {"ansible_host": "198.51.100.4", "ansible_port": 2222, "ansible_user": "op",
                    "ansible_ssh_common_args": "-o ProxyJump=gate"}}},
        "all": {"children": ["ungrouped", "eu"]},
        "ungrouped": {"hosts": ["alone"]},
        "eu": {"children": ["web", "db"]},
        "db": {"children": ["primary", "spare"]},
        "primary": {"hosts": ["db1"]},
        "web": {"hosts": ["web1.example", "web2.example"]}}"#;

    /// The same, written by hand.
    const NESTED: &str = r#"{"all": {
        "hosts": {"alone": {"ansible_connection": "local"}},
        "children": {"eu": {"children": {
            "web": {"hosts": {"web[1:2].example": null}, "vars": {"ansible_user": "admin"}},
            "db": {"vars": {"ansible_user": "nobody", "ansible_ssh_common_args": "-o ProxyJump=gate"},
                   "children": {"spare": {}, "primary": {"hosts": {"db1": {
                       "ansible_host": "198.51.100.4", "ansible_port": 2222, "ansible_user": "op"}}}}}}}}}}"#;

    fn written(text: &str) -> Result<String, String> {
        let read = Inventory::read("inventory", text);
        let text = read.and_then(|inventory| inventory.hosts_toml());
        text.map_err(|error| error.to_string())
    }

    /// The parts of a text, whose order is that of the inventory.
    fn parts(text: &str) -> Vec<&str> {
        let mut parts: Vec<&str> = text
            .split(
                "

",
            )
            .map(str::trim_end)
            .collect();
        parts.sort_unstable();
        parts
    }

    #[test]
    fn each_form_comes_to_the_same_hosts() {
        let expected = TOML.replace("FILE", "inventory");
        assert_eq!(written(INI).expect("INI"), expected);
        for json in [LISTED, NESTED] {
            assert_eq!(parts(&written(json).expect("JSON")), parts(&expected));
        }
        let read = HostsFile::read("hosts.toml", &expected).expect("a mesh's hosts");
        assert_eq!(read.hosts[0].via, Via::Command("env".to_owned()));
        assert_eq!(read.hosts[3].groups, ["db", "eu", "primary"]);
    }

    #[test]
    fn inner_variables_win() {
        let text = "[inner]
a
b ansible_user=own
[outer:children]
inner
[outer:vars]
                    ansible_user=outer
[inner:vars]
ansible_user=inner
[all:vars]
                    ansible_port=23
ansible_user=all
[z]
c
";
        let text = written(text).expect("hosts");
        for said in ["inner@a:23", "own@b:23", "all@c:23"] {
            assert!(text.contains(&format!("ssh = \"ssh://{said}\"")), "{text}");
        }
    }

    #[test]
    fn whatever_cannot_be_said_is_named() {
        for (text, said) in [
            (
                "a\n",
                "inventory: a mesh needs two hosts or more; this is the only one",
            ),
            (
                "a\nb ansible_connection=winrm\n",
                "inventory: b has the connection \"winrm\"",
            ),
            (
                "a\nb ansible_host={{x}}\n",
                "inventory: ansible_host of b is a template",
            ),
            (
                "a\n-x\n",
                "inventory: a host's name \"-x\" begins with a dash",
            ),
            ("a\n[a]\nb\n", "inventory: \"a\" is a host and a group"),
            ("a\nb[1\n", "inventory:2: \"b[1\" has a [ without ]"),
            ("a b\n", "inventory:1: \"b\" is no variable"),
            ("a b='\n", "inventory:1: a quotation mark"),
            ("[g:vars]\nx\n", "inventory:2: \"x\" is no variable"),
            (
                "[g:children]\nx y\n",
                "inventory:2: \"x y\" is not the name of one group",
            ),
            ("[g:kids]\n", "inventory:1: [g:kids] is no section"),
            ("---\nall:\n", "inventory:1: that looks like YAML"),
            ("all:\n  hosts:\n", "inventory:1: that looks like YAML"),
            ("{", "inventory:1: that is no JSON"),
            ("[1]", "inventory: an inventory as JSON is an object"),
            (r#"{"g": 1}"#, "inventory: the group \"g\" is no object"),
            (
                r#"{"g": {"host": []}}"#,
                "inventory: the group \"g\" has no key \"host\"",
            ),
            (
                r#"{"g": {"hosts": [1]}}"#,
                "inventory: hosts of \"g\" are names",
            ),
            (
                r#"{"g": {"hosts": 1}}"#,
                "inventory: hosts of \"g\" are a list",
            ),
            (
                r#"{"g": {"children": [1]}}"#,
                "inventory: children of \"g\" are names",
            ),
            (
                r#"{"g": {"children": 1}}"#,
                "inventory: children of \"g\" are a list",
            ),
            (
                "[x:children]\ny\n[y:children]\nx\n[z]\na\nb\n",
                "inventory: the group x holds itself through y",
            ),
        ] {
            let why = written(text).expect_err(text);
            assert!(why.starts_with(said), "{text}: {why}");
        }
    }
}
