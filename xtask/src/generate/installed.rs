//! Manual pages and completions, laid out as they are installed.

use std::path::Path;
use std::process::Command;

use crate::shell::{self, Result};

/// A document: what the program is asked for, and where it belongs below `share`.
const DOCUMENTS: [(&[&str], &str); 6] = [
    (&["--generate", "man"], "man/man1/tapeline.1"),
    (&["--as", "iperf", "--generate", "man"], "man/man1/iperf.1"),
    (
        &["--as", "iperf3", "--generate", "man"],
        "man/man1/iperf3.1",
    ),
    (
        &["--generate", "bash"],
        "bash-completion/completions/tapeline",
    ),
    (&["--generate", "zsh"], "zsh/site-functions/_tapeline"),
    (
        &["--generate", "fish"],
        "fish/vendor_completions.d/tapeline.fish",
    ),
];

/// Files for all names, and where shells look for those of the other names.
const FOR_OTHERS: [(&str, [&str; 2]); 2] = [
    (
        "bash-completion/completions/tapeline",
        [
            "bash-completion/completions/iperf",
            "bash-completion/completions/iperf3",
        ],
    ),
    (
        "fish/vendor_completions.d/tapeline.fish",
        [
            "fish/vendor_completions.d/iperf.fish",
            "fish/vendor_completions.d/iperf3.fish",
        ],
    ),
];

/// Writes every document of a build of the program below `folder`.
///
/// # Errors
/// The program cannot be run, or a file cannot be written.
pub(crate) fn write(program: &Path, folder: &Path) -> Result<()> {
    for (arguments, path) in DOCUMENTS {
        let text = shell::read(Command::new(program).args(arguments))?;
        save(&folder.join(path), &text)?;
    }
    for (from, others) in FOR_OTHERS {
        let from = folder.join(from);
        let text = std::fs::read_to_string(&from)
            .map_err(|error| format!("{}: {error}", from.display()))?;
        for to in others {
            save(&folder.join(to), &text)?;
        }
    }
    Ok(())
}

/// The documents of one of the program's names, below `share`.
pub(crate) fn paths(name: &str) -> impl Iterator<Item = &'static str> {
    let own = DOCUMENTS.map(|(_, path)| path);
    let of_others = FOR_OTHERS.into_iter().flat_map(|(_, paths)| paths);
    own.into_iter().chain(of_others).filter(move |path| {
        let stem = Path::new(path).file_stem().unwrap_or_default();
        stem.to_string_lossy().trim_start_matches('_') == name
    })
}

fn save(path: &Path, text: &str) -> Result<()> {
    let failed = |error| format!("{}: {error}", path.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)?;
    println!("{}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_documents() {
        assert_eq!(paths("tapeline").count(), 4);
        let of_iperf3: Vec<&str> = paths("iperf3").collect();
        assert_eq!(
            of_iperf3,
            [
                "man/man1/iperf3.1",
                "bash-completion/completions/iperf3",
                "fish/vendor_completions.d/iperf3.fish"
            ]
        );
    }
}
