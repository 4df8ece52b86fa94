//! The INI form of an inventory.

use super::fault::InventoryError;
use super::groups::{HostGroups, UNGROUPED};
use super::host_line::{name_and_port, words};
use super::range;

/// What the lines of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Hosts,
    Children,
    Variables,
}

/// Reads the text of a file.
pub(crate) fn read(file: &str, text: &str) -> Result<HostGroups, InventoryError> {
    let mut inventory = HostGroups::default();
    let (mut group, mut section) = (UNGROUPED.to_owned(), Section::Hosts);
    for (number, line) in (1..).zip(text.lines()) {
        let fault = |text: String| InventoryError {
            file: file.to_owned(),
            line: Some(number),
            text,
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some((name, kind)) = heading(line) {
            section = match kind {
                None => Section::Hosts,
                Some("children") => Section::Children,
                Some("vars") => Section::Variables,
                Some(other) => {
                    let text = format!("[{name}:{other}] is no section: children or vars");
                    return Err(fault(text));
                }
            };
            name.clone_into(&mut group);
            inventory.group(name);
            continue;
        }
        if line == "---" || line.ends_with(':') {
            let text = "that looks like YAML: ansible-inventory -i FILE --list writes it as JSON";
            return Err(fault(text.to_owned()));
        }
        match section {
            Section::Hosts => host(&mut inventory, &group, line).map_err(fault)?,
            Section::Children => {
                let child = words(line).map_err(fault)?;
                let [child] = &child[..] else {
                    return Err(fault(format!("\"{line}\" is not the name of one group")));
                };
                inventory.group(child);
                inventory.group(&group).children.insert(child.clone());
            }
            Section::Variables => {
                let Some((name, value)) = line.split_once('=') else {
                    return Err(fault(format!("\"{line}\" is no variable: NAME=VALUE")));
                };
                let value = plain(value);
                let variables = &mut inventory.group(&group).variables;
                variables.insert(name.trim().to_owned(), value);
            }
        }
    }
    Ok(inventory)
}

/// `[name]`, `[name:kind]`.
fn heading(line: &str) -> Option<(&str, Option<&str>)> {
    let inside = line.strip_prefix('[')?;
    let (inside, behind) = inside.split_once(']')?;
    let behind = behind.trim_start();
    if !(behind.is_empty() || behind.starts_with(['#', ';'])) {
        return None;
    }
    match inside.split_once(':') {
        // A line of hosts may begin with a range, or with an address in brackets.
        Some((name, _)) if name.is_empty() || inside.matches(':').count() > 1 => None,
        Some((first, last)) if is_range(first, last) => None,
        Some((name, kind)) => Some((name.trim(), Some(kind.trim()))),
        None => Some((inside.trim(), None)),
    }
}

fn is_range(first: &str, last: &str) -> bool {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(first) && is_number(last)) || (first.len() == 1 && last.len() == 1)
}

fn host(inventory: &mut HostGroups, group: &str, line: &str) -> Result<(), String> {
    let words = words(line)?;
    let Some((pattern, variables)) = words.split_first() else {
        return Ok(());
    };
    let (pattern, port) = name_and_port(pattern);
    for name in range::names(pattern)? {
        inventory.add(group, &name);
        if let Some(port) = port {
            inventory.set(&name, "ansible_port", port.to_string());
        }
        for variable in variables {
            let Some((key, value)) = variable.split_once('=') else {
                return Err(format!("\"{variable}\" is no variable: NAME=VALUE"));
            };
            inventory.set(&name, key, value.to_owned());
        }
    }
    Ok(())
}

/// A value without the quotation marks around it.
fn plain(value: &str) -> String {
    let value = value.trim();
    let quoted = |mark| value.strip_prefix(mark)?.strip_suffix(mark);
    quoted('"')
        .or_else(|| quoted('\''))
        .unwrap_or(value)
        .to_owned()
}
