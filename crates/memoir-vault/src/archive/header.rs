//! The beginning of an archive, and the key that it and the passphrase give.

use std::io::Read;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroizing;

use super::{ArchiveError, Passphrase, Result, is_archive};
use crate::secret::Secret;

/// How an archive of this version begins.
const MAGIC: &[u8; 18] = b"memoir-archive-v1\n";
const SALT_BYTES: usize = 16;
/// The part of a nonce that is the same for all frames.
const NONCE_BYTES: usize = 19;
/// Of the whole header.
const HEADER_BYTES: usize = MAGIC.len() + 12 + SALT_BYTES + NONCE_BYTES;

/// What deriving an archive's key costs, and so each guess at its passphrase: the parameters of Argon2id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[display("{memory_kib} KiB of memory, {passes} passes and {lanes} lanes")]
pub struct Cost {
    /// Memory, in KiB.
    pub memory_kib: u32,
    /// How often it is passed through.
    pub passes: u32,
    /// How many parts of it can be computed in parallel. Memoir computes one after the other.
    pub lanes: u32,
}

/// The data in front of the frames, bound to each of them.
pub(super) struct ArchiveHeader {
    cost: Cost,
    salt: [u8; SALT_BYTES],
    nonce: [u8; NONCE_BYTES],
}

impl Cost {
    /// What archives are made with: four times the memory of the second recommendation of RFC 9106.
    pub const DEFAULT: Self = Self {
        memory_kib: 256 << 10,
        passes: 3,
        // Kept in the header although the work is done one lane after the other: a reader that has
        // threads may use them.
        lanes: 4,
    };
    /// The maximum of each, since an untrusted file states its own cost.
    pub const LIMIT: Self = Self {
        memory_kib: 1 << 20,
        passes: 16,
        lanes: 16,
    };

    /// Refuses values out of bounds, before any cost.
    fn check(self) -> Result<Self> {
        let is_within = self.memory_kib <= Self::LIMIT.memory_kib
            && (1..=Self::LIMIT.passes).contains(&self.passes)
            && (1..=Self::LIMIT.lanes).contains(&self.lanes)
            // RFC 9106, 3.1.
            && self.memory_kib >= 8 * self.lanes;
        is_within.then_some(self).ok_or(ArchiveError::Cost(self))
    }
}

impl ArchiveHeader {
    /// With a salt and a nonce of its own.
    pub(super) fn new(cost: Cost) -> Result<Self> {
        let mut header = Self {
            cost: cost.check()?,
            salt: [0; SALT_BYTES],
            nonce: [0; NONCE_BYTES],
        };
        getrandom::fill(&mut header.salt).map_err(|_| ArchiveError::Random)?;
        getrandom::fill(&mut header.nonce).map_err(|_| ArchiveError::Random)?;
        Ok(header)
    }

    /// Reads the first bytes of an archive.
    pub(super) fn read(reader: impl Read) -> Result<Self> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        reader.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
        // In this order, so that an archive of a newer version is not called broken.
        if !is_archive(&bytes) {
            return Err(ArchiveError::NotAnArchive);
        }
        if bytes.len() >= MAGIC.len() && !bytes.starts_with(MAGIC) {
            return Err(ArchiveError::Newer);
        }
        Self::decode(&bytes).ok_or(ArchiveError::CutOff)?
    }

    /// `None` where there are too few bytes.
    fn decode(bytes: &[u8]) -> Option<Result<Self>> {
        let (_, bytes) = bytes.split_at_checked(MAGIC.len())?;
        let (&memory_kib, bytes) = bytes.split_first_chunk()?;
        let (&passes, bytes) = bytes.split_first_chunk()?;
        let (&lanes, bytes) = bytes.split_first_chunk()?;
        let (&salt, bytes) = bytes.split_first_chunk()?;
        let (&nonce, _) = bytes.split_first_chunk()?;
        let cost = Cost {
            memory_kib: u32::from_be_bytes(memory_kib),
            passes: u32::from_be_bytes(passes),
            lanes: u32::from_be_bytes(lanes),
        };
        Some(cost.check().map(|cost| Self { cost, salt, nonce }))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        [
            MAGIC.as_slice(),
            &self.cost.memory_kib.to_be_bytes(),
            &self.cost.passes.to_be_bytes(),
            &self.cost.lanes.to_be_bytes(),
            &self.salt,
            &self.nonce,
        ]
        .concat()
    }

    /// Of every nonce, the first bytes.
    pub(super) fn nonce(&self) -> &[u8; NONCE_BYTES] {
        &self.nonce
    }

    /// The archive's key. Takes as long as the cost says.
    pub(super) fn key(&self, passphrase: &Passphrase) -> Result<Secret> {
        let Cost {
            memory_kib,
            passes,
            lanes,
        } = self.cost;
        let params = Params::new(memory_kib, passes, lanes, Some(32))
            .map_err(|_| ArchiveError::Cost(self.cost))?;
        let mut memory = self.memory(params.block_count())?;
        let mut key = Secret::zeroed();
        // Fails for parameters that were checked already, and for a passphrase of 4 GiB.
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(
                passphrase.expose().as_bytes(),
                &self.salt,
                key.expose_mut(),
                memory.as_mut_slice(),
            )
            .map_err(|_| ArchiveError::Passphrase)?;
        Ok(key)
    }

    /// Of our own, so that it is wiped: the key follows from it.
    fn memory(&self, blocks: usize) -> Result<Zeroizing<Vec<Block>>> {
        let mut memory = Zeroizing::new(Vec::new());
        memory
            .try_reserve_exact(blocks)
            .map_err(|_| ArchiveError::Memory(self.cost))?;
        memory.resize(blocks, Block::default());
        Ok(memory)
    }
}
