//! Why media cannot be used. No message repeats any of the content.

/// Why an image or a clip is refused, with the cure where there is one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MediaError {
    /// There are no bytes.
    #[error("media holds no bytes")]
    Empty,
    /// The encoded form is over the limit.
    #[error("media has {found_bytes} bytes; the limit is {limit_bytes}")]
    TooManyBytes {
        /// Size of the encoded form.
        found_bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
    /// It is given as an address or a path, which are not followed.
    #[error(
        "media is no data URL: nothing else is read, no address is fetched and no file opened; send data:<type>;base64,<data>"
    )]
    NotInline,
    /// The data is not written as it has to be.
    #[error("media is not valid base64: {what}; send data:<type>;base64,<data>")]
    NotBase64 {
        /// What is wrong.
        what: &'static str,
    },
    /// The bytes are no picture that is decoded.
    #[error("image is no PNG, JPEG or WebP: convert it to one of them")]
    ImageUnknown,
    /// The header promises more pixels than are decoded.
    #[error("image has {width} x {height} pixels; the limit is {limit_pixels}: scale it down")]
    ImageTooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// Most pixels allowed.
        limit_pixels: u64,
    },
    /// The picture is cut short or broken.
    #[error("image is damaged: {what}")]
    ImageDamaged {
        /// The decoder's reason.
        what: String,
    },
    /// The bytes are no sound that is decoded.
    #[error("audio is no WAV, MP3, M4A, AAC, FLAC or Ogg: convert it to one of them")]
    AudioUnknown,
    /// The sound is coded in a way that is not read.
    #[error(
        "audio is coded in a way that is not read, such as Opus or HE-AAC: send AAC-LC, MP3, FLAC, Vorbis or WAV"
    )]
    AudioCodec,
    /// The sound is broken.
    #[error("audio is damaged: {what}")]
    AudioDamaged {
        /// What is wrong.
        what: &'static str,
    },
    /// The header promises more samples than there are.
    #[error(
        "audio is cut short: its header promises {promised_bytes} bytes of samples, {found_bytes} are there"
    )]
    AudioCutShort {
        /// Bytes the header promises.
        promised_bytes: usize,
        /// Bytes that follow it.
        found_bytes: usize,
    },
    /// The samples are coded in a way that is not read.
    #[error(
        "audio has WAV format {tag} with {bits} bits a sample: send PCM of 8, 16, 24 or 32 bits or float of 32 or 64 bits"
    )]
    AudioCoding {
        /// WAV format tag, of the sub-format where there is one.
        tag: u16,
        /// Bits a sample.
        bits: u16,
    },
    /// There are too many channels to be a recording.
    #[error("audio has {channels} channels; up to {limit} are mixed down")]
    AudioChannels {
        /// Channels in the header.
        channels: usize,
        /// Most channels allowed.
        limit: usize,
    },
    /// The sample rate is none of a recording.
    #[error("audio has a sample rate of {rate_hz} Hz; from {least_hz} to {most_hz} Hz are converted")]
    AudioRate {
        /// Rate in the header.
        rate_hz: u32,
        /// Least rate.
        least_hz: u32,
        /// Highest rate.
        most_hz: u32,
    },
    /// The clip is too short to hear anything in.
    #[error("audio lasts {found_ms} ms; the least is {least_ms} ms")]
    AudioTooShort {
        /// Duration of the clip.
        found_ms: u64,
        /// Least duration.
        least_ms: u64,
    },
    /// The clip is longer than is taken.
    #[error("audio lasts {found_ms} ms; the limit is {limit_ms} ms: send less at once")]
    AudioTooLong {
        /// Duration of the clip.
        found_ms: u64,
        /// Longest duration.
        limit_ms: u64,
    },
}
