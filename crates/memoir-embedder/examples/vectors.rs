//! Prints the vector of each line of standard input, a line of numbers each; times are on standard error.
//!
//!     cargo run --release -p memoir-embedder --example vectors -- e5-small-q4.bin < texts

use std::{
    io::{BufRead, Write},
    time::Instant,
};

use memoir_embedder::{E5, KNOWN_FILES};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("name the model's file")?;
    let begun = Instant::now();
    let model = E5::open_one_of(&KNOWN_FILES, path.as_ref())?;
    eprintln!("opened in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let begun = Instant::now();
        let mut text = model.start(&line);
        let tokens = text.tokens();
        while model.advance(&mut text)? {}
        let vector = model.finish(text);
        eprintln!(
            "{tokens} tokens in {:.1} ms",
            begun.elapsed().as_secs_f64() * 1e3
        );
        let numbers: Vec<String> = vector.iter().map(f32::to_string).collect();
        writeln!(out, "{}", numbers.join(" "))?;
    }
    Ok(())
}
