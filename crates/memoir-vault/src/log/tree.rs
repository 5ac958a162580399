//! The leaves of the log, the root over them, and whether a log is a longer form of an earlier one.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use memoir_domain::{AgentId, Timestamp};
use sha2::{Digest, Sha256};

use super::Checkpoint;
use crate::{
    chain::{ChainHead, RecordHash},
    text::hex,
};

/// The first byte of a leaf in the form that this version writes.
const LEAF_VERSION: u8 = 1;

/// That the head of an agent's chain was there at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Leaf {
    /// Whose chain.
    pub agent: AgentId,
    /// The last record's place in the chain.
    pub seq: u64,
    /// The last record's hash.
    pub head: RecordHash,
    /// When the leaf was added.
    pub recorded_at: Timestamp,
}

/// The length of the log and its root.
#[derive(Clone, Copy, PartialEq, Eq, Hash, derive_more::Debug)]
#[debug("{} leaves, {}", self.size, hex(&self.hash).as_str())]
pub struct Root {
    /// Leaves.
    pub size: u64,
    /// The Merkle tree hash of RFC 6962, section 2.1.
    pub hash: [u8; 32],
}

/// How a log is not a longer form of the one that a checkpoint was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum NotGrown {
    #[error("the log was cut off: the checkpoint covers {checkpoint} entries, there are {size}")]
    Shorter { checkpoint: u64, size: u64 },
    #[error(
        "the log was rewritten: its first {checkpoint} entries are not those of the checkpoint"
    )]
    Rewritten { checkpoint: u64 },
}

type Tree = MemoryBackedTree<Sha256, [u8; Leaf::BYTES]>;

impl Leaf {
    /// Bytes of a leaf.
    pub const BYTES: usize = 65;

    /// That an agent's chain ended so.
    pub fn new(agent: AgentId, head: ChainHead, recorded_at: Timestamp) -> Self {
        Self {
            agent,
            seq: head.seq,
            head: head.hash,
            recorded_at,
        }
    }

    /// The bytes that the tree is made of: version, agent, place, hash, microseconds since 1970.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = LEAF_VERSION;
        bytes[1..17].copy_from_slice(self.agent.as_bytes());
        bytes[17..25].copy_from_slice(&self.seq.to_be_bytes());
        bytes[25..57].copy_from_slice(&self.head.0);
        bytes[57..].copy_from_slice(&self.recorded_at.microseconds().to_be_bytes());
        bytes
    }

    /// Its hash in the tree (RFC 6962, section 2.1). Who does not know the head of the chain cannot read agent or time
    /// from it.
    pub fn hash(&self) -> [u8; 32] {
        let hash = Sha256::new_with_prefix([0]).chain_update(self.encode());
        hash.finalize().into()
    }
}

/// The root over all leaves, in their order. Takes about 200 bytes of memory a leaf.
pub fn root(leaves: impl IntoIterator<Item = Leaf>) -> Root {
    let mut tree = Tree::new();
    leaves.into_iter().for_each(|leaf| tree.push(leaf.encode()));
    root_of(&tree)
}

/// Whether the log that an earlier checkpoint was made of is the beginning of this one. Gives the root
/// over all leaves, as [`root`] does. The caller has verified the checkpoint's signature.
///
/// # Errors
/// As said at [`NotGrown`].
pub fn check_grew(
    earlier: &Checkpoint,
    leaves: impl IntoIterator<Item = Leaf>,
) -> Result<Root, NotGrown> {
    let mut leaves = leaves.into_iter();
    let mut tree = Tree::new();
    let earlier = earlier.root;
    // Grown to the checkpoint's size first and then further, so that one walk through the log gives both roots.
    while tree.len() < earlier.size {
        match leaves.next() {
            Some(leaf) => tree.push(leaf.encode()),
            None => {
                return Err(NotGrown::Shorter {
                    checkpoint: earlier.size,
                    size: tree.len(),
                });
            }
        }
    }
    if root_of(&tree) != earlier {
        return Err(NotGrown::Rewritten {
            checkpoint: earlier.size,
        });
    }
    leaves.for_each(|leaf| tree.push(leaf.encode()));
    Ok(root_of(&tree))
}

fn root_of(tree: &Tree) -> Root {
    let root = tree.root();
    Root {
        size: root.num_leaves(),
        hash: (*root.as_bytes()).into(),
    }
}
