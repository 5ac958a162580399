//! Reads a file piece by piece.

use std::{io::Read, iter::FusedIterator};

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

/// A file of conversations, as a stream of its items.
///
/// After an error, and after the end, it is exhausted.
#[derive(Debug)]
pub struct TranscriptReader<R> {
    source: FileSource<R>,
    format: TranscriptFormat,
    state: TranscriptState,
    gathered: Gathered,
    text: PlainText,
    conversations: u64,
}

/// The next expected part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptState {
    /// A line of plain text.
    Text,
    /// A value of JSON on a line of its own.
    Line,
    /// A value of JSON, or the end.
    Value,
    /// An element, or `]`; where `first` is set, the `[` before it.
    Element {
        first: bool,
        in_object: bool,
    },
    /// A key of the object around the array, or `}`; where `first` is set, the `{` before it.
    Key {
        first: bool,
    },
    End,
    Over,
}

impl TranscriptState {
    /// The beginning of a file that is one array of pieces.
    pub(crate) const ARRAY: Self = Self::Element {
        first: true,
        in_object: false,
    };
    /// The beginning of an object with one array of pieces, under `messages`, a key that `recognise` has found.
    pub(crate) const OBJECT: Self = Self::Key { first: true };
}

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
        let (format, state) = recognise(&head, format)?;
        Ok(Self {
            source,
            format,
            state,
            gathered: Gathered::new(limits),
            text: PlainText::default(),
            conversations: 0,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> TranscriptFormat {
        self.format
    }

    /// Reads the next piece into `gathered`.
    fn advance(&mut self) -> Result<(), Error> {
        match self.state {
            TranscriptState::Text => {
                if !self.text.read(&mut self.source, &mut self.gathered)? {
                    self.state = TranscriptState::Over;
                }
            }
            TranscriptState::Line => self.line()?,
            TranscriptState::Value => self.value()?,
            TranscriptState::Element { first, in_object } => self.element(first, in_object)?,
            TranscriptState::Key { first } => self.key(first)?,
            TranscriptState::End => match self.source.peek()? {
                None => self.state = TranscriptState::Over,
                // Text behind the end is an error, so that it is not lost: a second array, or half of one.
                Some(_) => return Err(Error::Broken(self.source.place())),
            },
            TranscriptState::Over => {}
        }
        Ok(())
    }

    fn line(&mut self) -> Result<(), Error> {
        let place = self.source.place();
        match self
            .source
            .take_line(self.gathered.limits.conversation_bytes)?
        {
            PieceRead::TooLarge => self.gathered.skip(place, NoMessageReason::TooLarge),
            // A blank line is no loss, so that it is not reported.
            PieceRead::Whole if self.source.piece.iter().all(|byte| is_space(*byte)) => {}
            PieceRead::Whole => self.message(place),
            PieceRead::Truncated | PieceRead::Nothing => self.state = TranscriptState::Over,
        }
        Ok(())
    }

    fn value(&mut self) -> Result<(), Error> {
        if self.source.peek()?.is_none() {
            self.state = TranscriptState::Over;
            return Ok(());
        }
        self.piece()
    }

    fn element(&mut self, first: bool, in_object: bool) -> Result<(), Error> {
        if !self.source.next_element(first)? {
            self.state = match in_object {
                true => TranscriptState::Key { first: false },
                false => TranscriptState::End,
            };
            return Ok(());
        }
        self.state = TranscriptState::Element {
            first: false,
            in_object,
        };
        self.piece()
    }

    fn key(&mut self, first: bool) -> Result<(), Error> {
        if !self.source.next_field(first)? {
            self.state = TranscriptState::End;
            return Ok(());
        }
        let is_messages = self.source.piece == b"\"messages\"";
        self.state = TranscriptState::Key { first: false };
        match self.source.peek()? {
            Some(b'[') if is_messages => {
                self.state = TranscriptState::Element {
                    first: true,
                    in_object: true,
                };
            }
            _ => {
                let place = self.source.place();
                // 0: it is skipped, and nothing of it is kept.
                self.source.expect_value(0)?;
                if is_messages {
                    self.gathered
                        .skip(place, NoMessageReason::InvalidField("messages"));
                }
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
        match self
            .source
            .take_value(self.gathered.limits.conversation_bytes)?
        {
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

impl<R: Read> Iterator for TranscriptReader<R> {
    type Item = Result<Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.gathered.items.pop_front() {
                return Some(item);
            }
            if self.state == TranscriptState::Over {
                return None;
            }
            let failure = self.advance().err();
            if failure.is_some() {
                self.state = TranscriptState::Over;
            }
            if self.state == TranscriptState::Over {
                self.gathered.release();
            }
            self.gathered.items.extend(failure.map(Err));
        }
    }
}

impl<R: Read> FusedIterator for TranscriptReader<R> {}
