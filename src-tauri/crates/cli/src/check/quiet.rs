//! A sound file made longer by silence in front, so that a late word needs no large file.

/// The only header that is understood: 44 bytes, one channel, 16 bits, 16 kHz.
const HEADER_BYTES: usize = 44;
const FORMAT: [u8; 24] = *b"fmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0";
const BYTES_PER_SECOND: usize = 32_000;

/// The file with so many seconds of silence before its sound; nothing where its header is another.
pub(crate) fn before(wav: &[u8], seconds: u32) -> Option<Vec<u8>> {
    let (header, sound) = wav.split_at_checked(HEADER_BYTES)?;
    let known = header.starts_with(b"RIFF")
        && header.get(8..12)? == b"WAVE"
        && header.get(12..36)? == FORMAT
        && header.get(36..40)? == b"data";
    if !known {
        return None;
    }
    let quiet = usize::try_from(seconds).ok()?.checked_mul(BYTES_PER_SECOND)?;
    let length = u32::try_from(quiet.checked_add(sound.len())?).ok()?;
    let mut made = Vec::with_capacity(HEADER_BYTES + quiet + sound.len());
    made.extend_from_slice(b"RIFF");
    made.extend_from_slice(&length.checked_add(36)?.to_le_bytes());
    made.extend_from_slice(b"WAVE");
    made.extend_from_slice(&FORMAT);
    made.extend_from_slice(b"data");
    made.extend_from_slice(&length.to_le_bytes());
    made.resize(HEADER_BYTES + quiet, 0);
    made.extend_from_slice(sound);
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(sound: &[u8]) -> Vec<u8> {
        let mut made = b"RIFF\0\0\0\0WAVE".to_vec();
        made.extend_from_slice(&FORMAT);
        made.extend_from_slice(b"data\0\0\0\0");
        made.extend_from_slice(sound);
        made
    }

    #[test]
    fn silence_stands_before_the_sound_and_both_lengths_tell_of_it() {
        let made = before(&file(&[1, 2, 3, 4]), 2).unwrap();
        assert_eq!(made.len(), 44 + 64_000 + 4);
        assert_eq!(made[4..8], (36_u32 + 64_004).to_le_bytes());
        assert_eq!(made[40..44], 64_004_u32.to_le_bytes());
        assert!(made[44..64_044].iter().all(|byte| *byte == 0));
        assert_eq!(made[64_044..], [1, 2, 3, 4]);
    }

    #[test]
    fn another_header_is_not_guessed_at() {
        let mut stereo = file(&[0; 8]);
        stereo[22] = 2;
        for wav in [stereo, b"RIFF".to_vec(), Vec::new()] {
            assert_eq!(before(&wav, 1), None);
        }
    }
}
