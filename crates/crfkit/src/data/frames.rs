//! zstd data: a sequence of frames, each with its own window and usually a checksum.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufReader, ErrorKind, Read};

/// The first bytes of frames that hold nothing to decode. The lowest four bits can have any value.
const SKIPPABLE: u32 = 0x184D_2A50;
/// The largest window: 128 MiB, the limit of `zstd` itself unless told otherwise.
const WINDOW: u64 = 1 << 27;
/// Size of the buffer, as in [`super::text`].
const BUFFER: usize = 256 * 1024;

/// A reader that decodes consecutive frames as one text.
pub(super) struct Frames<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    /// Whether a frame has begun and is not yet read to its end.
    open: bool,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Frames { source: BufReader::with_capacity(BUFFER, source), decoder, open: false }
    }

    /// Begins the next frame. Returns false at the end of the data.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut magic = Vec::with_capacity(4);
            self.source.by_ref().take(4).read_to_end(&mut magic)?;
            let Ok(number) = magic[..].try_into().map(u32::from_le_bytes) else {
                return if magic.is_empty() { Ok(false) } else { Err(ErrorKind::UnexpectedEof.into()) };
            };
            if number & !0xF != SKIPPABLE {
                self.decoder.reset(Read::chain(&magic[..], &mut self.source)).map_err(invalid)?;
                return Ok(true);
            }
            let mut length = [0; 4];
            self.source.read_exact(&mut length)?;
            let length = u32::from_le_bytes(length).into();
            if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Verifies the checksum of a frame that has been read to its end, if it has one.
    fn check(&self) -> io::Result<()> {
        let told = self.decoder.get_checksum_from_data();
        match told.is_none() || told == self.decoder.get_calculated_checksum() {
            true => Ok(()),
            false => Err(invalid("a checksum is wrong")),
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.open {
                self.open = self.next_frame()?;
                if !self.open {
                    return Ok(0);
                }
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.open = false;
            } else {
                let some = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, some).map_err(invalid)?;
            }
        }
    }
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}
