#![allow(missing_docs, clippy::all, clippy::print_stdout, clippy::unwrap_used)]
fn main() {
    let base = "Anna Keller told me on 3 May 2024 that she does not eat meat, pays 1,200 euros rent and calls her cat \"Sir Tom\". She lives at 12 Baker Street and meets Jonas every Tuesday at 5 pm for tennis. ";
    let base2 = "Mein Nachbar Jörg sagte am 3. Mai, er trinke keinen Kaffee; Анна живёт в Казани с 2018 года. 田中さんは大阪に住んでいます。 ";
    for (n, b) in [("en", base), ("mix", base2)] {
        for len in [200usize, 10_000] {
            let t: String = b.chars().cycle().take(len).collect();
            memoir_details::details(&t);
            let k = if len == 200 { 20000 } else { 300 };
            let s = std::time::Instant::now();
            for _ in 0..k {
                std::hint::black_box(memoir_details::details(&t));
            }
            let d = s.elapsed() / k;
            let s = std::time::Instant::now();
            for _ in 0..k {
                std::hint::black_box(memoir_details::lost(&[&t], &t));
            }
            println!("{n} {len}: details {:?} lost {:?}", d, s.elapsed() / k);
        }
    }
    for pat in [
        "1.", "1 ", "\"", "'a ", "not ", "A ", "(", "-1", "@a", "二", "A.", "1,", "of ", "a-1-",
        "no, ", "三十", "«", "half ", "one ", "John ", "x_1",
    ] {
        for n in [20_000usize, 40_000] {
            let t = pat.repeat(n / pat.len());
            let s = std::time::Instant::now();
            let d = memoir_details::lost(&[&t], "Anna");
            let e = s.elapsed();
            if e.as_millis() > 40 || n == 40_000 {
                println!("{pat:?} {n} {:?} {}", e, d.len());
            }
        }
    }
}
