//! Reads a file piece by piece.

use std::{io::Read, ops::ControlFlow};

use memoir_domain::PrivateText;

use crate::{
    Error, FilePosition, Item, NoMessageReason, TranscriptFormat, TranscriptLimits, chatgpt,
    claude, claude_code, codex, copilot,
    gather::{ExportedConversation, Gathered},
    gemini, gemini_takeout, messages,
    raw::{Raw, is_space},
    recognise::recognise,
    source::{FileSource, PieceRead},
    text::PlainText,
};

/// A file of conversations, which is read item by item.
#[derive(Debug)]
pub struct TranscriptReader<R> {
    source: FileSource<R>,
    format: TranscriptFormat,
    layout: FileLayout,
    gathered: Gathered,
    conversations: u64,
}

/// Where the pieces of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileLayout {
    /// Lines of plain text.
    Text,
    /// A value of JSON on each line.
    Line,
    /// Values of JSON, one after the other.
    Value,
    /// One array of pieces.
    Array,
    /// An object with one array of pieces, under `messages`, a key that `recognise` has found.
    Object,
}

/// The receiver of the items, which can stop the reading.
type Receiver<'a> = &'a mut dyn FnMut(Item) -> ControlFlow<()>;
/// Why reading ends before the end; `None` where the receiver stopped it.
type Stop = Option<Error>;

impl<R: Read> TranscriptReader<R> {
    /// Opens `reader`. Unless the format is given, it is recognised by the first 256 KB; no more is read here.
    ///
    /// # Errors
    /// Reading fails; the format cannot be recognised; the file cannot be in the given format.
    pub fn open(reader: R, format: Option<TranscriptFormat>) -> Result<Self, Error> {
        Self::open_within(reader, format, TranscriptLimits::default())
    }

    /// As [`TranscriptReader::open`], with other limits.
    ///
    /// # Errors
    /// As for [`TranscriptReader::open`].
    pub fn open_within(
        reader: R,
        format: Option<TranscriptFormat>,
        limits: TranscriptLimits,
    ) -> Result<Self, Error> {
        let (source, head) = FileSource::open(reader)?;
        let (format, layout) = recognise(&head, format)?;
        Ok(Self {
            source,
            format,
            layout,
            gathered: Gathered::new(limits),
            conversations: 0,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> TranscriptFormat {
        self.format
    }

    /// Reads all of it, and passes each item to `give`, which can stop the reading.
    ///
    /// # Errors
    /// The file cannot be read on. The items before that place were passed on.
    pub fn read(mut self, give: Receiver<'_>) -> Result<(), Error> {
        let failure = match self.pieces(give) {
            Ok(()) => None,
            Err(Some(error)) => Some(error),
            Err(None) => return Ok(()),
        };
        self.gathered.release();
        match self.pass_on(give) {
            Ok(()) => failure.map_or(Ok(()), Err),
            Err(_) => Ok(()),
        }
    }

    fn pieces(&mut self, give: Receiver<'_>) -> Result<(), Stop> {
        match self.layout {
            FileLayout::Text => {
                let mut text = PlainText::default();
                while text.read(&mut self.source, &mut self.gathered)? {
                    self.pass_on(give)?;
                }
                return Ok(());
            }
            FileLayout::Line => {
                while self.line()? {
                    self.pass_on(give)?;
                }
                return Ok(());
            }
            FileLayout::Value => {
                while self.source.peek()?.is_some() {
                    self.piece()?;
                    self.pass_on(give)?;
                }
                return Ok(());
            }
            FileLayout::Array => self.array(give)?,
            FileLayout::Object => self.object(give)?,
        }
        match self.source.peek()? {
            None => Ok(()),
            // Text behind the end is an error, so that it is not lost: a second array, or half of one.
            Some(_) => Err(Some(Error::Broken(self.source.place()))),
        }
    }

    /// Passes on what was found so far.
    fn pass_on(&mut self, give: Receiver<'_>) -> Result<(), Stop> {
        match self.gathered.items.drain(..).try_for_each(give) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(None),
        }
    }

    /// Reads a line. Returns whether there was one.
    fn line(&mut self) -> Result<bool, Error> {
        let place = self.source.place();
        let limit = self.gathered.limits.conversation_bytes;
        match self.source.take_line(limit)? {
            PieceRead::TooLarge => self.gathered.skip(place, NoMessageReason::TooLarge),
            // A blank line is no loss, so that it is not reported.
            PieceRead::Whole if self.source.piece.iter().all(|byte| is_space(*byte)) => {}
            PieceRead::Whole => self.message(place),
            PieceRead::Truncated | PieceRead::Nothing => return Ok(false),
        }
        Ok(true)
    }

    fn array(&mut self, give: Receiver<'_>) -> Result<(), Stop> {
        let mut first = true;
        while self.source.next_element(first)? {
            first = false;
            self.piece()?;
            self.pass_on(give)?;
        }
        Ok(())
    }

    fn object(&mut self, give: Receiver<'_>) -> Result<(), Stop> {
        let mut first = true;
        while self.source.next_field(first)? {
            first = false;
            let is_messages = self.source.piece == b"\"messages\"";
            if self.source.peek()? == Some(b'[') && is_messages {
                self.array(give)?;
                continue;
            }
            let place = self.source.place();
            // 0: it is skipped, and nothing of it is kept.
            self.source.expect_value(0)?;
            if is_messages {
                let reason = NoMessageReason::InvalidField("messages");
                self.gathered.skip(place, reason);
                self.pass_on(give)?;
            }
        }
        Ok(())
    }

    fn piece(&mut self) -> Result<(), Error> {
        let is_export = matches!(
            self.format,
            TranscriptFormat::ChatGpt | TranscriptFormat::Claude
        );
        let mut place = self.source.place();
        if is_export {
            // Counted whether it is readable or not: the number is that of the conversation in the file.
            self.conversations += 1;
            place.conversation = Some(self.conversations);
        }
        let limit = self.gathered.limits.conversation_bytes;
        match self.source.take_value(limit)? {
            PieceRead::TooLarge => self.gathered.skip(place, NoMessageReason::TooLarge),
            PieceRead::Whole if is_export => self.conversation(place),
            PieceRead::Whole => self.message(place),
            PieceRead::Truncated => {
                // Reported twice, as a loss and as the reason for the end: the loss has the position of its beginning.
                self.gathered.skip(place, NoMessageReason::Malformed);
                return Err(Error::Truncated(self.source.place()));
            }
            PieceRead::Nothing => return Err(Error::Broken(place)),
        }
        Ok(())
    }

    fn conversation(&mut self, place: FilePosition) {
        let mut element = ExportedConversation::new(&self.source.piece, place);
        let read = match self.format {
            TranscriptFormat::ChatGpt => chatgpt::read,
            _ => claude::read,
        };
        if let Err((at, reason)) = read(&mut element, &mut self.gathered) {
            self.gathered.skip(element.place_of(at, None), reason);
        }
    }

    fn message(&mut self, mut place: FilePosition) {
        let gathered = &mut self.gathered;
        let Ok(raw) = Raw::whole(&self.source.piece) else {
            return gathered.skip(place, NoMessageReason::Malformed);
        };
        let read = match self.format {
            TranscriptFormat::GeminiTakeout => {
                return gathered.hold(gemini_takeout::read(raw), place);
            }
            TranscriptFormat::ClaudeCode => claude_code::read,
            TranscriptFormat::Codex => codex::read,
            TranscriptFormat::Copilot => copilot::read,
            TranscriptFormat::Gemini => gemini::read,
            _ => messages::read,
        };
        // Before it is read, so that a refused message is named in the report.
        let [id, uuid] = raw.fields(["id", "uuid"]).unwrap_or_default();
        let id = match self.format {
            TranscriptFormat::ClaudeCode => uuid,
            TranscriptFormat::Messages => id,
            _ => None,
        };
        place.id = id.and_then(Raw::id).map(PrivateText::from);
        gathered.take(read(raw), place);
    }
}
