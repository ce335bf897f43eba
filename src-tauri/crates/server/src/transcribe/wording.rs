//! What a model is told to do with sound.

use hangar_config::{ModelSource, Profile};

/// What is to be made of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Its words, in its own language.
    Transcribe,
    /// Its words in English.
    Translate,
}

impl Task {
    /// As OpenAI calls it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Transcribe => "transcribe",
            Self::Translate => "translate",
        }
    }
}

/// Languages by their codes, as the model's card names them in its wording.
const LANGUAGES: [(&str, &str); 30] = [
    ("ar", "Arabic"),
    ("bg", "Bulgarian"),
    ("cs", "Czech"),
    ("da", "Danish"),
    ("de", "German"),
    ("el", "Greek"),
    ("en", "English"),
    ("es", "Spanish"),
    ("fi", "Finnish"),
    ("fr", "French"),
    ("he", "Hebrew"),
    ("hi", "Hindi"),
    ("hu", "Hungarian"),
    ("id", "Indonesian"),
    ("it", "Italian"),
    ("ja", "Japanese"),
    ("ko", "Korean"),
    ("nl", "Dutch"),
    ("no", "Norwegian"),
    ("pl", "Polish"),
    ("pt", "Portuguese"),
    ("ro", "Romanian"),
    ("ru", "Russian"),
    ("sk", "Slovak"),
    ("sv", "Swedish"),
    ("th", "Thai"),
    ("tr", "Turkish"),
    ("uk", "Ukrainian"),
    ("vi", "Vietnamese"),
    ("zh", "Chinese"),
];

/// The text before the sound.
pub(super) fn prompt(task: Task, profile: &Profile, language: Option<&str>, hint: Option<&str>) -> String {
    if profile.source == ModelSource::BuiltInPocket {
        // The only question about sound that it was taught.
        return "what do you hear?".to_owned();
    }
    let language = language.map(|code| {
        let known = LANGUAGES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code));
        known.map_or(code, |(_, name)| *name)
    });
    let (begin, product) = match (task, language) {
        (Task::Transcribe, Some(language)) => (
            format!("Transcribe the following speech segment in {language} into {language} text."),
            "transcription",
        ),
        (Task::Transcribe, None) => {
            ("Transcribe the following speech segment in its original language.".to_owned(), "transcription")
        }
        (Task::Translate, Some(language)) => (
            format!("Translate the following speech segment in {language} into English text."),
            "translation",
        ),
        (Task::Translate, None) => {
            ("Translate the following speech segment into English text.".to_owned(), "translation")
        }
    };
    let mut text = format!(
        "{begin}\n\nFollow these specific instructions for formatting the answer:\n* Only output the {product}, \
         with no newlines.\n* When transcribing numbers, write the digits, i.e. write 1.7 and not one point seven, \
         and write 3 instead of three."
    );
    if let Some(hint) = hint {
        text.push_str("\n* Names and words that may occur: ");
        text.push_str(hint);
    }
    text
}

#[cfg(test)]
mod tests {
    use hangar_config::Home;

    use super::*;

    #[test]
    fn a_model_is_asked_as_its_card_says_and_the_built_in_one_as_it_was_taught() {
        let home =
            Home::from_environment(|name| (name == "HANGAR_HOME").then(|| "/nowhere".to_owned())).unwrap();
        let mut profile = hangar_config::built_in(&home).unwrap().profiles.default_profile().clone();
        assert_eq!(prompt(Task::Transcribe, &profile, Some("en"), None), "what do you hear?");
        profile.source = ModelSource::Unnamed;
        let asked = |task, language, hint| prompt(task, &profile, language, hint);
        let german = asked(Task::Transcribe, Some("de"), None);
        assert!(
            german.starts_with("Transcribe the following speech segment in German into German text.\n\n")
        );
        assert!(asked(Task::Transcribe, Some("tlh"), None).contains("in tlh into tlh text"));
        assert!(asked(Task::Transcribe, None, None).contains("in its original language"));
        assert!(asked(Task::Translate, None, Some("Hangar")).ends_with("may occur: Hangar"));
        assert!(asked(Task::Translate, Some("fr"), None).contains("in French into English text"));
    }
}
