"""Makes every package of one binary, and runs each as far as this machine lets it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomllib
import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
MEMORY = "Marta prefers linen thread."
PERSON = 65532


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the packages."""
    out = tmp_path_factory.mktemp("packages")
    binary = os.environ["MEMOIR_BIN"]
    done = subprocess.run([ROOT / "scripts/package", binary, out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return out


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with nothing of whoever runs the tests in it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "npm_config_cache": str(tmp_path / "npm"),
        "MEMOIR_DATABASE": f"sqlite:{tmp_path}/memoir.db",
    }


def one(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def run(command: list[Any], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def saves_over_mcp(command: list[str], environment: dict[str, str], told: Any) -> None:
    """From the package to a first memory, by the Model Context Protocol over standard input."""
    began = time.monotonic()
    run([*command, "agent", "create", "wren"], env=environment)
    call = {"name": "save_memory", "arguments": {"content": MEMORY, "kind": "core"}}
    client = {"name": "tests", "version": "0"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    with subprocess.Popen(
        [*command, "mcp", "--agent", "wren"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        # Its end of the line is held open until the call is answered.
        answers = (json.loads(line) for line in process.stdout)
        answer = next(each for each in answers if each.get("id") == 2)
        told(f"to a first memory: {time.monotonic() - began:.1f} seconds")
        process.stdin.close()
        assert process.wait(30) == 0
    assert not answer["result"].get("isError"), answer
    assert MEMORY in run([*command, "context", "wren"], env=environment)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Prints past pytest, which keeps what a test prints to itself."""

    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"  {text}")

    return tell


def test_what_is_made_has_its_sum_and_its_size_is_told(made: Path, told: Any) -> None:
    sums = (made / "SHA256SUMS").read_text().splitlines()
    assert len(sums) >= 5
    for line in sums:
        digest, name = line.split("  ")
        data = (made / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        told(f"{len(data) / 1e6:6.1f} MB  {name}")


def test_uvx_runs_the_wheel_from_its_file(made: Path, home: dict[str, str], told: Any) -> None:
    # Nothing but the file is looked at.
    uvx = str(Path(sys.executable).with_name("uvx"))
    command = [uvx, "--offline", "--quiet", "--from", str(one(made, "*.whl")), "memoir"]
    assert run([*command, "--version"], env=home).startswith(f"memoir {VERSION}")
    saves_over_mcp(command, home, told)


@pytest.mark.skipif(shutil.which("npx") is None, reason="there is no npx")
def test_npx_runs_the_packages_from_their_files(
    made: Path, home: dict[str, str], told: Any
) -> None:
    launcher, carried = (
        one(made, "memoir-memory-[0-9]*.tgz"),
        one(made, "memoir-memory-linux-*.tgz"),
    )
    command = ["npx", "--yes", "--offline", f"--package={carried}", f"--package={launcher}"]
    saves_over_mcp([*command, "memoir"], home, told)
    # The binary's own status and words come through.
    refused = subprocess.run(
        [*command, "memoir", "context", "nobody"], env=home, capture_output=True, text=True
    )
    assert refused.returncode == 1 and "nobody" in refused.stderr


def test_npms_launcher_says_where_there_is_no_binary(made: Path, tmp_path: Path) -> None:
    with tarfile.open(one(made, "memoir-memory-[0-9]*.tgz")) as package:
        package.extractall(tmp_path, filter="data")
    launcher = tmp_path / "package/memoir.mjs"
    refused = subprocess.run(["node", launcher], capture_output=True, text=True)
    assert refused.returncode == 1 and "is not installed" in refused.stderr


def test_the_archive_is_where_binstall_looks(made: Path, tmp_path: Path) -> None:
    manifest = tomllib.loads((ROOT / "crates/memoir/Cargo.toml").read_text())
    meta = manifest["package"]["metadata"]["binstall"]
    name = meta["pkg-url"].rpartition("/")[2]
    archive = one(made, "*-unknown-linux-*.tar.gz")
    target = archive.name.removeprefix(f"memoir-{VERSION}-").removesuffix(".tar.gz")
    filled = {
        "{ name }": "memoir",
        "{ version }": VERSION,
        "{ target }": target,
        "{ bin }": "memoir",
    }
    name, inner = (
        re.sub("|".join(map(re.escape, filled)), lambda of: filled[of[0]], each)
        for each in (name, meta["bin-dir"])
    )
    assert name == archive.name and meta["pkg-fmt"] == "tgz"
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    assert VERSION in run([tmp_path / inner, "--version"])


@pytest.fixture
def unpacked(made: Path, tmp_path: Path) -> Path:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("there is no dpkg-deb")
    run(["dpkg-deb", "-x", one(made, "*.deb"), tmp_path / "deb"])
    run(["dpkg-deb", "-e", one(made, "*.deb"), tmp_path / "deb/DEBIAN"])
    return tmp_path / "deb"


def test_the_debian_package_holds_what_runs(unpacked: Path) -> None:
    assert VERSION in run([unpacked / "usr/bin/memoir", "--version"])
    run(["md5sum", "--check", "--quiet", "DEBIAN/md5sums"], cwd=unpacked)
    control = (unpacked / "DEBIAN/control").read_text()
    assert f"Version: {VERSION}\n" in control
    for script in ("postinst", "prerm", "postrm"):
        run(["sh", "-n", unpacked / "DEBIAN" / script])
    assert (unpacked / "usr/share/man/man1/memoir.1.gz").is_file()
    config = tomllib.loads((unpacked / "etc/memoir/config.toml").read_text())
    assert config == {"master_key_file": "/run/credentials/memoir.service/master.key"}


def test_the_debian_packages_script_makes_a_key_that_opens(unpacked: Path, tmp_path: Path) -> None:
    script = (unpacked / "DEBIAN/postinst").read_text()
    etc = unpacked / "etc/memoir"
    # In this folder, and without a systemd that runs.
    script = script.replace("/etc/memoir", str(etc)).replace("/run/systemd", str(tmp_path))
    assert "keep a copy" in run(["sh", "-c", script, "postinst", "configure"])
    key = etc / "master.key"
    assert key.stat().st_mode & 0o777 == 0o600 and re.fullmatch(r"[0-9a-f]{64}", key.read_text())
    before = key.read_text()
    run(["sh", "-c", script, "postinst", "configure"])
    assert key.read_text() == before
    config = tmp_path / "config.toml"
    config.write_text(f'master_key_file = "{key}"\n')
    database = f"sqlite:{tmp_path}/memoir.db"
    environment = {"HOME": str(tmp_path), "MEMOIR_CONFIG": str(config), "MEMOIR_DATABASE": database}
    run([unpacked / "usr/bin/memoir", "agent", "create", "wren"], env=environment)
    # What the timer's service does, with its credential.
    unit = (unpacked / "usr/lib/systemd/system/memoir-backup.service").read_text()
    command = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE)
    assert command
    (tmp_path / "backups").mkdir()
    backup = (
        command[1]
        .replace("$$", "$")
        .replace("%%", "%")
        .replace("/usr/bin", f"{unpacked}/usr/bin")
        .replace("/var/lib/memoir", str(tmp_path))
    )
    given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MEMOIR_DATABASE": database}
    run(["sh", "-c", backup], env={**given, "CREDENTIALS_DIRECTORY": str(etc)})
    copies = sorted(each.name for each in (tmp_path / "backups").iterdir())
    assert len(copies) == 2 and copies[1] == f"{copies[0]}.keys"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit", ["memoir.service", "memoir-backup.service"])
def test_the_units_are_hardened(unpacked: Path, unit: str, told: Any) -> None:
    path = unpacked / "usr/lib/systemd/system" / unit
    said = run(["systemd-analyze", "security", "--offline=true", "--threshold=15", path])
    exposure = re.search(r"level for (\S+: [\d.]+)", said)
    assert exposure
    told(f"exposure of {exposure[1]}")
    text = path.read_text()
    assert "LoadCredential=master.key:/etc/memoir/master.key" in text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_the_timer_says_when(unpacked: Path) -> None:
    text = (unpacked / "usr/lib/systemd/system/memoir-backup.timer").read_text()
    (when,) = re.findall(r"^OnCalendar=(.*)$", text, re.MULTILINE)
    assert "Next elapse" in run(["systemd-analyze", "calendar", when])


@pytest.fixture(scope="session")
def image(made: Path) -> dict[str, Any]:
    found = list(made.glob("*-image.tar"))
    if not found:
        pytest.skip("there is no buildah: the image is not built")
    with tarfile.open(found[0]) as tar:

        def read(name: str) -> bytes:
            member = tar.extractfile(name)
            assert member
            return member.read()

        (manifest,) = json.loads(read("manifest.json"))
        config = json.loads(read(manifest["Config"]))
        layers = [read(layer) for layer in manifest["Layers"]]
    return {"tags": manifest["RepoTags"], "layers": layers, **config}


def test_the_image_is_nobodys_and_says_how_it_is(image: dict[str, Any], told: Any) -> None:
    config = image["config"]
    assert any(tag.endswith(f"memoir:{VERSION}") for tag in image["tags"])
    assert config["User"] == f"{PERSON}:{PERSON}"
    assert config["Entrypoint"] == ["/usr/bin/memoir"]
    assert config["Healthcheck"]["Test"][:3] == ["CMD", "/usr/bin/memoir", "serve"]
    told(f"{sum(map(len, image['layers'])) / 1e6:.1f} MB unpacked")


@pytest.fixture
def inside(image: dict[str, Any], tmp_path: Path) -> Iterator[list[Any]]:
    """A command that runs another one in the image's files, as its user."""
    if os.getuid() != 0:
        pytest.skip("only root can run in the image's files")
    root = tmp_path / "image"
    for layer in image["layers"]:
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(root, filter="tar")
    # pytest's folders are the tester's alone.
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    environment = [f"{each}" for each in image["config"]["Env"]]
    yield ["chroot", f"--userspec={PERSON}:{PERSON}", root, "/usr/bin/memoir", environment]


def test_the_image_serves_and_its_check_says_so(inside: list[Any], told: Any) -> None:
    *command, environment = inside
    given = dict(each.split("=", 1) for each in environment) | {"PATH": os.environ["PATH"]}
    assert VERSION in run([*command, "--version"], env=given)
    serving = subprocess.Popen(
        [*command, "serve", "--listen", "127.0.0.1:0", "--json"],
        env=given,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout
        address = json.loads(serving.stdout.readline())["listening"]
        run([*command, "serve", "--probe", "--listen", address], env=given)
    finally:
        serving.terminate()
        serving.wait(30)
    root = Path(str(command[2]))
    kept = root / "data/memoir.db"
    assert kept.stat().st_uid == PERSON
    # Nothing but its own folder is written to.
    own = [each for each in root.rglob("*") if each.lstat().st_uid == PERSON]
    assert {each.relative_to(root).parts[0] for each in own} == {"data"}


def secrets_of(container: dict[str, Any]) -> dict[str, str]:
    """The secret and the key that each variable of a container comes from."""
    keys = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container["env"]}
    return {name: f"{key['name']}/{key['key']}" for name, key in keys.items()}


def test_the_manifests_fit_kubernetes_schemas() -> None:
    validate = Path(sys.executable).with_name("kubernetes-validate")
    path = PACKAGING / "kubernetes/memoir.yaml"
    run([validate, "--strict", path])
    kinds = {each["kind"]: each for each in yaml.safe_load_all(path.read_text())}
    assert set(kinds) == {"Job", "Deployment", "Service", "PodDisruptionBudget"}
    # A job of another version than the image's would be taken for one that has run.
    assert f"memoir-migrate-{VERSION.replace('.', '-')}" in path.read_text()
    assert set(re.findall(r"image: (\S+)", path.read_text())) == {f"memoir:{VERSION}"}
    # Only the migration has the roles that own the tables, and it has no key.
    (migrates,) = kinds["Job"]["spec"]["template"]["spec"]["containers"]
    (serves,) = kinds["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert secrets_of(migrates) == {
        "MEMOIR_DATABASE": "memoir-owner/database-url",
        "MEMOIR_KEYS_URL": "memoir-owner/keys-url",
    }
    assert secrets_of(serves) == {
        "MEMOIR_DATABASE": "memoir/database-url",
        "MEMOIR_KEYS_URL": "memoir/keys-url",
        "MEMOIR_MASTER_KEY": "memoir/master-key",
    }
    # Several pods: nothing that they need lies in one of them.
    assert kinds["Deployment"]["spec"]["replicas"] > 1


@pytest.mark.parametrize("name", ["compose.yaml", "compose.postgres.yaml"])
def test_the_compose_files_fit_their_schema(name: str) -> None:
    validate = Path(sys.executable).with_name("check-jsonschema")
    path = PACKAGING / "container" / name
    run([validate, "--builtin-schema", "vendor.compose-spec", path])
    for service in yaml.safe_load(path.read_text())["services"].values():
        # The second file adds to the first, where the service stands in both.
        if "image" in service:
            assert service["read_only"] and service["cap_drop"] == ["ALL"]
            assert service["image"] == f"memoir:{VERSION}"


def test_a_user_checks_a_release_by_the_lines_of_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `scripts/release` signs one, with a key of this test's own."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("there is no ssh-keygen")
    key, out = tmp_path / "key", tmp_path / "release"
    out.mkdir()
    (out / "package").write_text("as it was made")
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key])
    monkeypatch.setenv("MEMOIR_RELEASE_KEY", str(key))
    runpy.run_path(str(ROOT / "scripts/release"))["sign"](out)
    (out / "allowed_signers").write_text(f"release {key.with_suffix('.pub').read_text()}")
    page = (ROOT / "docs/releasing.md").read_text()
    (lines,) = re.findall(r"^```sh\n(.*?)^```", page, flags=re.M | re.S)
    assert "package: OK" in run(["sh", "-e", "-c", lines], cwd=out)
    # What was changed is found.
    (out / "package").write_text("as it is now")
    assert subprocess.run(["sh", "-e", "-c", lines], cwd=out, capture_output=True).returncode != 0
