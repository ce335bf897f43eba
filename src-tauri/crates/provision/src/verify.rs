//! The worker's own comparison of its runtime with the pins, as a report.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Environment, ProvisionError, program, worker};

const LIMIT: Duration = Duration::from_secs(60);
/// Probes import the engine and run small models, compiling their kernels where they are new.
const PROBES_LIMIT: Duration = Duration::from_secs(600);

/// Everything compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Whether every row is as it must be.
    pub ok: bool,
    /// One row for each thing compared.
    pub rows: Vec<Row>,
}

/// One thing compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What was compared.
    pub name: String,
    /// Whether it is as it must be.
    pub ok: bool,
    /// What it must be.
    pub expected: String,
    /// What it is.
    pub found: String,
    /// What to do; empty when it is as it must be.
    pub cure: String,
}

/// Has a Python compare itself with the pins, in a worker's environment; with probes it also computes.
///
/// # Errors
/// [`ProvisionError`], with each way of not getting a report kept apart.
pub fn verify(python: &Path, pins: &Path, probes: bool) -> Result<Report, ProvisionError> {
    let limit = if probes { PROBES_LIMIT } else { LIMIT };
    verify_within(python, pins, probes, limit, &Environment::of_process())
}

impl Report {
    /// The report as a table for a terminal, columns aligned, a line break after every row.
    pub fn table(&self) -> String {
        let header = ["", "what", "found", "expected", "cure"].map(str::to_owned);
        let rows = self.rows.iter().map(|row| {
            let state = if row.ok { "ok" } else { "FAIL" };
            [state.into(), row.name.clone(), row.found.clone(), row.expected.clone(), row.cure.clone()]
        });
        let lines: Vec<[String; 5]> = [header].into_iter().chain(rows).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        let mut text = String::new();
        for line in &lines {
            let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// The rows that are not as they must be, in one line; nothing when all are.
    pub fn differences(&self) -> Option<String> {
        let wrong = self.rows.iter().filter(|row| !row.ok);
        let wrong: Vec<String> =
            wrong.map(|row| format!("{} is {}, not {}", row.name, row.found, row.expected)).collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }
}

pub(crate) fn verify_within(
    python: &Path,
    pins: &Path,
    probes: bool,
    limit: Duration,
    environment: &Environment,
) -> Result<Report, ProvisionError> {
    let mut command = Command::new(python);
    command.args(["-I", "-m", "hangar_worker.verify", "--json", "--pins"]).arg(pins);
    if probes {
        command.arg("--probes");
    }
    command.env_clear().envs(worker::scrubbed(worker::openblas().as_deref(), environment));
    let ended = program::run(&mut command, Some(limit), &mut |_| ())?;
    let program = python.to_owned();
    if !ended.status.success() {
        return Err(ProvisionError::ProgramFailed { program, status: ended.status_text(), said: ended.said });
    }
    let unreadable = |what: String| ProvisionError::AnswerUnreadable { program: python.to_owned(), what };
    let report: Report =
        serde_json::from_slice(&ended.stdout).map_err(|error| unreadable(error.to_string()))?;
    if report.rows.is_empty() {
        return Err(unreadable("it compares nothing".into()));
    }
    if report.ok != report.rows.iter().all(|row| row.ok) {
        return Err(unreadable("its verdict differs from its rows".into()));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::tests::script;

    const ROWS: &str = r#"[{"name":"python","ok":true,"expected":"3.11 to 3.14","found":"3.12.1","cure":""},
        {"name":"mlx_vlm/a.py","ok":false,"expected":"patched","found":"edited","cure":"run `hangar runtime repair`"}]"#;

    /// A folder with a `python` that runs this script.
    fn program(body: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        script(&folder.path().join("python"), body);
        folder
    }

    fn asked(folder: &Path, limit: Duration) -> Result<Report, ProvisionError> {
        let environment = Environment::default();
        verify_within(&folder.join("python"), Path::new("/pins.json"), true, limit, &environment)
    }

    fn answered(body: &str) -> Result<Report, ProvisionError> {
        asked(program(body).path(), Duration::from_secs(10))
    }

    fn printed(json: &str) -> String {
        format!("cat <<'ANSWER'\n{json}\nANSWER")
    }

    #[test]
    fn a_report_is_an_aligned_table() {
        let report = answered(&printed(&format!(r#"{{"ok":false,"rows":{ROWS}}}"#))).unwrap();
        assert_eq!(
            report.table(),
            "      what          found   expected      cure\n\
             ok    python        3.12.1  3.11 to 3.14\n\
             FAIL  mlx_vlm/a.py  edited  patched       run `hangar runtime repair`\n"
        );
        assert_eq!(report.differences().unwrap(), "mlx_vlm/a.py is edited, not patched");
    }

    #[test]
    fn the_command_line_and_the_environment_are_a_workers() {
        let body = r#"test "$*" = "-I -m hangar_worker.verify --json --pins /pins.json --probes" || exit 9
            test "$HF_HUB_OFFLINE" = 1 && test -z "$HOME" || exit 8
        "#;
        let report = answered(&(body.to_owned() + &printed(&format!(r#"{{"ok":false,"rows":{ROWS}}}"#))));
        assert!(!report.unwrap().ok);
    }

    #[test]
    fn ways_of_failing_are_kept_apart() {
        let failed = answered("echo 'No module named hangar_worker' >&2; exit 1").unwrap_err();
        assert!(matches!(&failed, ProvisionError::ProgramFailed { said, .. } if said.contains("No module")));
        for nonsense in ["no json", "{\"ok\":true,\"rows\":[]}", &format!("{{\"ok\":true,\"rows\":{ROWS}}}")]
        {
            let error = answered(&printed(nonsense)).unwrap_err();
            assert!(matches!(error, ProvisionError::AnswerUnreadable { .. }), "{nonsense}: {error}");
        }
        let missing = verify(Path::new("/nowhere/python"), Path::new("/pins.json"), false).unwrap_err();
        assert!(matches!(missing, ProvisionError::ProgramMissing { .. }));
    }

    #[test]
    fn a_probe_that_hangs_is_ended() {
        let folder = program("exec sleep 60");
        let error = asked(folder.path(), Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, ProvisionError::ProgramTimedOut { .. }), "{error}");
    }
}
