//! One layer as it is written: every key optional, names as the earlier service wrote them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::modality::Modality;
use crate::profile::{Backend, DiffusionSampler, QuantScheme};
use crate::value::{
    AllowedHost, ApiKey, Bits, Gibibytes, LogFilter, MimeType, Name, PathText, ProfileId, RepositoryId,
    Seconds, Share, Temperature, Whole,
};

/// A week, the longest of all durations.
const WEEK_MS: u64 = 604_800_000;

/// A number of tokens.
pub type Tokens = Whole<1, 16_777_216>;
/// A duration in milliseconds.
pub type Milliseconds = Whole<1, WEEK_MS>;
/// A port that needs no privilege.
pub type Port = Whole<1024, 65_535>;

/// What can be written where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// JSON path; `*` stands for a name of the user's.
    pub path: String,
    /// Whether further keys stand below it.
    pub is_object: bool,
}

/// Lists the keys of a type.
pub trait Known {
    /// Adds the key at `path` and those below it.
    fn known(path: &str, keys: &mut Vec<KnownKey>);
}

impl<T> Known for Option<T> {
    fn known(path: &str, keys: &mut Vec<KnownKey>) {
        keys.push(KnownKey { path: path.to_owned(), is_object: false });
    }
}

impl Known for BTreeMap<ProfileId, ProfileLayer> {
    fn known(path: &str, keys: &mut Vec<KnownKey>) {
        keys.push(KnownKey { path: path.to_owned(), is_object: true });
        ProfileLayer::known(&format!("{path}.*"), keys);
    }
}

macro_rules! layer {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $key:literal $field:ident : $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
        pub struct $name {
            $($(#[$field_doc])* #[serde(rename = $key)] pub $field: $kind),*
        }

        impl Known for $name {
            fn known(path: &str, keys: &mut Vec<KnownKey>) {
                keys.push(KnownKey { path: path.to_owned(), is_object: true });
                $({
                    let below = if path.is_empty() { $key.to_owned() } else { format!("{path}.{}", $key) };
                    <$kind as Known>::known(&below, keys);
                })*
            }
        }
    };
}

layer! {
    /// A whole layer: `config/default.json` or `local.json`.
    Layer {
        /// Where an editor finds this schema; Hangar does not look at it.
        "$schema" schema: Option<String>,
        /// Name of the profile that serves requests without `model`.
        "defaultProfile" default_profile: Option<ProfileId>,
        /// The listener, and who may speak to it.
        "server" server: Server,
        /// The model. In `local.json`, `id`, `path` or `repo` here define one more profile, the default.
        "model" model: Model,
        /// What is taken in besides text.
        "modalities" modalities: Modalities,
        /// Memory shared with other services of this machine.
        "governor" governor: Governor,
        /// The worker and its limits.
        "worker" worker: Worker,
        /// Sessions that keep their state in the worker.
        "sessions" sessions: Sessions,
        /// What is logged.
        "logging" logging: Logging,
        /// Changes to shipped profiles, and profiles of your own, by name.
        "profiles" profiles: BTreeMap<ProfileId, ProfileLayer>,
    }
}
layer! {
    /// One profile: what differs from the keys of the same name outside.
    ProfileLayer {
        /// The model.
        "model" model: Model,
        /// What is taken in besides text.
        "modalities" modalities: Modalities,
        /// This model's place in the memory shared with other services.
        "governor" governor: ProfileGovernor,
        /// The worker and its limits.
        "worker" worker: Worker,
        /// Sessions that keep their state in the worker.
        "sessions" sessions: Sessions,
    }
}
layer! {
    /// `server.*`
    Server {
        /// Address to listen on. Anything but loopback needs allowedHosts and apiKey.
        "host" host: Option<String>,
        /// Port to listen on, and no other; without it 4017 or the next free one.
        "port" port: Option<Port>,
        /// Names, with or without port, that callers may use for this server besides those of loopback.
        "allowedHosts" allowed_hosts: Option<Vec<AllowedHost>>,
        /// Key that callers must send as `Authorization: Bearer`, everywhere but at /health.
        "apiKey" api_key: Option<ApiKey>,
        /// Whether admin routes answer callers on this machine only.
        "adminLocalOnly" admin_local_only: Option<bool>,
        /// Largest request body in MiB.
        "maxBodyMb" max_body_mb: Option<Whole<1, 1024>>,
    }
}
layer! {
    /// `model.*`
    Model {
        /// Name clients send as `model`.
        "id" id: Option<Name>,
        /// Folder of the model; `~/` is your home, `./` the folder of this file. `owner/name` means a repository.
        "path" path: Option<PathText>,
        /// Repository of the Hugging Face hub whose download is used when there is no path.
        "repo" repository: Option<RepositoryId>,
        /// Window the model was made for; the context window never exceeds it.
        "nativeWindowTokens" native_window_tokens: Option<Tokens>,
        /// What the model can take, as published; without it the loaded model says.
        "inputs" inputs: Option<Vec<Modality>>,
        /// Size of the weights in GiB, where the memory of the loaded model was never measured.
        "weightsGb" weights_gb: Option<Gibibytes>,
        /// Largest prompt plus answer.
        "contextWindowTokens" context_window_tokens: Option<Whole<2, 16_777_216>>,
        /// Most tokens of an answer when the client names no limit.
        "maxOutputTokens" max_output_tokens: Option<Tokens>,
        /// How tokens are chosen when the client does not say.
        "sampling" sampling: Sampling,
        /// How keys and values are kept.
        "kvCache" kv_cache: KvCache,
        /// How a diffusion model is run.
        "diffusion" diffusion: Diffusion,
    }
}
layer! {
    /// `model.sampling.*`
    Sampling {
        /// 0 takes the likeliest token.
        "temperature" temperature: Option<Temperature>,
        /// Nucleus mass.
        "topP" top_p: Option<Share>,
    }
}
layer! {
    /// `model.kvCache.*`
    KvCache {
        /// Whether keys and values are quantised.
        "enabled" enabled: Option<bool>,
        /// Bits a value.
        "bits" bits: Option<Bits>,
        /// Values that share a scale.
        "groupSize" group_size: Option<Whole<1, 1024>>,
        /// Tokens before which nothing is quantised.
        "quantizedKvStart" quantized_kv_start: Option<Whole<0, 16_777_216>>,
        /// How.
        "quantScheme" quant_scheme: Option<QuantScheme>,
    }
}
layer! {
    /// `model.diffusion.*`
    Diffusion {
        /// Most denoising steps of a canvas.
        "max_denoising_steps" max_denoising_steps: Option<Whole<1, 1024>>,
        /// Which tokens of a canvas are kept in a step.
        "diffusion_sampler" diffusion_sampler: Option<DiffusionSampler>,
        /// Prompt tokens read at once.
        "prefill_step_size" prefill_step_size: Option<Whole<1, 65_536>>,
    }
}
layer! {
    /// `modalities.*`
    Modalities {
        /// Written text.
        "text" text: ModalityKeys,
        /// Pictures.
        "image" image: ModalityKeys,
        /// Sound.
        "audio" audio: AudioKeys,
        /// Moving pictures; no model takes them yet.
        "video" video: ModalityKeys,
        /// Documents; no model takes them yet.
        "document" document: ModalityKeys,
        /// Whether a part of a kind that is not taken refuses the request; else it is left out.
        "strictCapabilityCheck" strict_capability_check: Option<bool>,
    }
}
layer! {
    /// `modalities.text.*` and its siblings
    ModalityKeys {
        /// Whether this kind is taken.
        "enabled" enabled: Option<bool>,
        /// Most parts of this kind in a request.
        "maxInputs" max_inputs: Option<Whole<1, 1024>>,
        /// Most MiB of one part.
        "maxBytesMb" max_bytes_mb: Option<Whole<1, 1024>>,
        /// Types taken.
        "allowedMimeTypes" allowed_mime_types: Option<Vec<MimeType>>,
        /// How parts arrive; there is one way.
        "transport" transport: Option<Vec<Transport>>,
    }
}
layer! {
    /// `modalities.audio.*`
    AudioKeys {
        /// Whether sound is taken.
        "enabled" enabled: Option<bool>,
        /// Most clips in a request.
        "maxInputs" max_inputs: Option<Whole<1, 1024>>,
        /// Most MiB of one clip.
        "maxBytesMb" max_bytes_mb: Option<Whole<1, 1024>>,
        /// Most seconds of sound in a request; a second takes 25 tokens of the window.
        "maxSeconds" max_seconds: Option<Whole<1, 36_000>>,
        /// Types taken.
        "allowedMimeTypes" allowed_mime_types: Option<Vec<MimeType>>,
        /// How clips arrive; there is one way.
        "transport" transport: Option<Vec<Transport>>,
        /// What sound is made into before the model hears it.
        "transcode" transcode: TranscodeKeys,
    }
}
layer! {
    /// `modalities.audio.transcode.*`
    TranscodeKeys {
        /// Whether other formats than WAV are decoded.
        "enabled" enabled: Option<bool>,
        /// Format made; there is one.
        "targetFormat" target_format: Option<TargetFormat>,
        /// Samples a second; Gemma 4 hears 16,000.
        "sampleRateHz" sample_rate_hz: Option<Whole<16_000, 16_000>>,
    }
}
layer! {
    /// `governor.*`
    Governor {
        /// Whether loading asks for memory first.
        "enabled" enabled: Option<bool>,
        /// Name of this service in the table shared with others.
        "instanceId" instance_id: Option<Name>,
        /// Importance when memory is short: a lower number is more important.
        "priority" priority: Option<Whole<0, 1000>>,
        /// GiB the loaded model needs at its peak.
        "rssEstimateLoadedGb" rss_estimate_loaded_gb: Option<Gibibytes>,
        /// Folder of the shared table; without it HANGAR_HOME/governor.
        "stateDir" state_dir: Option<PathText>,
        /// Most GiB of all services together; without it 34, or less where the machine has less.
        "ceilingGb" ceiling_gb: Option<Gibibytes>,
        /// Whether a less important model may unload a more important one.
        "allowLowerPriorityToPreemptHigher" allow_lower_priority_to_preempt_higher: Option<bool>,
        /// Age in seconds at which a row without a process counts for nothing.
        "staleAfterSeconds" stale_after_seconds: Option<Whole<1, 604_800>>,
    }
}
layer! {
    /// `profiles.*.governor.*`
    ProfileGovernor {
        /// Importance when memory is short: a lower number is more important.
        "priority" priority: Option<Whole<0, 1000>>,
        /// GiB the loaded model needs at its peak.
        "rssEstimateLoadedGb" rss_estimate_loaded_gb: Option<Gibibytes>,
    }
}
layer! {
    /// `worker.*`
    Worker {
        /// What runs the model.
        "backend" backend: Option<Backend>,
        /// From spawn to a loaded model.
        "startupTimeoutMs" startup_timeout_ms: Option<Milliseconds>,
        /// From dispatch to the end of an answer.
        "requestTimeoutMs" request_timeout_ms: Option<Milliseconds>,
        /// Kept for files of the earlier service: probes have the limits of answers, and nothing reads this.
        "probeTimeoutMs" probe_timeout_ms: Option<Milliseconds>,
        /// A Python of your own instead of the managed runtime; verified, never changed.
        "pythonExecutable" python_executable: Option<String>,
        /// Whether the first request loads the model; else it is loaded at start.
        "lazyLoad" lazy_load: Option<bool>,
        /// Giving the memory back when nobody asks.
        "idleUnload" idle_unload: IdleUnload,
        /// Requests that wait behind the running one.
        "queue" queue: Queue,
        /// What the state of earlier prompts may take in MiB, so that prompts that begin alike need not be read
        /// again; 0 keeps none.
        "stateCacheMb" state_cache_mb: Option<Whole<0, 1_048_576>>,
        /// What failures in a row lead to.
        "recycle" recycle: Recycle,
    }
}
layer! {
    /// `worker.idleUnload.*`
    IdleUnload {
        /// Whether an idle worker is unloaded.
        "enabled" enabled: Option<bool>,
        /// After how long.
        "idleMs" idle_ms: Option<Milliseconds>,
    }
}
layer! {
    /// `worker.queue.*`
    Queue {
        /// Most requests that wait; 0 refuses whatever the worker cannot take at once.
        "maxDepth" max_depth: Option<Whole<0, 1000>>,
        /// Longest wait.
        "maxWaitMs" max_wait_ms: Option<Milliseconds>,
    }
}
layer! {
    /// `worker.recycle.*`
    Recycle {
        /// Failures in a row from which each start waits.
        "maxConsecutiveErrors" max_consecutive_errors: Option<Whole<1, 1000>>,
        /// How long.
        "cooldownMs" cooldown_ms: Option<Milliseconds>,
    }
}
layer! {
    /// `sessions.*`
    Sessions {
        /// Life after the last turn; at most maxTtlS.
        "ttl_s" ttl_s: Option<Seconds>,
        /// Most turns; at most maxTurnsLimit.
        "max_turns" max_turns: Option<Whole<1, 100_000>>,
        /// Most tokens of context.
        "max_context_tokens" max_context_tokens: Option<Tokens>,
        /// Most seconds of sound in a turn; at most longAudioSeconds.
        "audio_seconds_per_turn" audio_seconds_per_turn: Option<Seconds>,
        /// What a turn that does not fit leads to; there is one answer.
        "onOverflow" on_overflow: Option<OnOverflow>,
        /// Time between looks for expired sessions, in seconds.
        "reaperIntervalS" reaper_interval_s: Option<Seconds>,
        /// Raises what ttl_s may be.
        "maxTtlS" max_ttl_s: Option<Seconds>,
        /// Raises what max_turns may be.
        "maxTurnsLimit" max_turns_limit: Option<Whole<1, 100_000>>,
        /// Raises what audio_seconds_per_turn may be.
        "longAudioSeconds" long_audio_seconds: Option<Seconds>,
        /// Most sessions at once.
        "maxSessions" max_sessions: Option<Whole<0, 1000>>,
        /// Whether sessions outlive their worker.
        "durable" durable: Option<bool>,
    }
}
layer! {
    /// `logging.*`
    Logging {
        /// What is logged: error, warn, info, debug, trace, or a filter in tracing's syntax.
        "level" level: Option<LogFilter>,
    }
}

/// How a part arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Transport {
    /// In the request itself.
    DataUrl,
}

/// What sound is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TargetFormat {
    /// Plain samples.
    Wav,
}

/// What a turn that does not fit leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum OnOverflow {
    /// The turn is refused.
    Reject,
}
