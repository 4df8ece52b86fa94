//! Manual pages and completions, laid out as they are installed.

use std::path::Path;

use crate::shell::{self, Result, cargo};

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

/// Writes every document below `folder`.
///
/// # Errors
/// The program cannot be built or run, or a file cannot be written.
pub(crate) fn write(folder: &Path) -> Result<()> {
    for (arguments, path) in DOCUMENTS {
        let mut command = cargo();
        command.args(["run", "--quiet", "--package", "tapeline", "--"]);
        let text = shell::read(command.args(arguments))?;
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

fn save(path: &Path, text: &str) -> Result<()> {
    let failed = |error| format!("{}: {error}", path.display());
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)?;
    println!("{}", path.display());
    Ok(())
}
