//! Profiles: one model with the way it is served.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::modality::Modalities;
use crate::value::{ProfileId, RepositoryId};

/// One model with the way it is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its own name, as in `/profiles/{id}`.
    pub id: ProfileId,
    /// Name clients send as `model`.
    pub model_id: String,
    /// Where it is published.
    pub repository: Option<RepositoryId>,
    /// Where its files are.
    pub source: ModelSource,
    /// What runs it.
    pub backend: Backend,
    /// What it takes in.
    pub modalities: Modalities,
    /// Window the model was made for, in tokens; none where nobody said.
    pub native_window_tokens: Option<u32>,
    /// Largest prompt plus answer, in tokens; never over the native window.
    pub context_window_tokens: u32,
    /// Most tokens of an answer when the client names no limit; never over the window.
    pub max_output_tokens: u32,
    /// How tokens are chosen when the client does not say.
    pub sampling: SamplingSettings,
    /// How keys and values are kept.
    pub kv_cache: KvCacheSettings,
    /// How a diffusion model is run.
    pub diffusion: DiffusionSettings,
    /// The worker that runs it.
    pub worker: WorkerSettings,
    /// Sessions that keep their state in the worker.
    pub sessions: SessionSettings,
    /// Memory it needs when loaded.
    pub estimate: Estimate,
    /// Importance when memory is short: a lower number is more important.
    pub priority: u32,
}

/// Where a model's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// The self-test model that comes with the program.
    BuiltInPocket,
    /// A folder of the user's.
    Folder(PathBuf),
    /// A published repository, looked for in the Hugging Face cache.
    Repository(RepositoryId),
    /// Nowhere: nothing is published and no folder was named.
    Unnamed,
}

/// What runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Backend {
    /// mlx-vlm, token by token.
    #[serde(rename = "mlx_vlm_turboquant")]
    MlxVlm,
    /// mlx-vlm's diffusion of whole canvases.
    #[serde(rename = "mlx_vlm_diffusion_gemma")]
    DiffusionGemma,
}

impl Backend {
    /// The word for it in configuration and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::MlxVlm => "mlx_vlm_turboquant",
            Self::DiffusionGemma => "mlx_vlm_diffusion_gemma",
        }
    }
}

/// How tokens are chosen when the client does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingSettings {
    /// 0 to 2; 0 takes the likeliest token.
    pub temperature: f32,
    /// Nucleus mass, over 0 and at most 1.
    pub top_p: f32,
}

/// How keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KvCacheSettings {
    /// Whether they are quantised.
    pub quantised: bool,
    /// Bits a value, 1 to 8 in halves.
    pub bits: f32,
    /// Values that share a scale.
    pub group_size: u32,
    /// Tokens before which nothing is quantised.
    pub quantised_start_tokens: u32,
    /// How.
    pub scheme: QuantScheme,
}

/// How keys and values are quantised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum QuantScheme {
    /// Rotated and with a codebook.
    TurboQuant,
    /// Evenly spaced.
    Uniform,
}

/// How a diffusion model is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffusionSettings {
    /// Most denoising steps of a canvas.
    pub max_denoising_steps: u32,
    /// Which tokens of a canvas are kept in a step.
    pub sampler: DiffusionSampler,
    /// Prompt tokens read at once.
    pub prefill_step_tokens: u32,
}

/// Which tokens of a canvas are kept in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum DiffusionSampler {
    /// Those below a bound of entropy.
    EntropyBound,
    /// Those above a threshold of confidence.
    ConfidenceThreshold,
}

/// The worker and its limits; durations in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// From spawn to a loaded model.
    pub startup_timeout_ms: u64,
    /// From dispatch to the end of an answer.
    pub request_timeout_ms: u64,
    /// Longest wait for the answer to a probe.
    pub probe_timeout_ms: u64,
    /// Whether the first request loads the model; else it is loaded at start.
    pub lazy_load: bool,
    /// Longest wait in the queue.
    pub queue_max_wait_ms: u64,
    /// Requests that may wait behind the active one.
    pub queue_max_depth: u32,
    /// Idle time after which the worker is unloaded; none keeps it.
    pub idle_unload_ms: Option<u64>,
    /// What the state of earlier prompts may take; 0 keeps none.
    pub state_cache_bytes: u64,
    /// Failures in a row from which each start waits for `cooldown_ms`.
    pub max_consecutive_errors: u32,
    /// The cool-down.
    pub cooldown_ms: u64,
    /// A user's own interpreter instead of the managed runtime; verified, never modified.
    pub python_executable: Option<PathBuf>,
}

/// Sessions that keep their state in the worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionSettings {
    /// Life after the last turn, in seconds.
    pub ttl_s: f64,
    /// Most turns.
    pub max_turns: u32,
    /// Most tokens of context.
    pub max_context_tokens: u32,
    /// Most seconds of sound in a turn.
    pub audio_seconds_per_turn: f64,
    /// What a session may ask for.
    pub most: SessionLimits,
    /// Time between looks for expired ones, in seconds.
    pub reaper_interval_s: f64,
    /// Most of them at once.
    pub max_sessions: u32,
    /// Whether they outlive their worker.
    pub durable: bool,
}

/// What a session may ask for at its creation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionLimits {
    /// Life after the last turn, in seconds.
    pub ttl_s: f64,
    /// Turns.
    pub turns: u32,
    /// Seconds of sound in a turn.
    pub audio_seconds_per_turn: f64,
}

/// Memory a loaded model needs, in GiB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimate {
    /// Seen on a machine, at its peak.
    Measured {
        /// The figure.
        gib: f64,
    },
    /// Told by the user.
    Given {
        /// The figure.
        gib: f64,
    },
    /// Never measured: to be computed from the files and the window.
    Computed {
        /// Size of the weights alone, where it is known before the files are there.
        weights_gib: Option<f64>,
    },
}

/// All profiles, in the order they are shown in: never empty, and one of them is the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Profiles {
    default: Profile,
    others: Vec<Profile>,
}

impl Profiles {
    /// The default first, then the others; the caller has seen to it that no name means two of them.
    pub fn new(default: Profile, others: Vec<Profile>) -> Self {
        Self { default, others }
    }

    /// The one that serves requests without `model`.
    pub fn default_profile(&self) -> &Profile {
        &self.default
    }

    /// The same, to be changed.
    pub fn default_profile_mut(&mut self) -> &mut Profile {
        &mut self.default
    }

    /// All of them, the default first.
    pub fn iter(&self) -> impl Iterator<Item = &Profile> {
        std::iter::once(&self.default).chain(&self.others)
    }

    /// The one a client means: by its own name, by the name it is served under, or by its repository.
    pub fn find(&self, name: &str) -> Option<&Profile> {
        let by = |means: fn(&Profile, &str) -> bool| self.iter().find(|profile| means(profile, name));
        by(|profile, name| profile.id.as_str() == name)
            .or_else(|| by(|profile, name| profile.model_id == name))
            .or_else(|| {
                by(|profile, name| profile.repository.as_ref().is_some_and(|known| known.as_str() == name))
            })
    }
}
