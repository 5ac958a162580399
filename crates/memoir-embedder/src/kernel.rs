//! Products of weights of four bits and states of eight bits: where nearly all of the time goes.
//!
//! Weights lie in [`Tile`]s: eight outputs beside each other, for 32 inputs. A product of a tile and the states of one
//! token is then eight numbers in one register, without any sum across it.

#[cfg(target_arch = "x86_64")]
use pulp::{cast, x86::V3};

/// Inputs that share one scale, of weights as of states.
pub(crate) const BLOCK: usize = 32;

/// Outputs of a tile.
pub(crate) const ROWS: usize = 8;

/// Tokens whose products are computed together, so that a weight is unpacked once for all of them.
pub(crate) const TOGETHER: usize = 4;

/// The weights of eight outputs and 32 inputs. A weight is `(bits - 8) * scale`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tile {
    /// Of inputs 4 i to 4 i + 3 the lower four bits of the bytes of `weights[i][row]`, of inputs 16 + 4 i to 16 + 4 i + 3
    /// the upper ones.
    pub(crate) weights: [[u32; ROWS]; 4],
    pub(crate) scales: [f32; ROWS],
}

/// 32 inputs of one token, in steps from -127 to 127.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Block {
    /// Four inputs in each, the first in the lowest byte.
    pub(crate) inputs: [i32; 8],
    pub(crate) scale: f32,
    /// Eight times the sum of the inputs: what the weights' bits have too much.
    pub(crate) excess: i32,
}

pub(crate) trait Kernel: Copy {
    /// The eight products of a row of tiles with each of some tokens, which have as many blocks as there are tiles.
    fn products<const N: usize>(self, tiles: &[Tile], tokens: [&[Block]; N]) -> [[f32; ROWS]; N];

    /// `one * other + more`; rounded once where the processor does that.
    fn product_and(self, one: f32, other: f32, more: f32) -> f32;
}

/// By what every processor has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl Kernel for Plain {
    #[inline(always)]
    fn products<const N: usize>(self, tiles: &[Tile], tokens: [&[Block]; N]) -> [[f32; ROWS]; N] {
        tokens.map(|blocks| {
            let mut products = [0.0; ROWS];
            for (tile, block) in tiles.iter().zip(blocks) {
                let mut whole = [-block.excess; ROWS];
                for (at, weights) in tile.weights.iter().enumerate() {
                    let lower = block.inputs[at].to_le_bytes();
                    let upper = block.inputs[4 + at].to_le_bytes();
                    for byte in 0..4 {
                        let lower = i32::from(lower[byte].cast_signed());
                        let upper = i32::from(upper[byte].cast_signed());
                        for (whole, weights) in whole.iter_mut().zip(weights) {
                            let bits = (weights >> (8 * byte)) & 0xFF;
                            *whole += (bits & 15).cast_signed() * lower;
                            *whole += (bits >> 4).cast_signed() * upper;
                        }
                    }
                }
                for (row, product) in products.iter_mut().enumerate() {
                    *product += whole[row] as f32 * (tile.scales[row] * block.scale);
                }
            }
            products
        })
    }

    #[inline(always)]
    fn product_and(self, one: f32, other: f32, more: f32) -> f32 {
        one * other + more
    }
}

#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(pub(crate) V3);

#[cfg(target_arch = "x86_64")]
impl Kernel for Avx2 {
    #[inline(always)]
    fn products<const N: usize>(self, tiles: &[Tile], tokens: [&[Block]; N]) -> [[f32; ROWS]; N] {
        let (avx, avx2, fma) = (self.0.avx, self.0.avx2, self.0.fma);
        let (lower, ones) = (avx._mm256_set1_epi8(15), avx._mm256_set1_epi16(1));
        let tokens = tokens.map(|blocks| &blocks[..tiles.len()]);
        let mut products = [avx._mm256_setzero_ps(); N];
        for (at, tile) in tiles.iter().enumerate() {
            // Sixteen sums of sixteen products of at most 15 and 127 in size, 30,480 in all: they fit into 16 bits.
            let mut pairs = [avx._mm256_setzero_si256(); N];
            for (four, weights) in tile.weights.iter().enumerate() {
                let weights = cast(*weights);
                let shifted = avx2._mm256_srli_epi16::<4>(weights);
                let halves = [weights, shifted].map(|half| avx2._mm256_and_si256(half, lower));
                for (half, weights) in halves.into_iter().enumerate() {
                    for (pairs, blocks) in pairs.iter_mut().zip(tokens) {
                        let inputs = avx._mm256_set1_epi32(blocks[at].inputs[4 * half + four]);
                        let product = avx2._mm256_maddubs_epi16(weights, inputs);
                        *pairs = avx2._mm256_add_epi16(*pairs, product);
                    }
                }
            }
            let scales = cast(tile.scales);
            for token in 0..N {
                let block = &tokens[token][at];
                let whole = avx2._mm256_madd_epi16(pairs[token], ones);
                let whole = avx2._mm256_sub_epi32(whole, avx._mm256_set1_epi32(block.excess));
                let scales = avx._mm256_mul_ps(scales, avx._mm256_set1_ps(block.scale));
                let whole = avx._mm256_cvtepi32_ps(whole);
                products[token] = fma._mm256_fmadd_ps(whole, scales, products[token]);
            }
        }
        products.map(cast)
    }

    #[inline(always)]
    fn product_and(self, one: f32, other: f32, more: f32) -> f32 {
        // One instruction, where this is inlined into what is compiled for them.
        one.mul_add(other, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look drawn, the same each time.
    fn drawn(seed: &mut u32) -> u32 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *seed >> 8
    }

    #[test]
    fn products_are_those_of_the_numbers_one_by_one() {
        let mut seed = 7;
        // The largest of both first: nothing may overflow.
        let mut tiles = vec![
            Tile {
                weights: [[u32::MAX; ROWS]; 4],
                scales: [1.0; ROWS],
            };
            3
        ];
        let mut tokens = vec![[[127_i8; BLOCK]; 3]; TOGETHER];
        for tile in &mut tiles[1..] {
            for weights in tile.weights.as_flattened_mut() {
                *weights = drawn(&mut seed) << 16 ^ drawn(&mut seed);
            }
            tile.scales = [0; ROWS].map(|_: i32| drawn(&mut seed) as f32 / 1e7);
        }
        for input in tokens[1..].as_flattened_mut().as_flattened_mut() {
            *input = (drawn(&mut seed) % 255) as i8;
            *input = (*input).max(-127);
        }
        let blocks: Vec<Vec<Block>> = tokens
            .iter()
            .map(|token| {
                let block = |inputs: &[i8; BLOCK]| Block {
                    inputs: std::array::from_fn(|at| {
                        let bytes: [i8; 4] = inputs[4 * at..4 * at + 4].try_into().unwrap();
                        i32::from_le_bytes(bytes.map(i8::cast_unsigned))
                    }),
                    scale: 0.25,
                    excess: 8 * inputs.iter().map(|input| i32::from(*input)).sum::<i32>(),
                };
                token.iter().map(block).collect()
            })
            .collect();
        let right: Vec<[f64; ROWS]> = tokens
            .iter()
            .map(|token| {
                std::array::from_fn(|row| {
                    let tiles = tiles.iter().zip(token);
                    let tile = |(tile, inputs): (&Tile, &[i8; BLOCK])| {
                        let product = |(at, input): (usize, &i8)| {
                            let bytes = tile.weights[at % 16 / 4][row].to_le_bytes();
                            let bits = bytes[at % 4] >> (at / 16 * 4) & 15;
                            f64::from(i32::from(bits) - 8) * f64::from(*input)
                        };
                        let whole: f64 = inputs.iter().enumerate().map(product).sum();
                        whole * f64::from(tile.scales[row]) * 0.25
                    };
                    tiles.map(tile).sum()
                })
            })
            .collect();
        let given: [&[Block]; TOGETHER] = std::array::from_fn(|token| &blocks[token][..]);
        let near = |found: [[f32; ROWS]; TOGETHER]| {
            for (found, right) in found.as_flattened().iter().zip(right.as_flattened()) {
                let far = (f64::from(*found) - right).abs();
                assert!(far <= 1e-4 * right.abs().max(1.0), "{found} {right}");
            }
        };
        near(Plain.products(&tiles, given));
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = V3::try_new() {
            near(avx2.vectorize(Together(Avx2(avx2), &tiles, given)));
        }
    }

    #[cfg(target_arch = "x86_64")]
    struct Together<'a>(Avx2, &'a [Tile], [&'a [Block]; TOGETHER]);

    #[cfg(target_arch = "x86_64")]
    impl pulp::NullaryFnOnce for Together<'_> {
        type Output = [[f32; ROWS]; TOGETHER];

        #[inline(always)]
        fn call(self) -> Self::Output {
            self.0.products(self.1, self.2)
        }
    }
}
