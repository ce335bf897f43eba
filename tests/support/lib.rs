//! What the black-box tests share: the scripted worker, as a command and behind a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hangar_config::{ModelSource, Profile};
use hangar_server::{NoModel, Workshop, limits};
use hangar_supervisor::{Cause, Launch, LoadOrder, WorkerCommand, WorkerHandle};

/// The built-in model's folder, for its tokenizer.
pub const POCKET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../worker/pocket/model");

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

/// Workers that live the lives of a script; of models, what is built in or in a folder is there.
#[derive(Debug)]
pub struct ScriptedWorkshop {
    default: WorkerHandle,
    launch: ScriptedLaunch,
}

impl ScriptedWorkshop {
    /// Makes the default profile's worker; needs a tokio runtime.
    pub fn new(launch: ScriptedLaunch, default: &Profile) -> Self {
        Self { default: spawn(&launch, default), launch }
    }

    /// The worker of the built-in model.
    pub fn default_worker(&self) -> WorkerHandle {
        self.default.clone()
    }
}

impl Workshop for ScriptedWorkshop {
    fn model_dir(&self, profile: &Profile) -> Result<PathBuf, NoModel> {
        match &profile.source {
            ModelSource::BuiltInPocket => Ok(POCKET.into()),
            ModelSource::Folder(folder) if folder.is_dir() => Ok(folder.clone()),
            ModelSource::Folder(_) | ModelSource::Repository(_) | ModelSource::Unnamed => {
                let what = "its model is not on this machine".to_owned();
                Err(NoModel { what, cure: "Download it".to_owned() })
            }
        }
    }

    fn worker(&self, profile: &Profile, _: &Path) -> WorkerHandle {
        match profile.source {
            ModelSource::BuiltInPocket => self.default.clone(),
            ModelSource::Folder(_) | ModelSource::Repository(_) | ModelSource::Unnamed => {
                spawn(&self.launch, profile)
            }
        }
    }
}

fn spawn(launch: &ScriptedLaunch, profile: &Profile) -> WorkerHandle {
    let order = LoadOrder {
        model_dir: "/nowhere".into(),
        context_window_tokens: profile.context_window_tokens,
        prefill_chunk_tokens: None,
        state_cache_bytes: 0,
    };
    WorkerHandle::spawn(limits(&profile.worker), order, Arc::new(launch.clone()))
}
