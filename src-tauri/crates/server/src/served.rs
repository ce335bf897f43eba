//! The profiles that are served: each with a worker, a queue and a state of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hangar_config::{Backend, Profile};
use hangar_gemma::Thinking;
use hangar_provision::ModelTraits;
use hangar_supervisor::{Snapshot, WorkerHandle};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::ApiError;
use crate::launcher::limits;
use crate::offer::{Offer, Towers};
use crate::pace::Pace;
use crate::tokens::TokenCounter;

/// Pages look often, and a missing model takes some files to look for.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Finds a profile's model and makes its worker.
pub trait Workshop: std::fmt::Debug + Send + Sync + 'static {
    /// The folder of the model.
    ///
    /// # Errors
    /// [`NoModel`] says why there is none, and what to do.
    fn model_dir(&self, profile: &Profile) -> Result<PathBuf, NoModel>;

    /// A worker for the model in this folder; no process is started before the first request.
    fn worker(&self, profile: &Profile, model_dir: &Path) -> WorkerHandle;
}

/// A profile's model is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoModel {
    /// What is missing.
    pub what: String,
    /// What to do.
    pub cure: String,
}

/// One profile with its worker; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    profile: Arc<Profile>,
    workshop: Arc<dyn Workshop>,
    bench: watch::Sender<Option<Bench>>,
    pace: Pace,
    live_sessions: AtomicU32,
    /// The last look for a model that was not there.
    missed: Mutex<Option<(Instant, Unavailable)>>,
}

/// What there is once the model was found.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// The worker.
    pub(crate) worker: WorkerHandle,
    /// Counts its prompts.
    pub(crate) tokens: Arc<TokenCounter>,
    /// How this model is told not to think.
    pub(crate) thinking_off: Thinking,
    /// What its files say it can take in.
    towers: Option<Towers>,
}

/// Why a profile cannot answer at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// This build has no such backend.
    Backend(Backend),
    /// Its model is not on this machine.
    Model(NoModel),
}

/// One profile at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Look<'a> {
    /// What was configured.
    pub(crate) profile: &'a Profile,
    /// Its worker.
    pub(crate) snapshot: Arc<Snapshot>,
    /// What its model can take in.
    pub(crate) towers: Towers,
    /// Why it cannot answer.
    pub(crate) unavailable: Option<Unavailable>,
    /// Sessions that are not lost.
    pub(crate) live_sessions: u32,
}

impl Served {
    /// A profile whose worker is made once its model is there: at once, or when it is next looked for.
    pub(crate) fn new(profile: Profile, workshop: Arc<dyn Workshop>) -> Self {
        let shared = Shared {
            profile: Arc::new(profile),
            workshop,
            bench: watch::Sender::new(None),
            pace: Pace::default(),
            live_sessions: AtomicU32::new(0),
            missed: Mutex::default(),
        };
        let served = Self { shared: Arc::new(shared) };
        // Where it is not there yet, whoever asks is told.
        drop(served.bench());
        served
    }

    /// What was configured.
    pub(crate) fn profile(&self) -> &Profile {
        &self.shared.profile
    }

    /// Its own name.
    pub(crate) fn id(&self) -> &str {
        self.shared.profile.id.as_str()
    }

    /// What it takes in, as far as is known now.
    pub(crate) fn offer(&self) -> Offer {
        Offer::new(Arc::clone(&self.shared.profile), self.towers(&self.snapshot()))
    }

    fn towers(&self, snapshot: &Snapshot) -> Towers {
        let files = self.known_bench().and_then(|bench| bench.towers);
        let loaded = snapshot.model.as_ref().map(|model| Towers { image: model.image, audio: model.audio });
        Towers::known(self.profile(), loaded, files)
    }

    /// How long its answers take.
    pub(crate) fn pace(&self) -> &Pace {
        &self.shared.pace
    }

    /// Says how many sessions there are.
    pub(crate) fn has_sessions(&self, count: u32) {
        self.shared.live_sessions.store(count, Ordering::Relaxed);
    }

    /// Worker and counter; made now where the model has been found since.
    pub(crate) fn bench(&self) -> Result<Bench, Unavailable> {
        if let Some(bench) = self.known_bench() {
            return Ok(bench);
        }
        let found = self.find();
        let missed = found.as_ref().err().map(|why| (Instant::now(), why.clone()));
        *self.shared.missed.lock().unwrap_or_else(PoisonError::into_inner) = missed;
        let model_dir = found?;
        let made = self.make(model_dir);
        // Two that make it at once use the first; the other one's worker has no process and ends.
        self.shared.bench.send_if_modified(|bench| {
            let is_new = bench.is_none();
            bench.get_or_insert_with(|| made.clone());
            is_new
        });
        Ok(self.known_bench().unwrap_or(made))
    }

    fn find(&self) -> Result<PathBuf, Unavailable> {
        let profile = self.profile();
        match profile.backend {
            Backend::MlxVlm => self.shared.workshop.model_dir(profile).map_err(Unavailable::Model),
            Backend::DiffusionGemma => Err(Unavailable::Backend(profile.backend)),
        }
    }

    fn make(&self, model_dir: PathBuf) -> Bench {
        let worker = self.shared.workshop.worker(self.profile(), &model_dir);
        let traits = ModelTraits::read(&model_dir);
        let thinking_off = thinking_off(traits);
        let towers = traits.map(|traits| Towers { image: traits.sees, audio: traits.hears });
        Bench { worker, tokens: Arc::new(TokenCounter::new(model_dir)), thinking_off, towers }
    }

    /// Worker and counter where they were made before.
    pub(crate) fn known_bench(&self) -> Option<Bench> {
        self.shared.bench.borrow().clone()
    }

    /// Tells when worker and counter are made.
    pub(crate) fn benches(&self) -> watch::Receiver<Option<Bench>> {
        self.shared.bench.subscribe()
    }

    /// The latest look at the worker; one that was never made looks unloaded.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.known_bench().map_or_else(
            || Arc::new(Snapshot::unloaded(&limits(&self.profile().worker))),
            |bench| bench.worker.snapshot(),
        )
    }

    /// Everything at this moment; for a missing model a few files are looked at now and then.
    pub(crate) fn look(&self) -> Look<'_> {
        let unavailable = match self.known_bench() {
            Some(_) => None,
            None => self.recently_missed().or_else(|| self.bench().err()),
        };
        let snapshot = self.snapshot();
        let live_sessions = self.shared.live_sessions.load(Ordering::Relaxed);
        let towers = self.towers(&snapshot);
        Look { profile: self.profile(), towers, snapshot, unavailable, live_sessions }
    }

    fn recently_missed(&self) -> Option<Unavailable> {
        let missed = self.shared.missed.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, why) = missed.as_ref()?;
        (at.elapsed() < LOOK_AGAIN_AFTER).then(|| why.clone())
    }
}

/// The large models of the family are shown an empty thought, as their own template does.
fn thinking_off(traits: Option<ModelTraits>) -> Thinking {
    match traits {
        Some(ModelTraits { has_layer_embeddings: false, .. }) => Thinking::OffByEmptyThought,
        Some(ModelTraits { has_layer_embeddings: true, .. }) | None => Thinking::Off,
    }
}

impl Look<'_> {
    /// What is in the way of any request, and what to do about it.
    pub(crate) fn hindrance(&self) -> Option<String> {
        self.unavailable.as_ref().map(|why| match why {
            Unavailable::Backend(backend) => {
                format!("this build has no backend {}: use another profile", backend.word())
            }
            Unavailable::Model(NoModel { what, cure }) => format!("{what}: {cure}"),
        })
    }
}

impl Unavailable {
    /// As an error for a client that asked for this profile.
    pub(crate) fn error(self, profile: &Profile) -> ApiError {
        match self {
            Self::Backend(backend) => {
                ApiError::UnsupportedBackend { model: profile.model_id.clone(), backend: backend.word() }
            }
            Self::Model(NoModel { what, cure }) => ApiError::WorkerFailed { what, cure },
        }
    }
}

/// The served profiles: never empty, the default first.
#[derive(Clone, Debug)]
pub(crate) struct Roster {
    default: Served,
    others: Arc<[Served]>,
}

impl Roster {
    /// All profiles of the settings.
    pub(crate) fn new(profiles: &hangar_config::Profiles, workshop: &Arc<dyn Workshop>) -> Self {
        let mut all = profiles.iter().map(|profile| Served::new(profile.clone(), Arc::clone(workshop)));
        let default = all
            .next()
            .unwrap_or_else(|| Served::new(profiles.default_profile().clone(), Arc::clone(workshop)));
        Self { default, others: all.collect() }
    }

    /// The one that answers requests without a name.
    pub(crate) fn default(&self) -> &Served {
        &self.default
    }

    /// Begins to load every model that is not to wait for its first request.
    pub(crate) fn load_the_eager(&self) {
        for served in self.iter().filter(|served| !served.profile().worker.lazy_load) {
            match served.bench() {
                Ok(bench) => drop(tokio::spawn(async move {
                    if let Err(error) = bench.worker.restart().await {
                        tracing::warn!(%error, "a model was not loaded at the start");
                    }
                })),
                Err(_) => tracing::warn!(profile = served.id(), "a model to load at the start is not there"),
            }
        }
    }

    /// All of them, the default first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Served> {
        std::iter::once(&self.default).chain(self.others.iter())
    }

    /// The one that is meant: by its own name, the name it is served under, or its repository; none is the
    /// default.
    ///
    /// # Errors
    /// [`ApiError::ModelNotFound`] names those there are.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<&Served, ApiError> {
        let Some(name) = name else { return Ok(&self.default) };
        let by = |means: fn(&Profile, &str) -> bool| self.iter().find(|served| means(served.profile(), name));
        by(|profile, name| profile.id.as_str() == name)
            .or_else(|| by(|profile, name| profile.model_id == name))
            .or_else(|| {
                by(|profile, name| profile.repository.as_ref().is_some_and(|known| known.as_str() == name))
            })
            .ok_or_else(|| {
                let known: Vec<&str> = self.iter().map(|served| served.profile().model_id.as_str()).collect();
                ApiError::ModelNotFound { asked: name.chars().take(100).collect(), known: known.join(", ") }
            })
    }

    /// Ends every worker for good; returns when all processes are reaped.
    pub(crate) async fn shutdown(&self) {
        let benches = self.iter().filter_map(Served::known_bench);
        futures::future::join_all(benches.map(|bench| async move { bench.worker.shutdown().await })).await;
    }
}
