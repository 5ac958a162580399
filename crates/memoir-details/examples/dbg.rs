#![allow(missing_docs, clippy::all, clippy::print_stdout, clippy::unwrap_used)]
use std::io::BufRead;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a.len() > 1 {
        for l in std::io::stdin().lock().lines() {
            let l = l.unwrap();
            let v: serde_json::Value = serde_json::from_str(&l).unwrap();
            let r: Vec<&str> = v["replaced"]
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_str().unwrap())
                .collect();
            let w = v["written"].as_str().unwrap();
            let lost = memoir_details::lost(&r, w);
            if lost.is_empty() == v["lost"].as_bool().unwrap() {
                println!(
                    "{} lost={} {:?} => {}\n    LOST {:?}",
                    v["id"],
                    v["lost"],
                    r,
                    w,
                    lost.iter()
                        .map(|d| (d.kind(), d.key().to_string()))
                        .collect::<Vec<_>>()
                );
                for t in &r {
                    println!(
                        "    R {:?}",
                        memoir_details::details(t)
                            .iter()
                            .map(|d| (d.kind(), d.key().to_string()))
                            .collect::<Vec<_>>()
                    );
                }
                println!(
                    "    W {:?}",
                    memoir_details::details(w)
                        .iter()
                        .map(|d| (d.kind(), d.key().to_string()))
                        .collect::<Vec<_>>()
                );
            }
        }
    } else {
        for l in std::io::stdin().lock().lines() {
            let l = l.unwrap();
            println!(
                "{:?}",
                memoir_details::details(&l)
                    .iter()
                    .map(|d| (d.kind(), d.key().to_string()))
                    .collect::<Vec<_>>()
            );
        }
    }
}
