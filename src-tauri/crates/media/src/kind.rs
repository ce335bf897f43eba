//! What media is, told by its first bytes; what a client calls it counts only where the bytes say nothing.

/// A form of media that is decoded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP, lossy or not.
    Webp,
    /// RIFF with samples.
    Wav,
    /// MPEG audio, layer 3.
    Mp3,
    /// AAC in an MP4 container, which is what M4A is.
    Mp4,
    /// AAC in a stream of its own.
    Aac,
    /// FLAC.
    Flac,
    /// Vorbis or FLAC in an Ogg container.
    Ogg,
}

/// What a sense of the model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Pictures.
    Sight,
    /// Sound.
    Hearing,
}

impl MediaKind {
    /// The kind that the bytes are by their beginning; none where they are nothing that is decoded here.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let at =
            |from: usize, pattern: &[u8]| bytes.get(from..).is_some_and(|rest| rest.starts_with(pattern));
        if at(0, b"\x89PNG\r\n\x1a\n") {
            return Some(Self::Png);
        }
        if at(0, &[0xFF, 0xD8, 0xFF]) {
            return Some(Self::Jpeg);
        }
        if at(0, b"RIFF") {
            return if at(8, b"WAVE") { Some(Self::Wav) } else { at(8, b"WEBP").then_some(Self::Webp) };
        }
        if at(4, b"ftyp") {
            return Some(Self::Mp4);
        }
        if at(0, b"fLaC") {
            return Some(Self::Flac);
        }
        if at(0, b"OggS") {
            return Some(Self::Ogg);
        }
        if at(0, b"ID3") {
            return Some(Self::Mp3);
        }
        match bytes {
            // Eleven bits of sync, then version and layer: layer "0" is AAC's own header.
            [0xFF, second, ..] if second & 0xF6 == 0xF0 => Some(Self::Aac),
            [0xFF, second, ..] if second & 0xE0 == 0xE0 && second & 0x06 == 0x02 && second & 0x18 != 0x08 => {
                Some(Self::Mp3)
            }
            _ => None,
        }
    }

    /// Which sense takes it.
    pub fn sense(self) -> Sense {
        match self {
            Self::Png | Self::Jpeg | Self::Webp => Sense::Sight,
            Self::Wav | Self::Mp3 | Self::Mp4 | Self::Aac | Self::Flac | Self::Ogg => Sense::Hearing,
        }
    }

    /// The names it goes by, the best known first.
    pub fn mime_types(self) -> &'static [&'static str] {
        match self {
            Self::Png => &["image/png", "image/x-png"],
            Self::Jpeg => &["image/jpeg", "image/jpg", "image/pjpeg"],
            Self::Webp => &["image/webp"],
            Self::Wav => &["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"],
            Self::Mp3 => &["audio/mpeg", "audio/mp3", "audio/x-mp3", "audio/mpeg3"],
            Self::Mp4 => &["audio/mp4", "audio/m4a", "audio/x-m4a"],
            Self::Aac => &["audio/aac", "audio/x-aac", "audio/aacp"],
            Self::Flac => &["audio/flac", "audio/x-flac"],
            Self::Ogg => &["audio/ogg", "application/ogg", "audio/vorbis"],
        }
    }

    /// Whether any of its names is in a list.
    pub fn is_among(self, allowed: &[String]) -> bool {
        allowed.iter().any(|name| self.mime_types().iter().any(|known| known.eq_ignore_ascii_case(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_it_is() {
        let known: [(&[u8], MediaKind); 12] = [
            (b"\x89PNG\r\n\x1a\n", MediaKind::Png),
            (b"\xFF\xD8\xFF\xE0", MediaKind::Jpeg),
            (b"RIFF\0\0\0\0WEBPVP8 ", MediaKind::Webp),
            (b"RIFF\xFF\xFF\xFF\xFFWAVEfmt ", MediaKind::Wav),
            (b"ID3\x04", MediaKind::Mp3),
            (b"\xFF\xFB\x90", MediaKind::Mp3),
            (b"\xFF\xF3\x90", MediaKind::Mp3),
            (b"\xFF\xE3\x90", MediaKind::Mp3),
            (b"\0\0\0\x20ftypM4A ", MediaKind::Mp4),
            (b"\xFF\xF1\x50", MediaKind::Aac),
            (b"fLaC\0", MediaKind::Flac),
            (b"OggS\0", MediaKind::Ogg),
        ];
        for (bytes, kind) in known {
            assert_eq!(MediaKind::of(bytes), Some(kind), "{bytes:x?}");
        }
        let unknown: [&[u8]; 8] = [
            b"",
            b"\xFF",
            b"RIFF",
            b"RIFF\0\0\0\0AVI ",
            b"GIF89a",
            b"<svg",
            b"%PDF-1.4",
            b"\x1A\x45\xDF\xA3",
        ];
        for bytes in unknown {
            assert_eq!(MediaKind::of(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn any_of_its_names_allows_a_kind() {
        let allowed = ["Audio/X-M4A".to_owned()];
        assert!(MediaKind::Mp4.is_among(&allowed));
        assert!(!MediaKind::Aac.is_among(&allowed));
        assert!(!MediaKind::Wav.is_among(&[]));
    }
}
