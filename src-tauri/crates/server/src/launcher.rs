//! How a worker is started: the pinned runtime, looked at anew each time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::SystemTime;

use hangar_config::{Home, ModelSource, Profile, WorkerSettings};
use hangar_protocol::WorkerFault;
use hangar_provision::{
    Expected, ProvisionError, Resources, Runtime, inspect_foreign, runtime, verify_pocket, worker_environment,
};
use hangar_supervisor::{Cause, Launch, Limits, LoadOrder, StallLimits, WorkerCommand};

/// From being asked to end to being killed.
const SHUTDOWN_GRACE_MS: u64 = 5_000;
/// From a cancel to being killed for not letting go.
const CANCEL_GRACE_MS: u64 = 10_000;
/// Silence of a worker that beats twice a second; long enough for a machine that swaps.
const SILENCE_MS: u64 = 30_000;

/// Starts workers with the managed runtime, or with a user's own Python where one is configured.
#[derive(Debug)]
pub struct RuntimeLauncher {
    resources: Resources,
    runtimes_dir: PathBuf,
    own_python: Option<PathBuf>,
    model: ModelSource,
    looked_at: Mutex<Option<LookedAt>>,
    /// Read once: a worker that is built anew meanwhile belongs to the next server, not to this one.
    expected: OnceLock<Expected>,
}

/// A user's own Python is asked by running it, which takes a while: once for each state of its files.
#[derive(Debug)]
struct LookedAt {
    changed: Changed,
    runtime: Runtime,
}

type Changed = [Option<SystemTime>; 2];

impl RuntimeLauncher {
    /// A launcher for this profile.
    pub fn new(resources: Resources, home: &Home, profile: &Profile) -> Self {
        Self {
            resources,
            runtimes_dir: home.runtimes_dir(),
            own_python: profile.worker.python_executable.clone(),
            model: profile.source.clone(),
            looked_at: Mutex::new(None),
            expected: OnceLock::new(),
        }
    }

    fn expected(&self) -> Result<&Expected, ProvisionError> {
        if let Some(expected) = self.expected.get() {
            return Ok(expected);
        }
        let read = Expected::read(&self.resources)?;
        Ok(self.expected.get_or_init(|| read))
    }

    fn runtime(&self) -> Result<Runtime, ProvisionError> {
        let Some(python) = &self.own_python else {
            let root = runtime::locate(&self.runtimes_dir, &self.resources)?;
            return self.expected()?.inspect(&root);
        };
        let changed = [changed_at(python), changed_at(&self.resources.pins_path())];
        let mut looked_at = self.looked_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = looked_at.as_ref()
            && known.changed == changed
        {
            return Ok(known.runtime.clone());
        }
        let runtime = inspect_foreign(python, self.expected()?)?;
        *looked_at = Some(LookedAt { changed, runtime: runtime.clone() });
        Ok(runtime)
    }
}

impl Launch for RuntimeLauncher {
    fn command(&self) -> Result<WorkerCommand, Cause> {
        if self.model == ModelSource::BuiltInPocket {
            verify_pocket(&self.resources).map_err(|error| cause_of(&error))?;
        }
        let runtime = self.runtime().map_err(|error| cause_of(&error))?;
        Ok(WorkerCommand {
            program: runtime.python.clone(),
            arguments: [
                "-I".into(),
                "-m".into(),
                "hangar_worker".into(),
                "--pins".into(),
                runtime.pins_path.clone().into_os_string(),
            ]
            .into(),
            environment: worker_environment(&runtime),
        })
    }
}

/// The limits of a worker under these settings.
pub fn limits(worker: &WorkerSettings) -> Limits {
    Limits {
        startup_timeout_ms: worker.startup_timeout_ms,
        request_timeout_ms: worker.request_timeout_ms,
        queue_max_wait_ms: worker.queue_max_wait_ms,
        queue_max_depth: worker.queue_max_depth,
        idle_unload_ms: worker.idle_unload_ms,
        max_consecutive_errors: worker.max_consecutive_errors,
        cooldown_ms: worker.cooldown_ms,
        shutdown_grace_ms: SHUTDOWN_GRACE_MS,
        cancel_grace_ms: CANCEL_GRACE_MS,
        silence_ms: SILENCE_MS,
        stall: StallLimits::within(worker.startup_timeout_ms, worker.request_timeout_ms),
    }
}

/// The model in this folder, as a worker is told to load it for a profile.
pub fn load_order(model_dir: &Path, profile: &Profile) -> LoadOrder {
    LoadOrder {
        model_dir: model_dir.to_owned(),
        context_window_tokens: profile.context_window_tokens,
        prefill_chunk_tokens: None,
        state_cache_bytes: profile.worker.state_cache_bytes,
    }
}

fn cause_of(error: &ProvisionError) -> Cause {
    let cure = error.hint().unwrap_or_else(|| "run `hangar runtime repair`".to_owned());
    if matches!(error, ProvisionError::RuntimeMissing { .. } | ProvisionError::WorkerWheelMissing { .. }) {
        return Cause::RuntimeMissing { cure };
    }
    if let ProvisionError::ModelFileWrong { file, expected, found } = error {
        let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let what = format!("expected {expected}, found {found}");
        return Cause::Load(WorkerFault::ModelDamaged { file, what });
    }
    Cause::RuntimeUnverified { what: error.to_string(), cure }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|known| known.modified()).ok()
}
