# The commands of this repository; `just` lists them.

_list:
    @just --list

# Everything that must hold
test:
    ./scripts/test

# What is quick: format, counts, pages, lints, unit tests, and two suites on databases in memory
check:
    ./scripts/check

# The documentation as a site, in target/site
site:
    scripts/docs site

# The reference, anew from the program
reference:
    cargo build
    scripts/docs generate target/debug/memoir

# The clients, and the official clients of the Model Context Protocol, with the real binary
clients:
    ./scripts/test-clients

# The console in Chromium; leaves pictures of all pages in target/screenshots
console:
    ./scripts/test-console

# How fast the console is on the screen, with a fleet of 10,000
bench-console:
    cargo build --release -p memoir
    cd tests/console && npm ci --no-audit --no-fund --loglevel error && node bench.mjs

# How long the pages of 10,000 agents and of 20,000 memories take, without a browser
bench-pages:
    cargo bench -p memoir-service --bench pages

# The main job on the sample agent
demo:
    cargo run --release -- demo

# What an edit, a prompt and an import cost, beside raw SQLite
bench:
    cargo bench -p memoir-app -p memoir

# Accept changed snapshots after reading them
review:
    cargo insta review
