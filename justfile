# The commands of this repository; `just` lists them.

_list:
    @just --list

# Everything that must hold
test:
    ./scripts/test

# The clients, and the official clients of the Model Context Protocol, with the real binary
clients:
    ./scripts/test-clients

# The main job on the sample agent
demo:
    cargo run --release -- demo

# What an edit, a prompt and an import cost, beside raw SQLite
bench:
    cargo bench -p memoir-app -p memoir

# Accept changed snapshots after reading them
review:
    cargo insta review
