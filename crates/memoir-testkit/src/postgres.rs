//! A PostgreSQL of a test's own: in a folder that goes with it, on a socket in that folder, run by a user that is
//! not root, with a role that is no superuser.
//!
//! It is Debian's newest, or that of the folder which `MEMOIR_POSTGRES_PROGRAMS` names.

use std::{
    fs, io,
    os::unix::{fs::chown, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Makes the cluster, runs it, and ends it by its process once this process is gone, however that came: then the
/// pipe ends that `cat` reads.
const RUN: &str = r#"
"$0/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$1/initdb.log" 2>&1 || exit 1
cat >>"$1/data/postgresql.conf" <<END
listen_addresses = ''
unix_socket_directories = '$1'
fsync = off
max_connections = 500
shared_buffers = 64MB
END
"$0/postgres" -D "$1/data" >"$1/server.log" 2>&1 &
cat >/dev/null
"$0/pg_ctl" -D "$1/data" -m fast -w stop >/dev/null 2>&1
rm -rf "$1"
"#;

/// Runs a pooler in transaction mode before the server, again whenever it ends, until the server is ended too.
const POOL: &str = r#"
mkdir "$1/pooler"
cat >"$1/pooler/pgbouncer.ini" <<END
[databases]
* = host=$1 user=memoir
[pgbouncer]
listen_addr =
unix_socket_dir = $1/pooler
auth_type = any
pool_mode = transaction
server_login_retry = 1
default_pool_size = 3
max_client_conn = 500
END
(
    trap 'kill -INT "$!"; wait; exit' TERM
    while :; do
        "$0" "$1/pooler/pgbouncer.ini" >>"$1/pooler/log" 2>&1 &
        echo "$!" >"$1/pooler/process"
        wait "$!"
        sleep 0.1
    done
) &
keeper=$!
cat >/dev/null
kill "$keeper"
wait
"#;

/// What a later version might add to a table. The names of its columns conflict with statements that do not qualify
/// theirs: each table gets those of all others, and the names that statements give to computed values.
const NEXT_COLUMNS: &str = r#"
DO $$
BEGIN
    EXECUTE (
        WITH present AS (SELECT table_name, column_name FROM information_schema.columns
                WHERE table_schema = 'public' AND table_name <> 'memoir_migrations'),
            wanted (column_name) AS (SELECT column_name FROM present
                UNION VALUES ('place'), ('first'), ('last'), ('entries'), ('used_at'), ('was_due'), ('previous_hash'))
        SELECT 'ALTER TABLE TABLE_NAME ' || string_agg(format('ADD COLUMN %I text', column_name), ', ')
        FROM wanted WHERE column_name NOT IN (SELECT column_name FROM present WHERE table_name = 'TABLE_NAME'));
END $$"#;

/// A table that a later version might make.
const NEXT_TABLE: &str = r#"
CREATE TABLE moods (agent_id bytea NOT NULL PRIMARY KEY REFERENCES agents (id), body bytea NOT NULL);
ALTER TABLE moods ENABLE ROW LEVEL SECURITY;
ALTER TABLE moods FORCE ROW LEVEL SECURITY;
CREATE POLICY reach ON moods USING (current_setting('memoir.agent', true) = encode(agent_id, 'hex'))"#;

/// The present migrations, and after them what a later version might add to these tables of the data; `make` builds one
/// from its number, name and SQL. Each changes one existing table, so that it cannot deadlock with transactions that
/// use several of them.
pub fn next_migrations<'name, M: Copy>(
    present: &[M],
    tables: impl IntoIterator<Item = &'name str>,
    make: impl Fn(i64, &'static str, &'static str) -> M,
) -> &'static [M] {
    let columns = tables.into_iter().map(|table| {
        let sql = NEXT_COLUMNS.replace("TABLE_NAME", table);
        (format!("next_{table}"), sql)
    });
    let table = ("next_moods".to_owned(), NEXT_TABLE.to_owned());
    let added = (present.len() as i64 + 1..).zip(columns.chain([table]));
    let added = added.map(|(number, (name, sql))| make(number, name.leak(), sql.leak()));
    // As those of the binary, they are there until the process ends.
    present
        .iter()
        .copied()
        .chain(added)
        .collect::<Vec<M>>()
        .leak()
}

/// How long a slow machine may take to make a cluster.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server, until the process ends.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    /// The user that it runs as; `None` for this process's own.
    user: Option<(u32, u32)>,
    /// The shells that end the server, and the pooler before it, once their input ends.
    shells: Vec<Child>,
    databases: AtomicU64,
}

impl Postgres {
    /// Whether PostgreSQL is installed.
    pub fn is_installed() -> bool {
        programs().is_some()
    }

    /// Starts one of that unique name in this process; `None` if PostgreSQL is not installed.
    ///
    /// # Errors
    /// It cannot be started; the message has its output.
    pub fn start(name: &str) -> io::Result<Option<Self>> {
        let Some(programs) = programs() else {
            return Ok(None);
        };
        // Another process may run the same tests at the same time, so the name has the process's identifier.
        let name = format!("memoir-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        // `create_dir` fails where the folder exists, so that two servers never share one.
        fs::create_dir(&folder)?;
        // PostgreSQL refuses to run as root, which the folder's owner shows.
        let user = unprivileged(&folder)?;
        if let Some((user, group)) = user {
            chown(&folder, Some(user), Some(group))?;
        }
        let server = Self {
            shells: vec![run(RUN, &programs, &folder, user)?],
            user,
            programs,
            folder,
            databases: AtomicU64::new(0),
        };
        let begun = Instant::now();
        // The server is up once it has created the role, which is needed in any case.
        while server
            .query("postgres", "CREATE ROLE memoir LOGIN")
            .is_err()
        {
            if begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(server.folder.join("server.log"));
                let log = log.unwrap_or_else(|error| error.to_string());
                return Err(io::Error::other(format!(
                    "PostgreSQL does not start: {log}"
                )));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Some(server))
    }

    /// Puts PgBouncer before the server, in transaction mode with three connections for each database. How the URL
    /// of a database changes then: what to put in place of what; `None` where PgBouncer is not installed.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn pool(&mut self) -> io::Result<Option<(String, String)>> {
        // Debian installs PgBouncer in `/usr/sbin`, which an ordinary user's `PATH` lacks.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
        let Some(program) = folders.find(|folder| folder.join("pgbouncer").is_file()) else {
            return Ok(None);
        };
        let program = program.join("pgbouncer");
        self.shells
            .push(run(POOL, &program, &self.folder, self.user)?);
        let socket = self.folder.join("pooler/.s.PGSQL.6432");
        let begun = Instant::now();
        while !socket.exists() {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("PgBouncer does not start"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let folder = encoded(&self.folder);
        Ok(Some((
            format!("@{folder}/"),
            format!("@{folder}%2Fpooler:6432/"),
        )))
    }

    /// Ends the server as a machine does that loses power, and starts it again.
    ///
    /// # Errors
    /// It does not come up again.
    pub fn restart(&self) -> io::Result<()> {
        let mut command = Command::new(self.programs.join("pg_ctl"));
        command.args(["-m", "immediate", "-w", "restart", "-D"]);
        command.arg(self.folder.join("data"));
        command.arg("-l").arg(self.folder.join("server.log"));
        // The user may not have access to the current folder of this process.
        self.user.inspect(|(user, group)| {
            command.uid(*user).gid(*group).current_dir("/");
        });
        said(&mut command).map(drop)
    }

    /// Kills the pooler, which is then started again; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be killed, or does not come up again.
    pub fn restart_pooler(&self) -> io::Result<Option<()>> {
        let file = self.folder.join("pooler/process");
        let Ok(before) = fs::read_to_string(&file) else {
            return Ok(None);
        };
        let killed = Command::new("kill")
            .args(["-KILL", before.trim()])
            .status()?;
        if !killed.success() {
            return Err(io::Error::other("PgBouncer cannot be killed"));
        }
        let begun = Instant::now();
        // The script `POOL` notes the identifier of each process that it starts.
        while fs::read_to_string(&file)? == before {
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other("PgBouncer is not started again"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Some(()))
    }

    /// The URL of an empty database of its own, which belongs to a role that is no superuser.
    ///
    /// # Errors
    /// The server refuses.
    pub fn database(&self) -> io::Result<String> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{number}");
        self.query("postgres", &format!("CREATE DATABASE {name} OWNER memoir"))?;
        Ok(self.url("memoir", &name))
    }

    /// The URL of a database, for that role.
    pub fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@{}/{database}", encoded(&self.folder))
    }

    /// Runs the SQL of a page of the documentation, every part that is marked as such, as the superuser; its role
    /// `memoir` takes the place of the one here.
    ///
    /// # Errors
    /// What the server says.
    pub fn follow(&self, page: &str) -> io::Result<()> {
        // The page creates the role itself.
        self.query("postgres", "DROP ROLE memoir")?;
        for part in page.split("```sql\n").skip(1) {
            let sql = part.split("```").next().unwrap_or_default();
            let file = self.folder.join("page.sql");
            fs::write(&file, sql)?;
            let mut command = self.client("psql", "postgres");
            command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres", "-f"]);
            said(command.arg(file))?;
        }
        Ok(())
    }

    /// The result of a statement for the superuser, a line a row.
    ///
    /// # Errors
    /// The server's error.
    pub fn query(&self, database: &str, sql: &str) -> io::Result<String> {
        self.query_as("postgres", database, sql)
    }

    /// The result of a statement for that role, a line a row.
    ///
    /// # Errors
    /// The server's error.
    pub fn query_as(&self, role: &str, database: &str, sql: &str) -> io::Result<String> {
        let mut command = self.client("psql", role);
        command.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            database,
            "-c",
            sql,
        ]);
        Ok(said(&mut command)?.trim().to_owned())
    }

    /// A program of a client of PostgreSQL, such as `pg_dump`, which connects to this server as that role.
    pub fn client(&self, program: &str, role: &str) -> Command {
        let own = self.programs.join(program);
        // A folder of the server alone has none; those of another version speak with it too.
        let mut command = Command::new(match own.is_file() {
            true => own,
            false => program.into(),
        });
        command.env("PGHOST", &self.folder).env("PGUSER", role);
        command
    }

    /// The folder of its socket and its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The output of a program.
///
/// # Errors
/// It fails; its error output.
fn said(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )),
    }
}

/// A folder as a URL names the host of a socket.
fn encoded(folder: &Path) -> String {
    folder.display().to_string().replace('/', "%2F")
}

/// Runs a script with a program's place and the folder, as that user.
fn run(script: &str, program: &Path, folder: &Path, user: Option<(u32, u32)>) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program).arg(folder);
    // The script `RUN` stops the server when this pipe closes.
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    if let Some((user, group)) = user {
        command.uid(user).gid(group).current_dir("/");
    }
    command.spawn()
}

/// Names the folder with the programs of the server.
const PROGRAMS: &str = "MEMOIR_POSTGRES_PROGRAMS";

/// Where the server is: where [`PROGRAMS`] says, or Debian or `PATH` has it.
fn programs() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(PROGRAMS) {
        return Some(folder.into());
    }
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let debian = debian.flatten().map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = debian.chain(std::env::split_paths(&path)).collect();
    let needed = ["postgres", "initdb", "psql"];
    folders.retain(|folder| needed.iter().all(|name| folder.join(name).is_file()));
    folders.into_iter().max()
}

/// A user that is not root, where this process is root's.
fn unprivileged(own: &Path) -> io::Result<Option<(u32, u32)>> {
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata(own)?) != 0 {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let find = |name: &str| {
        let mut fields = users
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?
            .split(':')
            .skip(1);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    let found = find("postgres").or_else(|| find("nobody"));
    found
        .map(Some)
        .ok_or_else(|| io::Error::other("there is no user but root to run PostgreSQL"))
}
