//! Ids of requests and answers.

use std::iter::repeat_with;

/// Letters and digits only: clients strip everything else from ids they send back.
pub(crate) fn random(length: usize) -> String {
    repeat_with(fastrand::alphanumeric).take(length).collect()
}
