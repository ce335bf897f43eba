//! One layer as it is written: every key optional, names as the earlier service wrote them.

use serde::Deserialize;

macro_rules! layer {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident : $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind),* }

        impl Combine for $name {
            fn combine(self, under: Self) -> Self {
                Self { $($field: self.$field.combine(under.$field)),* }
            }
        }
    };
}

/// Merging of two layers: the receiver wins where it says something.
pub trait Combine {
    /// Fills what `self` leaves open from `under`.
    #[must_use]
    fn combine(self, under: Self) -> Self;
}

impl<T> Combine for Option<T> {
    fn combine(self, under: Self) -> Self {
        self.or(under)
    }
}

layer! {
    /// A whole layer.
    Layer { server: Server, model: Model, worker: Worker, logging: Logging }
}
layer! {
    /// `server.*`
    Server { host: Option<String>, port: Option<u16>, max_body_mb: Option<u64> }
}
layer! {
    /// `model.*`
    Model {
        id: Option<String>,
        path: Option<String>,
        context_window_tokens: Option<u32>,
        max_output_tokens: Option<u32>,
        sampling: Sampling,
    }
}
layer! {
    /// `model.sampling.*`
    Sampling { temperature: Option<f32>, top_p: Option<f32> }
}
layer! {
    /// `worker.*`
    Worker {
        startup_timeout_ms: Option<u64>,
        request_timeout_ms: Option<u64>,
        python_executable: Option<String>,
        idle_unload: IdleUnload,
        queue: Queue,
        recycle: Recycle,
    }
}
layer! {
    /// `worker.idleUnload.*`
    IdleUnload { enabled: Option<bool>, idle_ms: Option<u64> }
}
layer! {
    /// `worker.queue.*`
    Queue { max_depth: Option<u32>, max_wait_ms: Option<u64> }
}
layer! {
    /// `worker.recycle.*`
    Recycle { max_consecutive_errors: Option<u32>, cooldown_ms: Option<u64> }
}
layer! {
    /// `logging.*`
    Logging { level: Option<String> }
}
