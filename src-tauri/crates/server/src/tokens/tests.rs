//! Counting, with the built-in model's tokenizer.

use hangar_protocol::Group;
use proptest::prelude::*;

use super::*;

const POCKET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../worker/pocket/model");

fn vocabulary() -> Vocabulary {
    Vocabulary::read(&PathBuf::from(POCKET).join("tokenizer.json")).unwrap()
}

fn prompt(segments: Vec<Segment>) -> Prompt {
    Prompt { groups: vec![Group { segments }], media: Vec::new() }
}

fn text(text: &str) -> Segment {
    Segment::Text { text: text.to_owned() }
}

async fn measured(segments: Vec<Segment>, window_tokens: u32, answer_tokens: u32) -> PromptSize {
    let counter = TokenCounter::new(POCKET.into());
    let whole = prompt(segments);
    let (back, size) = counter.measure(whole.clone(), window_tokens, answer_tokens).await;
    assert_eq!(back, whole);
    size
}

#[tokio::test]
async fn a_prompt_that_fits_by_its_length_is_not_tokenised() {
    let counter = TokenCounter::new("/nowhere".into());
    let (_, size) = counter.measure(prompt(vec![text("hello you")]), 64, 53).await;
    assert_eq!(size, PromptSize::AtMost(11));
}

#[tokio::test]
async fn a_prompt_that_may_not_fit_is_counted_and_one_far_over_is_bounded() {
    let bos = || Segment::Control { token: "<bos>".into() };
    let PromptSize::Exactly(tokens) = measured(vec![bos(), text("what is the code?")], 20, 19).await else {
        panic!("it was not counted");
    };
    assert!((3..=17).contains(&tokens), "{tokens}");
    let long = "what is the code? ".repeat(500);
    let PromptSize::AtLeast(tokens) = measured(vec![bos(), text(&long)], 64, 1).await else {
        panic!("it was counted to its end");
    };
    assert!((129..9000).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn a_model_that_is_not_there_leaves_counting_to_its_worker() {
    let counter = TokenCounter::new("/nowhere".into());
    assert_eq!(counter.measure(prompt(vec![text("hello")]), 4, 4).await.1, PromptSize::Unknown);
}

#[test]
fn names_of_control_tokens_in_text_are_counted_as_the_letters_they_are() {
    let vocabulary = vocabulary();
    for name in ["<bos>", "<|turn>", "<turn|>", "<|image>", "<pad>"] {
        assert!(vocabulary.count(name, 100).unwrap() > 1, "{name}");
    }
}

#[test]
fn a_control_token_that_is_listed_as_an_ordinary_one_is_not_hit_by_text() {
    let file = PathBuf::from(POCKET).join("tokenizer.json");
    let mut written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    for added in written["added_tokens"].as_array_mut().unwrap() {
        added["special"] = false.into();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokenizer.json");
    std::fs::write(&file, written.to_string()).unwrap();
    assert!(Vocabulary::read(&file).unwrap().count("<|turn>", 100).unwrap() > 1);
}

/// Merges to tokens that stand across words.
const CROSSING: [[&str; 2]; 4] =
    [["o", "\u{2581}"], ["o\u{2581}", "y"], ["e", "\u{2581}"], ["e\u{2581}", "t"]];

/// The built-in model's tokenizer with these merges before its own, and these added tokens.
fn altered(merges: &[[&str; 2]], added: &[&str]) -> Vocabulary {
    let file = PathBuf::from(POCKET).join("tokenizer.json");
    let mut written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let model = written["model"].as_object_mut().unwrap();
    let mut next = model["vocab"].as_object().unwrap().len() + 100;
    for [left, right] in merges {
        model["vocab"].as_object_mut().unwrap().insert(format!("{left}{right}"), next.into());
        next += 1;
    }
    let known = model["merges"].as_array().unwrap().clone();
    model["merges"] = merges.iter().map(|merge| serde_json::json!(merge)).chain(known).collect();
    for content in added {
        let token = serde_json::json!({"id": next, "content": content, "special": false, "normalized": false,
            "single_word": false, "lstrip": false, "rstrip": false});
        written["added_tokens"].as_array_mut().unwrap().push(token);
        next += 1;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokenizer.json");
    std::fs::write(&file, written.to_string()).unwrap();
    Vocabulary::read(&file).unwrap()
}

#[test]
fn words_that_merge_with_each_other_are_counted_as_in_the_whole() {
    let crossing = altered(&CROSSING, &[]);
    for text in ["hello you", "the toe took two yes", "no yo yo yo yes", &"o y ".repeat(2000)] {
        assert_eq!(crossing.count(text, u64::MAX), crossing.whole(text), "{text}");
    }
    assert!(crossing.whole("o y o y") < vocabulary().whole("o y o y"), "nothing crosses");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn counting_by_pieces_gives_the_count_of_the_whole(
        words in prop::collection::vec("[a-z]{1,9}|hello|you|toe|<\\|turn>|<b>|  |\n{1,2}|é|😀|▁|\\PC{1,3}", 1..40),
        times in 1_usize..200,
        which in 0_usize..4,
    ) {
        let vocabulary = match which {
            0 => vocabulary(),
            1 => altered(&CROSSING, &[]),
            2 => altered(&[], &["\n\n", "<b>", "▁▁", "é"]),
            _ => altered(&[], &[["toe you"], ["▁toe"]][times % 2]),
        };
        let text = words.join(" ").repeat(times);
        let whole = vocabulary.whole(&text).unwrap();
        prop_assert_eq!(vocabulary.count(&text, u64::MAX).unwrap(), whole);
        prop_assert!(vocabulary.least_tokens(&text) <= whole);
        let most = most_tokens(&prompt(vec![Segment::Text { text }]), None);
        prop_assert!(whole <= most);
    }
}
