//! From merged values to settings without anything left open; rules that no single key can check. No IO.

use std::net::IpAddr;
use std::path::PathBuf;

use serde_json::Value;

use crate::error::ConfigError;
use crate::merge::{Adjustment, Merged, Origin};
use crate::modality::{Modalities, ModalityPolicy, Transcode};
use crate::profile::{
    DiffusionSettings, Estimate, KvCacheSettings, ModelSource, Profile, SamplingSettings, SessionLimits,
    SessionSettings, WorkerSettings,
};
use crate::raw::{self, AudioKeys, Layer, ModalityKeys};
use crate::settings::{GovernorSettings, ListenHost, ServerSettings};
use crate::shipped::{self, DEFAULT_PROFILE};
use crate::value::{ProfileId, RepositoryId, Seconds, Whole, number};

const MEBIBYTE: u64 = 1024 * 1024;

/// What names and paths are resolved against.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) local_file: String,
    pub(crate) local_folder: PathBuf,
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) governor_dir: PathBuf,
}

impl Sources {
    /// An error at a path, in the file that its value came from.
    fn invalid(&self, merged: &Merged, path: &str, expected: &str) -> ConfigError {
        let (file, path) = match merged.origin(path) {
            None | Some(Origin::Local | Origin::Environment(_) | Origin::Derived) => {
                (self.local_file.clone(), path.to_owned())
            }
            Some(Origin::LocalProfile(profile)) => {
                (self.local_file.clone(), format!("profiles.{profile}.{path}"))
            }
            Some(Origin::Shipped(profile)) => (shipped::file_of(profile), path.to_owned()),
            Some(Origin::Default) => (shipped::DEFAULT_FILE.to_owned(), path.to_owned()),
        };
        ConfigError::at(&file, path, expected)
    }

    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.local_folder.join(text),
        }
    }
}

/// Resolves what is for the service as a whole.
///
/// # Errors
/// [`ConfigError::Invalid`] where values do not go together.
pub(crate) fn service(
    merged: &mut Merged,
    sources: &Sources,
) -> Result<(ServerSettings, GovernorSettings, String), ConfigError> {
    if merged.origin("governor.stateDir").is_none() {
        merged.set("governor.stateDir", sources.governor_dir.display().to_string(), Origin::Derived);
    }
    let layer = merged.layer()?;
    let server = layer.server;
    let host = need(server.host, "server.host")?;
    let host = match host.as_str() {
        "localhost" | "127.0.0.1" | "::1" | "[::1]" => ListenHost::Loopback,
        other => ListenHost::Address(other.parse::<IpAddr>().map_err(|_| {
            let expected = "expected 127.0.0.1 or another address of this machine";
            sources.invalid(merged, "server.host", expected)
        })?),
    };
    let allowed_hosts = server.allowed_hosts.unwrap_or_default();
    if host != ListenHost::Loopback && (allowed_hosts.is_empty() || server.api_key.is_none()) {
        let expected = "expected a loopback address: to listen on another one, set server.allowedHosts and \
             server.apiKey too";
        return Err(sources.invalid(merged, "server.host", expected));
    }
    let governor = layer.governor;
    let state_dir = need(governor.state_dir, "governor.stateDir")?;
    let server = ServerSettings {
        pinned_port: server.port.map(|port| u16::try_from(port.get()).unwrap_or(u16::MAX)),
        host,
        allowed_hosts,
        api_key: server.api_key,
        admin_local_only: need(server.admin_local_only, "server.adminLocalOnly")?,
        max_body_bytes: bytes(need(server.max_body_mb, "server.maxBodyMb")?.get()),
    };
    let governor = GovernorSettings {
        enabled: need(governor.enabled, "governor.enabled")?,
        instance_id: need(governor.instance_id, "governor.instanceId")?.to_string(),
        state_dir: sources.path(state_dir.as_str()),
        ceiling_gib: governor.ceiling_gb.map(|ceiling| ceiling.get()),
        allow_lower_priority_to_preempt_higher: need(
            governor.allow_lower_priority_to_preempt_higher,
            "governor.allowLowerPriorityToPreemptHigher",
        )?,
        stale_after_s: need(governor.stale_after_seconds, "governor.staleAfterSeconds")?.get(),
    };
    let level = layer.logging.level.map(|level| level.as_str().to_owned()).filter(|level| !level.is_empty());
    Ok((server, governor, need(level, "logging.level")?))
}

/// Resolves one profile.
///
/// # Errors
/// [`ConfigError::Invalid`] where values do not go together, or nothing names the model.
pub(crate) fn profile(
    id: &ProfileId,
    shipped: Option<&ProfileId>,
    merged: &mut Merged,
    sources: &Sources,
    adjustments: &mut Vec<Adjustment>,
) -> Result<Profile, ConfigError> {
    let first = merged.layer()?;
    if merged.origin("model.id").is_none() {
        let is_top_level =
            merged.origin("model.path").or(merged.origin("model.repo")) == Some(&Origin::Local);
        let name = if is_top_level { model_name(&first.model) } else { id.to_string() };
        merged.set("model.id", name, Origin::Derived);
    }
    lower(id, merged, &first, adjustments);
    let layer = merged.layer()?;
    let Layer { model, modalities, worker, governor, .. } = layer;
    let source = source(id, shipped, &model, sources)?;
    let python = worker.python_executable.as_deref().filter(|path| !path.is_empty());
    let window = need(model.context_window_tokens, "model.contextWindowTokens")?.get_u32();
    let (sampling, cache, diffusion) = (model.sampling, model.kv_cache, model.diffusion);
    let estimate = match (governor.rss_estimate_loaded_gb, merged.origin("governor.rssEstimateLoadedGb")) {
        (Some(gib), Some(Origin::Shipped(_))) => Estimate::Measured { gib: gib.get() },
        (Some(gib), _) => Estimate::Given { gib: gib.get() },
        (None, _) => Estimate::Computed { weights_gib: model.weights_gb.map(|gib| gib.get()) },
    };
    Ok(Profile {
        id: id.clone(),
        model_id: need(model.id, "model.id")?.to_string(),
        repository: model.repository,
        source,
        backend: need(worker.backend, "worker.backend")?,
        modalities: modality_settings(modalities, model.inputs)?,
        native_window_tokens: model.native_window_tokens.map(raw::Tokens::get_u32),
        context_window_tokens: window,
        max_output_tokens: need(model.max_output_tokens, "model.maxOutputTokens")?.get_u32(),
        sampling: SamplingSettings {
            temperature: narrow(need(sampling.temperature, "model.sampling.temperature")?.get()),
            top_p: narrow(need(sampling.top_p, "model.sampling.topP")?.get()).max(f32::MIN_POSITIVE),
        },
        kv_cache: KvCacheSettings {
            quantised: need(cache.enabled, "model.kvCache.enabled")?,
            bits: narrow(need(cache.bits, "model.kvCache.bits")?.get()),
            group_size: need(cache.group_size, "model.kvCache.groupSize")?.get_u32(),
            quantised_start_tokens: need(cache.quantized_kv_start, "model.kvCache.quantizedKvStart")?
                .get_u32(),
            scheme: need(cache.quant_scheme, "model.kvCache.quantScheme")?,
        },
        diffusion: DiffusionSettings {
            max_denoising_steps: need(diffusion.max_denoising_steps, "model.diffusion.max_denoising_steps")?
                .get_u32(),
            sampler: need(diffusion.diffusion_sampler, "model.diffusion.diffusion_sampler")?,
            prefill_step_tokens: need(diffusion.prefill_step_size, "model.diffusion.prefill_step_size")?
                .get_u32(),
        },
        worker: worker_settings(&worker, python.map(|path| sources.path(path)))?,
        sessions: session_settings(&layer.sessions)?,
        estimate,
        priority: need(governor.priority, "governor.priority")?.get_u32(),
    })
}

/// A name for a model that has none: the last part of its folder or repository.
pub(crate) fn model_name(model: &raw::Model) -> String {
    let path = model.path.as_ref().map(|path| path.as_str());
    let place = path.or(model.repository.as_ref().map(|repository| repository.as_str())).unwrap_or_default();
    let last = place.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if last.is_empty() || last == "." || last == ".." { "model".to_owned() } else { last.to_owned() }
}

/// Values over what another value allows are lowered to it.
fn lower(id: &ProfileId, merged: &mut Merged, layer: &Layer, adjustments: &mut Vec<Adjustment>) {
    let mut to = |path: &str, limit: Option<Value>, why: &str| {
        if let Some(limit) = limit {
            merged.lower(path, &limit, why, Some(id), adjustments);
        }
    };
    let (model, sessions) = (&layer.model, &layer.sessions);
    let native = model.native_window_tokens.map(raw::Tokens::get);
    to(
        "model.contextWindowTokens",
        native.map(Value::from),
        "the model was made for no more (model.nativeWindowTokens)",
    );
    let asked = model.context_window_tokens.map(Whole::get);
    let window = match (asked, native) {
        (Some(asked), Some(native)) => Some(asked.min(native)),
        (asked, native) => asked.or(native),
    };
    to("model.maxOutputTokens", window.map(Value::from), "an answer is part of model.contextWindowTokens");
    to(
        "sessions.max_context_tokens",
        window.map(Value::from),
        "a session's context is part of model.contextWindowTokens",
    );
    let seconds = |limit: Option<Seconds>| limit.map(|limit| number(limit.get()));
    to("sessions.ttl_s", seconds(sessions.max_ttl_s), "sessions.maxTtlS allows no more");
    let turns = sessions.max_turns_limit.map(|limit| Value::from(limit.get()));
    to("sessions.max_turns", turns, "sessions.maxTurnsLimit allows no more");
    let audio = seconds(sessions.long_audio_seconds);
    to("sessions.audio_seconds_per_turn", audio, "sessions.longAudioSeconds allows no more");
}

fn source(
    id: &ProfileId,
    shipped: Option<&ProfileId>,
    model: &raw::Model,
    sources: &Sources,
) -> Result<ModelSource, ConfigError> {
    if let Some(path) = &model.path {
        // The earlier service also took the name of a repository here.
        return Ok(match RepositoryId::read(path.as_str()) {
            Some(repository) => ModelSource::Repository(repository),
            None => ModelSource::Folder(sources.path(path.as_str())),
        });
    }
    if let Some(repository) = &model.repository {
        return Ok(ModelSource::Repository(repository.clone()));
    }
    match shipped {
        Some(shipped) if shipped.as_str() == DEFAULT_PROFILE => Ok(ModelSource::BuiltInPocket),
        Some(_) => Ok(ModelSource::Unnamed),
        None => {
            let path = format!("profiles.{id}.model.path");
            Err(ConfigError::at(
                &sources.local_file,
                path,
                "expected a folder, or a repository at model.repo",
            ))
        }
    }
}

fn modality_settings(
    keys: raw::Modalities,
    published: Option<Vec<crate::Modality>>,
) -> Result<Modalities, ConfigError> {
    let transcode = keys.audio.transcode.clone();
    let max_seconds = need(keys.audio.max_seconds, "modalities.audio.maxSeconds")?;
    Ok(Modalities {
        published,
        text: policy(keys.text, "modalities.text.enabled")?,
        image: policy(keys.image, "modalities.image.enabled")?,
        audio: policy(plain(keys.audio), "modalities.audio.enabled")?,
        video: policy(keys.video, "modalities.video.enabled")?,
        document: policy(keys.document, "modalities.document.enabled")?,
        max_audio_ms: max_seconds.get() * 1000,
        transcode: Transcode {
            enabled: need(transcode.enabled, "modalities.audio.transcode.enabled")?,
            sample_rate_hz: need(transcode.sample_rate_hz, "modalities.audio.transcode.sampleRateHz")?
                .get_u32(),
        },
        strict_capability_check: need(keys.strict_capability_check, "modalities.strictCapabilityCheck")?,
    })
}

fn plain(keys: AudioKeys) -> ModalityKeys {
    let AudioKeys { enabled, max_inputs, max_bytes_mb, allowed_mime_types, transport, .. } = keys;
    ModalityKeys { enabled, max_inputs, max_bytes_mb, allowed_mime_types, transport }
}

fn policy(keys: ModalityKeys, path: &str) -> Result<ModalityPolicy, ConfigError> {
    let types = keys.allowed_mime_types.unwrap_or_default();
    Ok(ModalityPolicy {
        enabled: need(keys.enabled, path)?,
        max_inputs: keys.max_inputs.map(Whole::get_u32),
        max_bytes: keys.max_bytes_mb.map(|mebibytes| bytes(mebibytes.get())),
        allowed_mime_types: types.iter().map(|kind| kind.as_str().to_owned()).collect(),
    })
}

fn worker_settings(worker: &raw::Worker, python: Option<PathBuf>) -> Result<WorkerSettings, ConfigError> {
    let idle_enabled = need(worker.idle_unload.enabled, "worker.idleUnload.enabled")?;
    let idle_ms = need(worker.idle_unload.idle_ms, "worker.idleUnload.idleMs")?.get();
    let errors = need(worker.recycle.max_consecutive_errors, "worker.recycle.maxConsecutiveErrors")?;
    Ok(WorkerSettings {
        startup_timeout_ms: need(worker.startup_timeout_ms, "worker.startupTimeoutMs")?.get(),
        request_timeout_ms: need(worker.request_timeout_ms, "worker.requestTimeoutMs")?.get(),
        probe_timeout_ms: need(worker.probe_timeout_ms, "worker.probeTimeoutMs")?.get(),
        lazy_load: need(worker.lazy_load, "worker.lazyLoad")?,
        queue_max_wait_ms: need(worker.queue.max_wait_ms, "worker.queue.maxWaitMs")?.get(),
        queue_max_depth: need(worker.queue.max_depth, "worker.queue.maxDepth")?.get_u32(),
        idle_unload_ms: idle_enabled.then_some(idle_ms),
        state_cache_bytes: need(worker.state_cache_mb, "worker.stateCacheMb")?.get() * MEBIBYTE,
        max_consecutive_errors: errors.get_u32(),
        cooldown_ms: need(worker.recycle.cooldown_ms, "worker.recycle.cooldownMs")?.get(),
        python_executable: python,
    })
}

fn session_settings(sessions: &raw::Sessions) -> Result<SessionSettings, ConfigError> {
    Ok(SessionSettings {
        ttl_s: need(sessions.ttl_s, "sessions.ttl_s")?.get(),
        max_turns: need(sessions.max_turns, "sessions.max_turns")?.get_u32(),
        max_context_tokens: need(sessions.max_context_tokens, "sessions.max_context_tokens")?.get_u32(),
        audio_seconds_per_turn: need(sessions.audio_seconds_per_turn, "sessions.audio_seconds_per_turn")?
            .get(),
        most: SessionLimits {
            ttl_s: need(sessions.max_ttl_s, "sessions.maxTtlS")?.get(),
            turns: need(sessions.max_turns_limit, "sessions.maxTurnsLimit")?.get_u32(),
            audio_seconds_per_turn: need(sessions.long_audio_seconds, "sessions.longAudioSeconds")?.get(),
        },
        reaper_interval_s: need(sessions.reaper_interval_s, "sessions.reaperIntervalS")?.get(),
        max_sessions: need(sessions.max_sessions, "sessions.maxSessions")?.get_u32(),
        durable: need(sessions.durable, "sessions.durable")?,
    })
}

/// Whatever the defaults name is there; a key that they forget is our mistake, and said as such.
fn need<T>(value: Option<T>, path: &str) -> Result<T, ConfigError> {
    value.ok_or_else(|| ConfigError::at(shipped::DEFAULT_FILE, path, "expected a value"))
}

fn bytes(mebibytes: u64) -> usize {
    usize::try_from(mebibytes * MEBIBYTE).unwrap_or(usize::MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "the range was checked; only precision is lost")]
fn narrow(number: f64) -> f32 {
    number as f32
}
