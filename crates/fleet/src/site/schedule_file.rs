//! A schedule as it is written down: `nightly.toml`.

use std::path::Path;

use tapeline_remote::Class;

use crate::schedule::{HostSet, ScheduleSpec};
use crate::site::toml_file::{SettingsError, TomlFile};

/// Reads a schedule.
///
/// # Errors
/// What is wrong, where, and what to do.
pub fn read_schedule(path: &Path) -> Result<ScheduleSpec, SettingsError> {
    take(TomlFile::open(path)?)
}

fn take(mut file: TomlFile) -> Result<ScheduleSpec, SettingsError> {
    const HOSTS: &str = "a list of names, \"*\" or \"group:NAME\"";
    let name = file.parsed("name", "\"nightly\"")?;
    let hosts = file.take("hosts");
    let hosts = hosts.ok_or_else(|| file.missing("hosts", "\"*\""))?;
    let set = serde_json::from_value::<HostSet>(hosts.value.clone());
    let set = set.map_err(|_| file.wrong(&hosts, HOSTS))?;
    let pattern = file.parsed("pattern", "\"full\"")?;
    let every = file.parsed("every", "\"6h\"")?;
    let test = file.text("test")?;
    let class = file.text("class")?;
    let class = match &class {
        None => Class::Exclusive,
        Some(class) => {
            let word = class.value.as_str().unwrap_or_default();
            let class_of = |_| file.wrong(class, "\"exclusive\" or \"background\"");
            word.parse().map_err(class_of)?
        }
    };
    let priority = match file.take("priority") {
        None => 0,
        Some(priority) => {
            let number = priority.value.as_str().and_then(|text| text.parse().ok());
            number.ok_or_else(|| file.wrong(&priority, "a whole number"))?
        }
    };
    file.rest(&[])?;
    let test = test.as_ref().and_then(|test| test.value.as_str());
    Ok(ScheduleSpec {
        name,
        hosts: set,
        pattern,
        every,
        test: test.unwrap_or_default().to_owned(),
        class,
        priority,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ScheduleSpec, String> {
        let file = TomlFile::parse(Path::new("n.toml"), text).map_err(|error| error.to_string())?;
        take(file).map_err(|error| error.to_string())
    }

    #[test]
    fn a_schedule_is_read_with_its_defaults() {
        let text = "name = \"n\"\nhosts = \"group:eu\"\npattern = \"sample:3\"\nevery = \"6h\"\n";
        let spec = read(text).expect("a schedule");
        assert_eq!(spec.hosts, HostSet::Word("group:eu".to_owned()));
        assert_eq!((spec.class, spec.priority), (Class::Exclusive, 0));
        let more = "test = \"-t 3\"\nclass = \"background\"\npriority = -2\n";
        let spec = read(&format!("{text}{more}")).expect("a schedule");
        assert_eq!(spec.test, "-t 3");
        assert_eq!((spec.class, spec.priority), (Class::Background, -2));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let good = "name = \"n\"\nhosts = \"*\"\npattern = \"full\"\nevery = \"6h\"\n";
        for (text, part) in [
            (good.replace("6h", "6w"), "n.toml:4: every = \"6w\": "),
            (
                good.replace("\"*\"", "true"),
                "n.toml:2: hosts = true: a list",
            ),
            (good.replace("name = \"n\"", ""), "name is missing"),
            (format!("{good}class = \"x\"\n"), "n.toml:5: class"),
            (
                format!("{good}evry = \"6h\"\n"),
                "n.toml:5: there is no key \"evry\"",
            ),
        ] {
            let error = read(&text).expect_err(&text);
            assert!(error.contains(part), "{error}");
        }
    }
}
