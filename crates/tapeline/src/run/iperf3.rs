//! Jobs with iperf3's habits.

use std::path::{Path, PathBuf};
use std::{fs, process};

use tapeline_base::ExitCode;
use tapeline_dialect::{Iperf3Client, run_iperf3_client};
use tapeline_sys::{InheritedSockets, is_running, reason, run_on_processor};

use super::client::perform;
use super::server::serve;
use super::setup::choose_cpu;
use super::supervisor::Supervisor;
use super::{run_info, signals};
use crate::message::{self, CliMessage};
use crate::plan::{Iperf3Job, Iperf3Task};
use crate::presentation::TextStyle;

/// Does the job.
pub(crate) fn iperf3(job: &Iperf3Job) -> ExitCode {
    match &job.task {
        Iperf3Task::Client(plan) => client(plan, job),
        Iperf3Task::Server(plan, life) => {
            let supervisor = Supervisor::none();
            let sockets = InheritedSockets::default();
            serve(plan, &job.presentation, *life, supervisor, sockets, || {
                prepare(plan.affinity, job)
            })
        }
    }
}

fn client(plan: &Iperf3Client, job: &Iperf3Job) -> ExitCode {
    let _pid_file = match prepare(plan.affinity, job) {
        Ok(file) => file,
        Err(code) => return code,
    };
    let (presentation, repeat) = (&job.presentation, job.repeat.as_ref());
    let run_info = run_info::iperf3_client(plan, presentation);
    let interval = plan.interval.is_some();
    perform(
        presentation,
        interval,
        &run_info,
        repeat,
        |reporter, interruption| run_iperf3_client(plan, reporter, interruption),
    )
}

/// Chooses the CPU and writes the process id, before there are threads.
fn prepare(affinity: Option<u32>, job: &Iperf3Job) -> Result<Option<PidFile>, ExitCode> {
    signals::include_hangup()
        .map_err(|error| fail(&format!("signals cannot be caught: {}", reason(&error))))?;
    if let Some(cpu) = affinity {
        if !matches!(job.presentation.style, TextStyle::Iperf3(_)) {
            choose_cpu(affinity)?;
        } else if let Err(error) = run_on_processor(cpu) {
            return Err(fail(&format!(
                "unable to set CPU affinity: {}",
                reason(&error)
            )));
        }
    }
    let Some(path) = &job.pid_file else {
        return Ok(None);
    };
    PidFile::create(path)
        .map(Some)
        .map_err(|why| fail(&format!("unable to write PID file: {why}")))
}

fn fail(what: &str) -> ExitCode {
    // Without standard error the exit code says the same.
    let _ = message::print(&[CliMessage::err(format!("iperf3: error - {what}"))]);
    ExitCode::Failure
}

/// A file that holds the process id while the process runs.
#[derive(Debug)]
pub(crate) struct PidFile(PathBuf);

impl PidFile {
    /// Writes it, unless it names a process that runs.
    fn create(path: &Path) -> Result<Self, String> {
        let before = fs::read_to_string(path).ok();
        let before = before.and_then(|text| text.trim().parse().ok());
        if let Some(other) = before.filter(|other| *other != process::id() && is_running(*other)) {
            return Err(format!(
                "{} is that of process {other}, which runs",
                path.display()
            ));
        }
        fs::write(path, process::id().to_string())
            .map(|()| Self(path.to_owned()))
            .map_err(|error| reason(&error))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_while_its_owner_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pid");
        let file = PidFile::create(&path).expect("a file");
        let text = fs::read_to_string(&path).expect("its text");
        assert_eq!(text, process::id().to_string());
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_a_running_process_is_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("pid");
        fs::write(&path, "1").expect("written");
        let why = PidFile::create(&path).expect_err("somebody else's");
        assert!(why.ends_with("is that of process 1, which runs"), "{why}");
        fs::write(&path, "nobody").expect("written");
        assert!(PidFile::create(&path).is_ok());
        let missing = PidFile::create(Path::new("/no/such/directory/pid"));
        assert_eq!(missing.expect_err("no place"), "No such file or directory");
    }
}
