//! The encoder: layers of attention and of a feed-forward network, as BERT has them, on weights of four bits.

use zeroize::Zeroizing;

#[cfg(target_arch = "x86_64")]
use crate::kernel::Avx2;
use crate::{
    file::Shape,
    kernel::{BLOCK, Block, Kernel, Plain, ROWS, TOGETHER, Tile},
    math::{exp, gelu, largest, rounded, sum},
};

/// The numbers of one head of attention: for one loop over a fixed number of registers.
pub(crate) const HEAD: usize = 32;

/// Queries, and keys, whose products are summed together: enough sums that none waits for the one before.
const QUERIES: usize = 2;
const SCORED: usize = 32;

/// Weights and offsets of outputs. Both sizes are multiples of those of a tile.
#[derive(Debug)]
pub(crate) struct Linear {
    /// Of each eight outputs, the tiles of all inputs.
    pub(crate) tiles: Vec<Tile>,
    pub(crate) bias: Vec<f32>,
    pub(crate) inputs: usize,
}

/// What a state is multiplied by and moved by, once it has the mean 0 and the variance 1.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) attended: Linear,
    pub(crate) attention_norm: Norm,
    pub(crate) inner: Linear,
    pub(crate) outer: Linear,
    pub(crate) norm: Norm,
}

#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) shape: Shape,
    /// What is added to the word at each place of a window: the place's own numbers, and the ones of all words.
    pub(crate) positions: Vec<f32>,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

/// Numbers that reveal the text.
type Numbers = Zeroizing<Vec<f32>>;

impl Encoder {
    /// The mean of the last layer's states, from the words of a window, which are overwritten.
    pub(crate) fn mean(&self, states: &mut [f32]) -> Numbers {
        #[cfg(target_arch = "x86_64")]
        if let Some(simd) = pulp::x86::V3::try_new() {
            return simd.vectorize(Pass {
                encoder: self,
                kernel: Avx2(simd),
                states,
            });
        }
        self.pass(Plain, states)
    }

    #[inline(always)]
    fn pass<K: Kernel>(&self, kernel: K, states: &mut [f32]) -> Numbers {
        let hidden = self.shape.hidden;
        let tokens = states.len() / hidden;
        add(states, &self.positions);
        self.norm.apply(states, self.shape.epsilon);
        let mut work = Work::new(&self.shape, tokens);
        for layer in &self.layers {
            layer.apply(kernel, states, &mut work, self.shape.epsilon);
        }
        let mut mean = Zeroizing::new(vec![0.0; hidden]);
        for state in states.chunks_exact(hidden) {
            add(&mut mean, state);
        }
        for mean in mean.iter_mut() {
            *mean /= tokens.max(1) as f32;
        }
        mean
    }
}

#[cfg(target_arch = "x86_64")]
struct Pass<'a> {
    encoder: &'a Encoder,
    kernel: Avx2,
    states: &'a mut [f32],
}

#[cfg(target_arch = "x86_64")]
impl pulp::NullaryFnOnce for Pass<'_> {
    type Output = Numbers;

    #[inline(always)]
    fn call(self) -> Numbers {
        self.encoder.pass(self.kernel, self.states)
    }
}

/// The numbers of all tokens on the way through a layer.
struct Work {
    blocks: Blocks,
    query: Numbers,
    key: Numbers,
    value: Numbers,
    outcome: Numbers,
    inner: Numbers,
    attention: Attention,
}

struct Attention {
    /// Of each [`SCORED`] tokens the first numbers of their keys, then the second ones, and so on.
    keys: Numbers,
    values: Numbers,
    /// How well the keys fit each query, with room for a multiple of [`SCORED`]; what is behind `tokens` has no meaning.
    scores: Numbers,
    tokens: usize,
}

impl Work {
    fn new(shape: &Shape, tokens: usize) -> Self {
        let numbers = |each: usize| Zeroizing::new(vec![0.0; tokens * each]);
        let room = tokens.next_multiple_of(SCORED);
        Self {
            blocks: Blocks(vec![
                Block::default();
                tokens * shape.inner.max(shape.hidden) / BLOCK
            ]),
            query: numbers(shape.hidden),
            key: numbers(shape.hidden),
            value: numbers(shape.hidden),
            outcome: numbers(shape.hidden),
            inner: numbers(shape.inner),
            attention: Attention {
                keys: Zeroizing::new(vec![0.0; HEAD * room]),
                values: numbers(HEAD),
                scores: Zeroizing::new(vec![0.0; QUERIES * room]),
                tokens,
            },
        }
    }
}

/// Rounded inputs of a [`Linear`], of one token after the other.
struct Blocks(Vec<Block>);

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in &mut self.0 {
            zeroize::Zeroize::zeroize(&mut block.inputs);
            zeroize::Zeroize::zeroize(&mut block.scale);
        }
    }
}

impl Blocks {
    /// Rounds the inputs to eight bits, each 32 of them by a scale of their own.
    #[inline(always)]
    fn round(&mut self, inputs: &[f32]) {
        let (chunks, _) = inputs.as_chunks::<BLOCK>();
        for (block, chunk) in self.0.iter_mut().zip(chunks) {
            let mut sizes = *chunk;
            for size in &mut sizes {
                *size = size.abs();
            }
            let most = largest(&sizes);
            let scale = if most > 0.0 { 127.0 / most } else { 0.0 };
            let mut steps = [0; BLOCK];
            for (step, value) in steps.iter_mut().zip(chunk) {
                // A changed file leads to infinite numbers, and to none, which `most` does not bound.
                *step = rounded(value * scale).clamp(-127.0, 127.0) as i32;
            }
            let (fours, _) = steps.as_chunks::<4>();
            for (inputs, four) in block.inputs.iter_mut().zip(fours) {
                let [a, b, c, d] = *four;
                *inputs = i32::from_le_bytes([a as u8, b as u8, c as u8, d as u8]);
            }
            block.scale = most / 127.0;
            block.excess = 8 * steps.iter().sum::<i32>();
        }
    }
}

impl Linear {
    /// Multiplies the rounded inputs of as many tokens as `outputs` has room for.
    #[inline(always)]
    fn apply<K: Kernel>(&self, kernel: K, blocks: &Blocks, outputs: &mut [f32]) {
        let each = self.inputs / BLOCK;
        let width = self.bias.len();
        let tokens: Blockwise<'_> = Blockwise {
            blocks: &blocks.0,
            each,
        };
        let count = outputs.len() / width;
        let (offsets, _) = self.bias.as_chunks::<ROWS>();
        for (row, (tiles, bias)) in self.tiles.chunks_exact(each).zip(offsets).enumerate() {
            let mut put = |token: usize, products: [f32; ROWS]| {
                let at = token * width + row * ROWS;
                let outputs = outputs[at..at + ROWS].iter_mut();
                for ((output, product), bias) in outputs.zip(products).zip(bias) {
                    *output = product + bias;
                }
            };
            let mut token = 0;
            while token + TOGETHER <= count {
                let some: [_; TOGETHER] = std::array::from_fn(|one| tokens.of(token + one));
                let products = kernel.products(tiles, some);
                for (one, products) in products.into_iter().enumerate() {
                    put(token + one, products);
                }
                token += TOGETHER;
            }
            for token in token..count {
                let [products] = kernel.products(tiles, [tokens.of(token)]);
                put(token, products);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Blockwise<'a> {
    blocks: &'a [Block],
    each: usize,
}

impl<'a> Blockwise<'a> {
    #[inline(always)]
    fn of(self, token: usize) -> &'a [Block] {
        &self.blocks[token * self.each..(token + 1) * self.each]
    }
}

impl Norm {
    /// Brings each state to the mean 0 and the variance 1, then to this norm's.
    #[inline(always)]
    fn apply(&self, states: &mut [f32], epsilon: f32) {
        let width = self.weight.len();
        for state in states.chunks_exact_mut(width) {
            let mean = sum(state, |value| value) / width as f32;
            let variance = sum(state, |value| (value - mean) * (value - mean)) / width as f32;
            let scale = 1.0 / (variance + epsilon).sqrt();
            let of = self.weight.iter().zip(&self.bias);
            for (value, (weight, bias)) in state.iter_mut().zip(of) {
                *value = (*value - mean) * scale * weight + bias;
            }
        }
    }
}

impl Layer {
    #[inline(always)]
    fn apply<K: Kernel>(&self, kernel: K, states: &mut [f32], work: &mut Work, epsilon: f32) {
        work.blocks.round(states);
        self.query.apply(kernel, &work.blocks, &mut work.query);
        self.key.apply(kernel, &work.blocks, &mut work.key);
        self.value.apply(kernel, &work.blocks, &mut work.value);
        attend(kernel, work);
        work.blocks.round(&work.outcome);
        self.attended.apply(kernel, &work.blocks, &mut work.outcome);
        add(states, &work.outcome);
        self.attention_norm.apply(states, epsilon);

        work.blocks.round(states);
        self.inner.apply(kernel, &work.blocks, &mut work.inner);
        for value in work.inner.iter_mut() {
            *value = gelu(*value);
        }
        work.blocks.round(&work.inner);
        self.outer.apply(kernel, &work.blocks, &mut work.outcome);
        add(states, &work.outcome);
        self.norm.apply(states, epsilon);
    }
}

#[inline(always)]
pub(crate) fn add(states: &mut [f32], more: &[f32]) {
    for (state, more) in states.iter_mut().zip(more) {
        *state += more;
    }
}

/// Of each token and head the mean of all tokens' values, weighted by how well their keys fit its query.
#[inline(always)]
fn attend<K: Kernel>(kernel: K, work: &mut Work) {
    let Work {
        query,
        key,
        value,
        outcome,
        attention,
        ..
    } = work;
    let Attention {
        keys,
        values,
        scores,
        tokens,
    } = attention;
    let (tokens, width) = (*tokens, query.len() / (*tokens).max(1));
    let room = tokens.next_multiple_of(SCORED);
    let scale = 1.0 / (HEAD as f32).sqrt();
    for head in (0..width).step_by(HEAD) {
        let each = key.chunks_exact(width).zip(value.chunks_exact(width));
        for (token, (key, value)) in each.enumerate() {
            let place = token / SCORED * SCORED * HEAD + token % SCORED;
            for one in 0..HEAD {
                keys[place + one * SCORED] = key[head + one];
            }
            values[token * HEAD..][..HEAD].copy_from_slice(&value[head..][..HEAD]);
        }
        let mut token = 0;
        while token < tokens {
            // The last one is computed twice where they are odd.
            let both = [token, (token + 1).min(tokens - 1)];
            let mut queries = [[0.0; HEAD]; QUERIES];
            for (token, to) in both.into_iter().zip(&mut queries) {
                let from = &query[token * width + head..][..HEAD];
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from * scale;
                }
            }
            score(kernel, &queries, keys, scores);
            let mut whole = [0.0; QUERIES];
            for (scores, whole) in scores.chunks_exact_mut(room).zip(&mut whole) {
                let scores = &mut scores[..tokens];
                let most = largest(scores);
                for score in scores.iter_mut() {
                    *score = exp(*score - most);
                }
                *whole = sum(scores, |score| score);
            }
            let means = blend(kernel, values, scores);
            for ((token, mean), whole) in both.into_iter().zip(&means).zip(whole) {
                let outcome = &mut outcome[token * width + head..][..HEAD];
                for (outcome, mean) in outcome.iter_mut().zip(mean) {
                    *outcome = mean / whole;
                }
            }
            token += QUERIES;
        }
    }
}

/// How well the keys of all tokens fit some queries.
#[inline(always)]
fn score<K: Kernel>(kernel: K, queries: &[[f32; HEAD]; QUERIES], keys: &[f32], scores: &mut [f32]) {
    let (keys, _) = keys.as_chunks::<SCORED>();
    let (first, second) = scores.split_at_mut(scores.len() / QUERIES);
    let (first, _) = first.as_chunks_mut::<SCORED>();
    let (second, _) = second.as_chunks_mut::<SCORED>();
    let scores = first.iter_mut().zip(second);
    for (keys, (first, second)) in keys.chunks_exact(HEAD).zip(scores) {
        let mut sums = [[0.0; SCORED]; QUERIES];
        for (one, keys) in keys.iter().enumerate() {
            for (sums, query) in sums.iter_mut().zip(queries) {
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum = kernel.product_and(query[one], *key, *sum);
                }
            }
        }
        [*first, *second] = sums;
    }
}

/// The sums of all tokens' values, each times its score.
#[inline(always)]
fn blend<K: Kernel>(kernel: K, values: &[f32], scores: &[f32]) -> [[f32; HEAD]; QUERIES] {
    let mut sums = [[0.0; HEAD]; QUERIES];
    let (values, _) = values.as_chunks::<HEAD>();
    let (first, second) = scores.split_at(scores.len() / QUERIES);
    for (value, scores) in values.iter().zip(first.iter().zip(second)) {
        for (sums, score) in sums.iter_mut().zip([scores.0, scores.1]) {
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum = kernel.product_and(*score, *value, *sum);
            }
        }
    }
    sums
}
