//! Activities of `NSProcessInfo`: they end App Nap for a process, and idle sleep where asked to.
#![expect(unsafe_code, reason = "the activity is an Objective-C object that may be used from any thread")]

use objc2::rc::Retained;
use objc2::runtime::{NSObjectProtocol, ProtocolObject};
use objc2_foundation::{NSActivityOptions, NSProcessInfo, NSString};

use super::{Awake, Reason, Wakefulness};

/// Begins and ends activities.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activities;

/// What the system gave for a begun activity.
struct Activity(Retained<ProtocolObject<dyn NSObjectProtocol>>);

// SAFETY: NSProcessInfo may be used from any thread, and the token is only ever handed back to it.
unsafe impl Send for Activity {}
// SAFETY: as above; nothing but the end of the activity looks at the token.
unsafe impl Sync for Activity {}

impl Wakefulness for Activities {
    fn hold(&self, reason: Reason) -> Awake {
        let (options, why) = match reason {
            Reason::Serving => (
                NSActivityOptions::UserInitiatedAllowingIdleSystemSleep,
                "Hangar serves a model on this machine",
            ),
            Reason::Answering => (
                // Holds off the sleep for want of a user, and no other.
                NSActivityOptions::UserInitiated,
                "Hangar answers a request",
            ),
        };
        let system = NSProcessInfo::processInfo();
        let activity = Activity(system.beginActivityWithOptions_reason(options, &NSString::from_str(why)));
        Awake::until(move || {
            let activity = activity;
            // SAFETY: the token comes from the beginning of this very activity and is handed back once.
            unsafe { NSProcessInfo::processInfo().endActivity(&activity.0) };
        })
    }
}
