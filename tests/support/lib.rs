//! What the black-box tests share: a launcher of the scripted worker.

use std::path::{Path, PathBuf};

use hangar_supervisor::{Cause, Launch, WorkerCommand};

/// Launches the scripted worker with a script file.
#[derive(Clone, Debug)]
pub struct ScriptedLaunch {
    /// The `fake-worker` executable.
    pub program: PathBuf,
    /// File with an array of lives.
    pub script: PathBuf,
}

impl ScriptedLaunch {
    /// Writes the lives into `folder` and launches `program` with them.
    ///
    /// # Errors
    /// What the system said when the script cannot be written.
    pub fn new(
        program: impl Into<PathBuf>,
        folder: &Path,
        lives: &serde_json::Value,
    ) -> std::io::Result<Self> {
        let script = folder.join("script.json");
        std::fs::write(&script, lives.to_string())?;
        Ok(Self { program: program.into(), script })
    }
}

impl Launch for ScriptedLaunch {
    fn command(&self) -> Result<WorkerCommand, Cause> {
        Ok(WorkerCommand {
            program: self.program.clone(),
            arguments: vec![self.script.clone().into_os_string()],
            environment: Vec::new(),
        })
    }
}
