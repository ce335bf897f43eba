//! Tool calls: what is read, what is refused, and that no way of cutting makes a difference.

mod common;

use common::{answer, every_cut, gate, read, tokenised, typed};
use hangar_gemma::{CallIds, Finish, Gate, Opening, Stop, ToolChoice, Withheld};
use serde_json::{Value, json};

#[test]
fn everything_between_quote_tokens_is_the_string() {
    let vectors = [
        (
            r#"{body:<|"|>half } and <|"|>,file:<|"|>/tmp/b.css<|"|>}"#,
            json!({ "body": "half } and ", "file": "/tmp/b.css" }),
        ),
        (
            r#"{title:<|"|>He wrote "stop {here}", once<|"|>,tags:[<|"|>x,y<|"|>,<|"|>z]w<|"|>],ok:false}"#,
            json!({ "title": "He wrote \"stop {here}\", once", "tags": ["x,y", "z]w"], "ok": false }),
        ),
        (
            "{command:<|\"|>printf 'b\\n'\ncat <<E\n}\nE\n<|\"|>}",
            json!({ "command": "printf 'b\\n'\ncat <<E\n}\nE\n" }),
        ),
        (r#"{path:<|"|>D:\new\table\u0042.txt<|"|>}"#, json!({ "path": "D:\\new\\table\\u0042.txt" })),
        ("{t:<|\"|>façade 👩‍👧 東京 \u{2028}y<|\"|>}", json!({ "t": "façade 👩‍👧 東京 \u{2028}y" })),
        (r#"{t:<|"|>then call:rm{x:1} it<|"|>}"#, json!({ "t": "then call:rm{x:1} it" })),
        (r#"{a:<|"|>  y  <|"|>,b:<|"|><|"|>,c:[],d:{}}"#, json!({ "a": "  y  ", "b": "", "c": [], "d": {} })),
        (
            r#"{a:<|"|>true<|"|>,b:<|"|>7<|"|>,c:<|"|>null<|"|>}"#,
            json!({ "a": "true", "b": "7", "c": "null" }),
        ),
        (
            r#"{t:<|"|>the token <|channel> opens, <tool_call|> closes, <|turn> begins<|"|>}"#,
            json!({ "t": "the token <|channel> opens, <tool_call|> closes, <|turn> begins" }),
        ),
    ];
    for (written, arguments) in vectors {
        assert_one("f", written, arguments);
    }
}

#[test]
fn values_without_quotes_are_what_json_would_call_them() {
    let vectors = [
        (
            "{n:-4,f:-0.25,e:1e2,big:12345678901234567890,ok:true,none:null}",
            json!({ "n": -4, "f": -0.25, "e": 1e2, "big": 12_345_678_901_234_567_890_u64, "ok": true, "none": null }),
        ),
        (
            "{r:NaN,i:-Infinity,z:02139,h:0x1f,v:1.2.3}",
            json!({ "r": "NaN", "i": "-Infinity", "z": "02139", "h": "0x1f", "v": "1.2.3" }),
        ),
        ("{m:{<|\"|>3<|\"|>:<|\"|>y<|\"|>,<|\"|>a b<|\"|>:1}}", json!({ "m": { "3": "y", "a b": 1 } })),
        ("{links:{Main Line:{to:[1,2]}}}", json!({ "links": { "Main Line": { "to": [1, 2] } } })),
        ("{a:{b:{c:{d:{e:<|\"|>}<|\"|>}}}}}", json!({ "a": { "b": { "c": { "d": { "e": "}" } } } } })),
        (
            "{edits:[\n  {new:<|\"|>a<|\"|>,\n   old:<|\"|>b<|\"|>},\n  {new:<|\"|>c<|\"|>,old:<|\"|>d<|\"|>}\n]}",
            json!({ "edits": [{ "new": "a", "old": "b" }, { "new": "c", "old": "d" }] }),
        ),
        ("{}", json!({})),
        ("{\n}", json!({})),
        ("{city:New York,}", json!({ "city": "New York" })),
        ("{huge:1e999}", json!({ "huge": "1e999" })),
        ("{a:1,a:2}", json!({ "a": 2 })),
        ("{\"city\": \"S\\u00e3o \\\"P\\\"\", \"n\": 2}", json!({ "city": "São \"P\"", "n": 2 })),
    ];
    for (written, arguments) in vectors {
        assert_one("f", written, arguments);
    }
}

#[test]
fn declared_types_decide_how_a_value_is_read() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "count": { "type": "integer" },
            "share": { "type": "number" },
            "flag": { "type": "boolean" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "where": { "type": "object", "properties": { "floor": { "$ref": "#/$defs/Floor" } } },
            "maybe": { "type": ["string", "null"] },
            "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "level": { "enum": [0, 50, 100] },
            "word": { "const": "7" },
            "loose": true
        },
        "additionalProperties": { "type": "string" },
        "$defs": { "Floor": { "type": "integer" } }
    });
    let vectors = [
        ("{text:42}", json!({ "text": "42" })),
        ("{text:true}", json!({ "text": "true" })),
        ("{text:{a:[1,<|\"|>b<|\"|>]}}", json!({ "text": "{\"a\":[1,\"b\"]}" })),
        ("{count:<|\"|>42<|\"|>}", json!({ "count": 42 })),
        ("{count:3.0}", json!({ "count": 3 })),
        ("{count:007}", json!({ "count": 7 })),
        ("{share:.5}", json!({ "share": 0.5 })),
        ("{share:<|\"|>1<|\"|>}", json!({ "share": 1 })),
        ("{flag:True}", json!({ "flag": true })),
        ("{flag:<|\"|>false<|\"|>}", json!({ "flag": false })),
        ("{tags:[1,two,<|\"|>3<|\"|>]}", json!({ "tags": ["1", "two", "3"] })),
        ("{tags:<|\"|>[\"a\", \"b\"]<|\"|>}", json!({ "tags": ["a", "b"] })),
        ("{where:{floor:<|\"|>2<|\"|>}}", json!({ "where": { "floor": 2 } })),
        ("{maybe:null}", json!({ "maybe": null })),
        ("{maybe:<|\"|>null<|\"|>}", json!({ "maybe": "null" })),
        ("{maybe:12}", json!({ "maybe": "12" })),
        ("{either:12}", json!({ "either": 12 })),
        ("{either:<|\"|>12<|\"|>}", json!({ "either": "12" })),
        ("{level:50}", json!({ "level": 50 })),
        ("{word:7}", json!({ "word": "7" })),
        ("{loose:7}", json!({ "loose": 7 })),
        ("{other:7}", json!({ "other": "7" })),
        ("{count:null,text:a}", json!({ "text": "a" })),
    ];
    let gate = Gate { tools: vec![typed("f", schema)], ..Gate::default() };
    for (written, arguments) in vectors {
        let seen = answer(&gate, &format!("<|tool_call>call:f{written}<tool_call|>"));
        assert_eq!(seen.calls, [("f".to_owned(), arguments)], "{written}: {}", seen.text);
    }
    for (written, path) in [
        ("{count:many}", "count"),
        ("{where:{floor:<|\"|>up<|\"|>}}", "where.floor"),
        ("{share:NaN}", "share"),
    ] {
        let seen = answer(&gate, &format!("<|tool_call>call:f{written}<tool_call|>"));
        assert_eq!(seen.calls, []);
        assert_eq!(seen.end.withheld.malformed, 1);
        let told = format!(
            "[The model called the tool f with a value for {path} that is not of the declared type. The call was left out.]"
        );
        assert_eq!(seen.text, told);
    }
}

#[test]
fn calls_in_a_row_have_indexes_and_ids_of_their_own() {
    let seen = answer(
        &gate(&["move", "ping"]),
        "Let me look.<|tool_call>call:move{left:108.2,right:-22.85,flag:true,label:<|\"|>naïve \"y\"<|\"|>}<tool_call|>\
         <|tool_call>call:ping{}<tool_call|>",
    );
    assert_eq!(seen.text, "Let me look.");
    let first = json!({ "left": 108.2, "right": -22.85, "flag": true, "label": "naïve \"y\"" });
    assert_eq!(seen.calls, [("move".to_owned(), first), ("ping".to_owned(), json!({}))]);
    assert_eq!(seen.ids, ["callZz090", "callZz091"]);
    let thrice = answer(&gate(&["ls"]), &"<|tool_call>call:ls{p:<|\"|>.<|\"|>}<tool_call|>".repeat(3));
    assert_eq!(thrice.calls.len(), 3, "exact repeats are kept");
}

#[test]
fn client_that_takes_one_call_gets_the_first() {
    let gate = Gate { one_call: true, ..gate(&["w"]) };
    let seen =
        answer(&gate, "<|tool_call>call:w{city:Oslo}<tool_call|><|tool_call>call:w{city:Lima}<tool_call|>");
    assert_eq!(seen.calls, [("w".to_owned(), json!({ "city": "Oslo" }))]);
    assert_eq!((seen.text.as_str(), seen.end.withheld.surplus), ("", 1));
}

#[test]
fn call_that_is_not_complete_is_never_passed_on() {
    let cut = |raw| {
        let seen = every_cut(Opening::Turn, &gate(&["f", "g"]), raw, Stop::Length);
        assert_eq!(seen.end.finish, Finish::Length, "the limit wins over calls");
        (seen.text, seen.calls, seen.end.withheld.cut)
    };
    assert_eq!(
        cut("<|tool_call>call:f{path:<|\"|>/a<|\"|>,content:<|\"|>half of"),
        (String::new(), vec![], 1)
    );
    assert_eq!(
        cut("Sure.<|tool_call>call:f{a:1}<tool_call|><|tool_call>call:g{b:<|\"|>x"),
        ("Sure.".to_owned(), vec![("f".to_owned(), json!({ "a": 1 }))], 1)
    );
    assert_eq!(cut("<|tool_call>call:f{a:1}"), (String::new(), vec![], 1));
    let stopped = every_cut(Opening::Turn, &gate(&["f"]), "a<|tool_call>call:f{x:1", Stop::StopText);
    assert_eq!((stopped.text.as_str(), stopped.end.finish), ("a", Finish::Stop));
}

#[test]
fn call_that_is_whole_counts_without_its_end_marker_when_the_model_stopped_by_itself() {
    let only_f = [("f".to_owned(), json!({ "a": "x" }))];
    for tail in
        ["", "<turn|>", "<|tool_response>", "<tool_call|><|tool_response>", "<|channel>thought\nhm<channel|>"]
    {
        let seen = answer(&gate(&["f"]), &format!("<|tool_call>call:f{{a:<|\"|>x<|\"|>}}{tail}"));
        assert_eq!((seen.calls.as_slice(), seen.text.as_str()), (only_f.as_slice(), ""), "{tail}");
        assert_eq!(seen.end.finish, Finish::ToolCalls);
    }
    let two = answer(&gate(&["f"]), "<|tool_call>call:f{a:1}<|tool_call>call:f{a:2}<tool_call|>");
    assert_eq!(two.calls.len(), 2);
}

#[test]
fn call_that_cannot_be_read_is_told_and_never_shown() {
    for written in [
        "call:f{a:",
        "call:f{a:1",
        "call:f{a:1}}",
        "call:f{a:1} b",
        "call:f",
        "call:f{a}",
        "call:f{:1}",
        "call:f{a:,b:1}",
        "call:f{a:<|\"|>x}",
        "call:f{a:x<|\"|>y<|\"|>}",
        "call:f{a:[1}",
        "call:f{a:\"x}",
        "f{a:1}",
    ] {
        let seen = answer(&gate(&["f"]), &format!("<|tool_call>{written}<tool_call|>"));
        assert_eq!(seen.calls, [], "{written}");
        assert_eq!(
            seen.text, "[The model called the tool f in a form that cannot be read. The call was left out.]",
            "{written}"
        );
        assert_eq!((seen.end.finish, seen.end.withheld.malformed), (Finish::Stop, 1));
    }
    let deep = format!("<|tool_call>call:f{{a:{}1{}}}<tool_call|>", "[".repeat(5000), "]".repeat(5000));
    let pieces = tokenised(&deep, |_| false);
    assert_eq!(read(Opening::Turn, gate(&["f"]), &pieces, Stop::Ended).end.withheld.malformed, 1);
}

#[test]
fn call_that_the_model_itself_left_unfinished_is_told_and_never_shown() {
    for written in ["call:f{a:", "call:f{a:<|\"|>x", "call:f"] {
        let seen = answer(&gate(&["f"]), &format!("Well.<|tool_call>{written}"));
        assert_eq!((seen.calls.len(), seen.end.withheld.malformed), (0, 1), "{written}");
        assert!(seen.text.starts_with("Well.\n\n[The model called "), "{written}: {}", seen.text);
        assert!(seen.text.ends_with("The call was left out.]"), "{written}: {}", seen.text);
        assert_eq!(seen.end.finish, Finish::Stop);
    }
}

#[test]
fn tool_that_was_not_declared_is_told_by_name_only() {
    let declared =
        gate(&["create-pdf-file", "fs.read-file", "get_weather", "alpha.read", "beta.read", "file"]);
    let seen = answer(&declared, "<|tool_call>call:delete_everything{path:<|\"|>/<|\"|>}<tool_call|>");
    assert_eq!((seen.calls.len(), seen.end.finish), (0, Finish::Stop));
    assert_eq!(
        seen.text,
        "[The model called the tool delete_everything, which is not among the declared tools. The call was left out.]"
    );
    for near in [
        "read",
        "gamma.read",
        "get-weather",
        "Get_weather",
        "delete_file",
        "my-file",
        "fs/read-file",
        ".file",
    ] {
        let seen = answer(&declared, &format!("<|tool_call>call:{near}{{p:1}}<tool_call|>"));
        assert_eq!((seen.calls.len(), seen.end.withheld.undeclared), (0, 1), "{near}");
        assert!(seen.text.contains(near));
    }
    let strange = answer(&declared, "<|tool_call>call:x<b>\n`y`{}<tool_call|>");
    assert!(strange.text.contains("the tool xby, which"), "{}", strange.text);
    let again = "<|tool_call>call:nope{}<tool_call|>".repeat(9);
    let seen = answer(&declared, &again);
    assert_eq!((seen.text.matches("nope").count(), seen.end.withheld.undeclared), (1, 9));
}

#[test]
fn only_a_declared_name_behind_a_separator_stands_for_its_prefixed_form() {
    let declared = gate(&["create-pdf-file", "fs.read-file", "alpha.read", "read"]);
    for (written, name) in [
        ("google:mcp:docs:create-pdf-file", "create-pdf-file"),
        ("tools/create-pdf-file", "create-pdf-file"),
        ("fs.read-file", "fs.read-file"),
        ("beta.read", "read"),
    ] {
        let seen = answer(&declared, &format!("<|tool_call>call:{written}{{p:1}}<tool_call|>"));
        assert_eq!(seen.calls, [(name.to_owned(), json!({ "p": 1 }))], "{written}");
    }
    let two = answer(&declared, "<|tool_call>call:mcp.alpha.read{p:1}<tool_call|>");
    assert_eq!((two.calls.len(), two.end.withheld.undeclared), (0, 1), "it ends in two declared names");
}

#[test]
fn calls_that_are_not_allowed_are_left_out_and_the_others_are_not() {
    let call = |name: &str| format!("<|tool_call>call:{name}{{city:<|\"|>Oslo<|\"|>}}<tool_call|>");
    let none = Gate { choice: ToolChoice::None, ..gate(&["f"]) };
    let seen = answer(&none, &call("f"));
    assert_eq!((seen.calls.len(), seen.end.withheld.unwanted), (0, 1));
    assert_eq!(
        seen.text,
        "[The model called the tool f, which this request does not allow. The call was left out.]"
    );
    let named = Gate { choice: ToolChoice::Named("f".into()), ..gate(&["f", "g"]) };
    assert_eq!(answer(&named, &call("g")).calls, []);
    assert_eq!(answer(&named, &call("f")).calls.len(), 1);
    let mixed = answer(&gate(&["f"]), &format!("Well.{}{}Done", call("gone"), call("f")));
    assert_eq!((mixed.calls.len(), mixed.end.finish), (1, Finish::ToolCalls));
    assert_eq!(
        mixed.text,
        "Well.\n\n[The model called the tool gone, which is not among the declared tools. The call was left out.]\n\nDone"
    );
}

#[test]
fn calls_count_wherever_they_stand_and_thinking_around_them_stays_hidden() {
    let call = |value: u32| format!("<|tool_call>call:f{{a:{value}}}<tool_call|>");
    let inside = answer(&gate(&["f"]), &format!("<|channel>thought\nI will.{}So.<channel|>ok", call(1)));
    assert_eq!((inside.text.as_str(), inside.reasoning.as_str()), ("ok", "I will.So."));
    assert_eq!(inside.calls, [("f".to_owned(), json!({ "a": 1 }))]);
    let twice = answer(
        &gate(&["f"]),
        &format!("<|channel>thought\na<channel|>{}<|channel>thought\nb<channel|>{}", call(1), call(2)),
    );
    assert_eq!((twice.text.as_str(), twice.reasoning.as_str(), twice.calls.len()), ("", "a\nb", 2));
    let named = answer(&gate(&["f"]), &format!("<|channel>thought{}x<channel|>y", call(1)));
    assert_eq!((named.text.as_str(), named.reasoning.as_str(), named.calls.len()), ("y", "x", 1));
    let mention = answer(&gate(&["f"]), "<|channel>thought\nMaybe write call:f{a:1} later<channel|>ok");
    assert_eq!((mention.text.as_str(), mention.calls.len()), ("ok", 0));
}

#[test]
fn ids_are_short_and_made_of_letters_and_digits() {
    let gate = gate(&["f"]);
    let mut answer = hangar_gemma::Answer::new(Opening::Turn, gate, CallIds::new(&"_-é9A".repeat(40)));
    answer.push(hangar_gemma::Piece::Control("<|tool_call>"));
    answer.push(hangar_gemma::Piece::Text("call:f{}"));
    let deltas = answer.push(hangar_gemma::Piece::Control("<tool_call|>"));
    let [hangar_gemma::Delta::Call(call)] = deltas.as_slice() else { panic!("no call in {deltas:?}") };
    assert_eq!(call.id, format!("call{}0", "9A".repeat(13)));
}

fn assert_one(name: &str, written: &str, arguments: Value) {
    let seen = answer(&gate(&[name]), &format!("<|tool_call>call:{name}{written}<tool_call|>"));
    assert_eq!(seen.calls, [(name.to_owned(), arguments)], "{written}: {}", seen.text);
    assert_eq!((seen.text.as_str(), seen.end.finish), ("", Finish::ToolCalls));
    assert_eq!(seen.end.withheld, Withheld::default());
}
