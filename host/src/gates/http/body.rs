//! Reads an answer's body within a limit that holds before and after it is
//! unpacked, so that neither a flood nor a bomb is ever held in memory.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use reqwest::header::CONTENT_ENCODING;

use super::client::failure;
use super::target::Target;
use crate::gates::{GateError, GateErrorKind};

/// Bytes up to a limit; writing past it fails.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    exceeded: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.most - self.bytes.len() {
            self.exceeded = true;
            return Err(io::Error::other("more than the limit"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum Sink {
    Plain(Bounded),
    // Boxed: its window is far larger than the other case.
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

impl Sink {
    fn bounded(&self) -> &Bounded {
        match self {
            Self::Plain(bounded) => bounded,
            Self::Gzip(decoder) => decoder.get_ref(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(bounded) => bounded.write_all(bytes),
            Self::Gzip(decoder) => decoder.write_all(bytes),
        }
    }

    /// Unpacks the last bytes, and notices when some are missing.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
        }
    }

    fn take(&mut self) -> Vec<u8> {
        match self {
            Self::Plain(bounded) => std::mem::take(&mut bounded.bytes),
            Self::Gzip(decoder) => std::mem::take(&mut decoder.get_mut().bytes),
        }
    }
}

pub(super) async fn read(
    mut response: reqwest::Response,
    target: &Target,
    most: usize,
) -> Result<Vec<u8>, GateError> {
    let too_large = || {
        GateError::other("too-large", format!("the answer of {target} has more than {most} bytes"))
    };
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let mut sink = sink_for(&response, target, most)?;
    let mut received = 0_usize;
    while let Some(chunk) = response.chunk().await.map_err(|error| failure(error, target))? {
        // What comes over the wire counts too: a packed stream can be endless and
        // unpack to nothing.
        received += chunk.len();
        if received > most {
            return Err(too_large());
        }
        check(sink.write(&chunk), &sink, target, too_large)?;
    }
    // An answer without a body (to HEAD, for one) may still name an encoding.
    if received > 0 {
        check(sink.finish(), &sink, target, too_large)?;
    }
    Ok(sink.take())
}

fn sink_for(response: &reqwest::Response, target: &Target, most: usize) -> Result<Sink, GateError> {
    let bounded = Bounded { bytes: Vec::new(), most, exceeded: false };
    let encodings: Vec<String> = response
        .headers()
        .get_all(CONTENT_ENCODING)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).trim().to_ascii_lowercase())
        .collect();
    match encodings.join(", ").as_str() {
        "" | "identity" => Ok(Sink::Plain(bounded)),
        "gzip" | "x-gzip" => Ok(Sink::Gzip(Box::new(MultiGzDecoder::new(bounded)))),
        other => Err(GateError::other(
            "encoding",
            format!("{target} answered in the encoding `{other}`, and only gzip was asked for"),
        )),
    }
}

fn check(
    result: io::Result<()>,
    sink: &Sink,
    target: &Target,
    too_large: impl Fn() -> GateError,
) -> Result<(), GateError> {
    result.map_err(|error| {
        if sink.bounded().exceeded {
            return too_large();
        }
        GateError::new(
            GateErrorKind::Unavailable,
            format!("the answer of {target} cannot be unpacked: {error}"),
        )
    })
}
