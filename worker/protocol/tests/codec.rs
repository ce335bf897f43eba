//! The codec under every way of cutting, and under what is not a frame.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use hangar_protocol::{
    FrameError, FromWorker, MAX_FROM_WORKER_BYTES, Ping, Pong, Splitter, ToWorker, decode, encode,
};

fn lines(splitter: &mut Splitter) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| splitter.next_line().unwrap()).collect()
}

#[test]
fn a_frame_survives_the_round_trip() {
    let frame = ToWorker::Ping(Ping { nonce: u64::MAX });
    let line = encode(&frame).unwrap();
    assert_eq!(line.last(), Some(&b'\n'));
    assert_eq!(decode::<ToWorker>(&line[..line.len() - 1]).unwrap(), frame);
}

#[test]
fn frames_are_the_same_for_every_way_of_cutting_the_stream() {
    let stream: Vec<u8> =
        (0..3).flat_map(|nonce| encode(&FromWorker::Pong(Pong { nonce })).unwrap()).collect();
    let whole = {
        let mut splitter = Splitter::new(1024);
        splitter.push(&stream);
        lines(&mut splitter)
    };
    assert_eq!(whole.len(), 3);
    for size in 1..stream.len() {
        let mut splitter = Splitter::new(1024);
        let mut found = Vec::new();
        for chunk in stream.chunks(size) {
            splitter.push(chunk);
            found.extend(lines(&mut splitter));
        }
        assert_eq!(found, whole, "chunks of {size}");
    }
}

#[test]
fn a_line_over_the_limit_is_refused_before_its_end_is_seen() {
    let mut splitter = Splitter::new(MAX_FROM_WORKER_BYTES);
    splitter.push(&vec![b'x'; MAX_FROM_WORKER_BYTES + 1]);
    assert!(matches!(splitter.next_line(), Err(FrameError::TooLarge { .. })));
}

#[test]
fn a_finished_line_over_the_limit_is_refused_too() {
    let mut splitter = Splitter::new(4);
    splitter.push(b"12345\n");
    assert!(matches!(splitter.next_line(), Err(FrameError::TooLarge { limit_bytes: 4 })));
    let mut splitter = Splitter::new(4);
    splitter.push(b"1234\n");
    assert_eq!(splitter.next_line().unwrap(), Some(b"1234".to_vec()));
}

#[test]
fn what_is_not_a_frame_is_an_error_that_does_not_quote_it() {
    for line in [
        &b"Traceback: secret"[..],
        b"{}",
        b"{\"type\":\"secret\"}",
        b"{\"type\":\"ping\"}",
        b"{\"type\":\"ping\",\"nonce\":-1}",
        b"{\"type\":\"ping\",\"nonce\":1} secret",
        b"\xff\xfe",
        b"null",
    ] {
        let error = decode::<ToWorker>(line).unwrap_err();
        assert!(matches!(error, FrameError::Malformed { .. }), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
