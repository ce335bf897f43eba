//! The last requests and how each went, kept also for those that were refused or broke off.
//!
//! A receipt has figures and names only, such as those of a schema's keywords: nothing of what was said, and no
//! message of an error, which may name what a client sent.

mod receipt;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hangar_gemma::Withheld;
use hangar_protocol::Finished;
use hangar_supervisor::{RanOn, Start};
use tokio::time::Instant;

pub(crate) use receipt::{Outcome, Receipt};

use crate::app::unix_seconds;
use crate::error::ApiError;
use crate::ident::RequestIdent;
use receipt::{Ran, Refusal};

/// Receipts kept.
const KEPT: usize = 200;

/// All receipts; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receipts {
    kept: Arc<Mutex<VecDeque<Arc<Receipt>>>>,
}

/// The receipt of a request under way. It is kept when it is dropped: with the outcome `client_gone`, unless
/// another one was told before.
#[derive(Debug)]
pub(crate) struct Draft {
    receipts: Receipts,
    begun: Instant,
    receipt: Receipt,
}

impl Receipts {
    /// Begins the receipt of a request that arrived now.
    pub(crate) fn begin(&self, id: &RequestIdent, route: &'static str) -> Draft {
        let receipt = Receipt::new(id.to_string(), route, unix_seconds());
        Draft { receipts: self.clone(), begun: Instant::now(), receipt }
    }

    /// The latest one of a request; ids that clients choose may come twice.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Receipt>> {
        self.lock().iter().find(|receipt| receipt.id() == id).cloned()
    }

    /// All that are kept, the latest first.
    pub(crate) fn latest(&self) -> Vec<Arc<Receipt>> {
        self.lock().iter().cloned().collect()
    }

    fn keep(&self, receipt: Receipt) {
        let mut kept = self.lock();
        kept.truncate(KEPT - 1);
        kept.push_front(Arc::new(receipt));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Receipt>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Draft {
    /// Which model is asked, and whether the answer is streamed.
    pub(crate) fn asks(&mut self, profile: &str, model_id: &str, stream: bool) {
        self.receipt.asks(profile, model_id, stream);
    }

    /// How often its text spells a control token; each was told to the model as characters.
    pub(crate) fn spells(&mut self, lookalikes: u32) {
        self.receipt.spells(lookalikes);
    }

    /// Tool calls of the model that were not passed on.
    pub(crate) fn withheld(&mut self, withheld: &Withheld) {
        self.receipt.withheld(withheld);
    }

    /// The worker read the prompt.
    pub(crate) fn started(&mut self, start: &Start) {
        self.receipt.started(start);
    }

    /// The first text left for the client; later calls change nothing.
    pub(crate) fn spoke(&mut self) {
        let first_text_ms = self.elapsed_ms();
        self.receipt.spoke(first_text_ms);
    }

    /// The worker's figures at the end of its work.
    pub(crate) fn finished(&mut self, finished: &Finished, ran_on: RanOn) {
        self.receipt.finished(finished, Ran::of(ran_on));
    }

    /// The answer went out whole.
    pub(crate) fn answered(&mut self, finish_reason: &'static str) {
        self.receipt.end(Outcome::Answered, Some(finish_reason), None);
    }

    /// It was refused before anything of an answer went out.
    pub(crate) fn refused(&mut self, error: &ApiError, ran_on: Option<RanOn>) {
        self.fail(Outcome::Refused, error, ran_on);
    }

    /// It broke off after it had begun.
    pub(crate) fn broke(&mut self, error: &ApiError, ran_on: Option<RanOn>) {
        self.fail(Outcome::Broken, error, ran_on);
    }

    /// Since it arrived, in milliseconds.
    pub(crate) fn elapsed_ms(&self) -> f64 {
        self.begun.elapsed().as_secs_f64() * 1000.0
    }

    fn fail(&mut self, outcome: Outcome, error: &ApiError, ran_on: Option<RanOn>) {
        if let Some(ran_on) = ran_on {
            self.receipt.ran(Ran::of(ran_on));
        }
        self.receipt.end(outcome, None, Some(Refusal::of(error)));
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let total_ms = self.elapsed_ms();
        let mut receipt = std::mem::take(&mut self.receipt);
        receipt.close(total_ms);
        self.receipts.keep(receipt);
    }
}

#[cfg(test)]
mod tests;
