//! The servers, and what is done to them: they are asked, killed, paused, and made to
//! believe that another is dead.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::memory::{Asked, Known, Memory};
use super::random::Random;
use crate::support::client::{Client, LEGACY_NEW};
use crate::support::explorer::Explorer;

/// Servers at the same time.
const MOST: usize = 4;

/// Where the hook writes down whose end it was told of.
const TOLD: &str = "told.txt";

/// Long enough for a new server to look for what was left, on a busy machine.
const TAKEOVER: Duration = Duration::from_secs(10);

/// Something that is done to the servers.
type Moment = fn(&mut Fleet);

/// How often each comes before all of them come again.
const MOMENTS: &[(Moment, usize)] = &[
    (Fleet::ask_start, 4),
    (Fleet::ask_how_it_stands, 3),
    (Fleet::ask_cancel, 2),
    (Fleet::kill_any, 3),
    (Fleet::kill_while_starting, 3),
    (Fleet::kill_at_launch, 1),
    (Fleet::cancel_behind_the_owner, 2),
    (Fleet::usurp, 3),
];

pub struct Fleet {
    pub explorer: Explorer,
    pub memory: Memory,
    pub kills: usize,
    /// Takeovers from a living process, and of those the ones from a process that was
    /// about to start something.
    pub usurpations: (usize, usize),
    /// When each server was killed, or taken for dead.
    pub deaths: HashMap<u32, Duration>,
    /// How many lock files there were at most.
    pub most_locks: usize,
    random: Random,
    /// Those that are still to come before all come again.
    moments: Vec<&'static Moment>,
    servers: Vec<Server>,
    /// How many there should be just now.
    wanted: usize,
    next: u32,
    patient: PathBuf,
}

struct Server {
    number: u32,
    client: Client,
    pending: HashMap<u64, Asked>,
    /// It has no client, and nothing can be asked of it.
    worker: bool,
}

impl Fleet {
    pub fn new(seed: u64) -> Self {
        // A hook is started in the user's home, and this is one write.
        let hook = format!(
            "[notify]\ndesktop = false\n\
             command = [\"sh\", \"-c\", 'echo $BATHYSPHERE_TASK_ID >> {TOLD}']\n"
        );
        let explorer = Explorer::with_config(&hook);
        let patient = explorer.home.path().join("patient.toml");
        let text = format!("[research]\npoll_seconds = 0.05\nwait_seconds = 1\n{hook}");
        fs::write(&patient, text).unwrap();
        Self {
            explorer,
            memory: Memory::new(),
            kills: 0,
            usurpations: (0, 0),
            deaths: HashMap::new(),
            most_locks: 0,
            random: Random::new(seed),
            moments: Vec::new(),
            servers: Vec::new(),
            wanted: 2,
            next: 1,
            patient,
        }
    }

    /// The ids of the tasks whose end the user was told of, in order.
    pub fn told(&self) -> Vec<String> {
        let path = self.explorer.home.path().join(TOLD);
        fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    pub fn directory(&self) -> PathBuf {
        self.explorer.home.data().join("bathysphere")
    }

    pub fn database(&self) -> Connection {
        let path = self.directory().join("bathysphere.sqlite3");
        let database =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        database.busy_timeout(Duration::from_secs(20)).unwrap();
        database
    }

    /// What comes next. The moments come in random order, and each as often as it
    /// should: a short run has some of every kind.
    fn draw(&mut self) -> Moment {
        if self.moments.is_empty() {
            for (moment, times) in MOMENTS {
                self.moments.extend(std::iter::repeat_n(moment, *times));
            }
        }
        let chosen = self.random.below(self.moments.len());
        *self.moments.swap_remove(chosen)
    }

    /// One random step.
    pub fn step(&mut self) {
        if self.random.percent(10) {
            self.wanted = 1 + self.random.below(MOST);
        }
        while self.servers.len() < self.wanted {
            self.launch();
        }
        while self.servers.len() > MOST {
            self.kill_any();
        }
        let moment = self.draw();
        moment(self);
        self.hear();
        let pause = self.random.within(Duration::from_millis(60));
        thread::sleep(pause);
        self.most_locks = self.most_locks.max(self.locks());
    }

    fn launch(&mut self) -> usize {
        let worker = self.random.percent(10);
        self.launch_as(worker)
    }

    fn launch_server(&mut self) -> usize {
        self.launch_as(false)
    }

    fn launch_as(&mut self, worker: bool) -> usize {
        let mut command = self.explorer.command([if worker { "worker" } else { "serve" }]);
        if self.random.percent(30) {
            command.env("BATHYSPHERE_CONFIG", &self.patient);
        }
        let mut client = Client::start(command);
        let mut pending = HashMap::new();
        if !worker {
            let hello = json!({
                "protocolVersion": LEGACY_NEW,
                "capabilities": {},
                "clientInfo": { "name": "bathysphere-tests", "version": "0" },
            });
            pending.insert(client.request("initialize", hello), Asked::Greeting);
            client.notify("notifications/initialized", json!({}));
        }
        self.servers.push(Server { number: self.next, client, pending, worker });
        self.next += 1;
        self.servers.len() - 1
    }

    /// A server that can be asked something.
    fn any_server(&mut self) -> usize {
        let able: Vec<usize> =
            (0..self.servers.len()).filter(|&one| !self.servers[one].worker).collect();
        match able.len() {
            0 => self.launch_server(),
            many => able[self.random.below(many)],
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! is written in the call")]
    fn ask(&mut self, server: usize, tool: &str, arguments: Value, asked: Asked) -> u64 {
        let server = &mut self.servers[server];
        let call = json!({ "name": tool, "arguments": arguments });
        let id = server.client.request("tools/call", call);
        server.pending.insert(id, asked);
        id
    }

    /// Reads what has been answered.
    fn hear(&mut self) {
        for server in &mut self.servers {
            let answers = server.client.read_so_far();
            take_in(&mut self.memory, server.number, &mut server.pending, answers);
        }
    }

    fn start_at(&mut self, server: usize, words: &str) -> (usize, u64) {
        let number = self.memory.all.len();
        let fails = self.random.percent(8);
        let notify = self.random.percent(85);
        let mut query = format!("Crash question {number}? {words}");
        if fails {
            query.push_str(" stand-in:failed");
        }
        let arguments = json!({ "query": query, "enable_notifications": notify });
        let asked_of = self.servers[server].number;
        let task = self.memory.add(query, asked_of, fails, notify);
        let request = self.ask(server, "start_deep_research", arguments, Asked::Start(task));
        self.memory.tell(task, format!("asked of server {asked_of}"));
        (task, request)
    }

    fn words(&mut self) -> String {
        let time = match self.random.below(4) {
            0 => self.random.below(100),
            1 | 2 => 100 + self.random.below(1500),
            _ => 1000 + self.random.below(3000),
        };
        let mut words = format!("stand-in:ms={time}");
        if self.random.percent(40) {
            let slow = self.random.below(400);
            words = format!("{words} stand-in:slow-start={slow}");
        }
        if self.random.percent(10) {
            words.push_str(" stand-in:poll=500");
        }
        words
    }

    fn ask_start(&mut self) {
        let server = self.any_server();
        for _ in 0..=self.random.below(2) {
            let words = self.words();
            self.start_at(server, &words);
        }
    }

    /// One of the latest tasks that a client knows.
    fn any_task(&mut self) -> Option<(usize, String)> {
        let known: Vec<usize> = (0..self.memory.all.len())
            .rev()
            .filter(|&task| self.memory.all[task].id.is_some())
            .take(12)
            .collect();
        let task = *known.get(self.random.below(known.len().max(1)))?;
        Some((task, self.memory.all[task].id.clone()?))
    }

    fn ask_how_it_stands(&mut self) {
        let Some((task, id)) = self.any_task() else { return };
        let server = self.any_server();
        let known = self.memory.all[task].known;
        let arguments = json!({ "task_id": id });
        if self.random.percent(50) {
            self.ask(server, "check_research_status", arguments, Asked::Status(task, known));
        } else {
            self.ask(server, "get_research_results", arguments, Asked::Results(task, known));
        }
    }

    fn ask_cancel(&mut self) {
        let Some((task, id)) = self.any_task() else { return };
        let server = self.any_server();
        self.cancel_at(server, task, &id);
    }

    fn cancel_at(&mut self, server: usize, task: usize, id: &str) -> u64 {
        let known = self.memory.all[task].known;
        self.memory.all[task].cancel_asked = true;
        let number = self.servers[server].number;
        self.memory.tell(task, format!("server {number} is told to cancel it"));
        let arguments = json!({ "task_id": id, "save_partial": self.random.percent(50) });
        self.ask(server, "cancel_research", arguments, Asked::Cancel(task, known))
    }

    fn kill(&mut self, server: usize) {
        let Server { number, client, mut pending, .. } = self.servers.swap_remove(server);
        for asked in pending.values() {
            if let Asked::Start(task) | Asked::Cancel(task, _) = *asked {
                self.memory.tell(task, format!("server {number} is killed while it is at it"));
            }
        }
        let now = self.memory.now();
        self.deaths.entry(number).or_insert(now);
        // What it said before is said.
        let ended = client.kill();
        assert!(!ended.stderr.contains("panicked"), "server {number} panicked: {}", ended.stderr);
        take_in(&mut self.memory, number, &mut pending, ended.rest);
        self.kills += 1;
    }

    pub fn kill_all(&mut self) {
        while !self.servers.is_empty() {
            self.kill(0);
        }
    }

    fn kill_any(&mut self) {
        let server = self.random.below(self.servers.len());
        self.kill(server);
    }

    fn kill_while_starting(&mut self) {
        let server = self.any_server();
        for _ in 0..=self.random.below(2) {
            let words = self.words();
            self.start_at(server, &words);
        }
        if self.random.percent(30)
            && let Some((task, id)) = self.any_task()
        {
            self.cancel_at(server, task, &id);
        }
        let moment = self.random.within(Duration::from_millis(400));
        thread::sleep(moment);
        self.kill(server);
    }

    fn kill_at_launch(&mut self) {
        let server = self.launch();
        let moment = self.random.within(Duration::from_millis(300));
        thread::sleep(moment);
        self.kill(server);
    }

    /// The user cancels a task by another server than the one that works on it, which
    /// may not even run for a moment. What that one hears of the vendor meanwhile, and
    /// does when it wakes up, must not undo it.
    fn cancel_behind_the_owner(&mut self) {
        if self.nothing_was_started() {
            return;
        }
        let owner = self.any_server();
        let length = 1000 + self.random.below(2000);
        let (task, _) = self.start_at(owner, &format!("stand-in:ms={length}"));
        let other = match (0..self.servers.len())
            .find(|&other| other != owner && !self.servers[other].worker)
        {
            Some(other) => other,
            None => self.launch_server(),
        };
        let Some(id) = self.wait_for_row(task) else { return };
        let moment = self.random.within(Duration::from_millis(length as u64 / 2));
        thread::sleep(moment);
        let sleeps = self.random.percent(60) && self.put_to_sleep(owner);
        let request = self.cancel_at(other, task, &id);
        if self.wait_for_answer(other, request) && self.random.percent(20) {
            self.kill(owner);
        } else if sleeps {
            self.signal(owner, Signal::CONT);
        }
    }

    /// The lock file of a living server is deleted while it does not run, just when
    /// it is about to start something: another takes over what it works on. When it
    /// wakes up it must notice.
    fn usurp(&mut self) {
        if self.nothing_was_started() {
            return;
        }
        let former = self.any_server();
        let mut task = 0;
        for _ in 0..=self.random.below(3) {
            let words = self.words();
            (task, _) = self.start_at(former, &words);
        }
        let Some(id) = self.wait_for_row(task) else { return };
        if self.random.percent(30) {
            let moment = self.random.within(Duration::from_millis(300));
            thread::sleep(moment);
        }
        self.usurpations.0 += 1;
        if self.put_to_sleep(former)
            && let Some(owner) = self.owner_of(&id)
        {
            let lock = self.directory().join("owners").join(format!("{owner}.lock"));
            if self.calls_of(&id) == 0 {
                self.usurpations.1 += 1;
                self.memory.tell(task, "its owner sleeps, about to start it");
            } else {
                self.memory.tell(task, "its owner sleeps");
            }
            let _ = fs::remove_file(lock);
            // To the others it is dead from now on.
            let now = self.memory.now();
            self.deaths.insert(self.servers[former].number, now);
            self.launch();
            let end = Instant::now() + TAKEOVER;
            while self.owner_of(&id).is_some_and(|now| now == owner) && Instant::now() < end {
                thread::sleep(Duration::from_millis(10));
            }
            let moment = self.random.within(Duration::from_millis(300));
            thread::sleep(moment);
            self.memory.tell(task, "its former owner wakes up");
        }
        self.signal(former, Signal::CONT);
    }

    /// The first task makes the database.
    fn nothing_was_started(&self) -> bool {
        self.memory.all.iter().all(|research| research.id.is_none())
    }

    /// Waits, unless it takes too long.
    fn wait_for_answer(&mut self, server: usize, request: u64) -> bool {
        let end = Instant::now() + TAKEOVER;
        while self.servers[server].pending.contains_key(&request) {
            if Instant::now() > end {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
            self.hear();
        }
        true
    }

    fn signal(&self, server: usize, signal: Signal) {
        kill_process(self.servers[server].client.pid(), signal).expect("the server is there");
    }

    /// Stops a process at a moment in which it does not hold the database; nobody
    /// else could do anything. False when there is none.
    fn put_to_sleep(&self, server: usize) -> bool {
        let database = self.database();
        database.busy_timeout(Duration::from_millis(5)).unwrap();
        for _ in 0..50 {
            self.signal(server, Signal::STOP);
            if database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
                return true;
            }
            self.signal(server, Signal::CONT);
            thread::sleep(Duration::from_micros(200));
        }
        false
    }

    /// Waits for the task to be in the database, and not a moment longer.
    fn wait_for_row(&mut self, task: usize) -> Option<String> {
        let database = self.database();
        let query = "SELECT id FROM tasks WHERE text = ?1 AND rowid > ?2";
        let before: i64 = database
            .query_row("SELECT coalesce(max(rowid), 0) - 50 FROM tasks", [], |row| row.get(0))
            .ok()?;
        let end = Instant::now() + TAKEOVER;
        let mut statement = database.prepare(query).ok()?;
        while Instant::now() < end {
            let text = &self.memory.all[task].query;
            let id = statement.query_row((text, before), |row| row.get(0)).optional();
            if let Some(id) = id.unwrap() {
                return Some(id);
            }
            thread::sleep(Duration::from_micros(200));
        }
        None
    }

    fn owner_of(&self, id: &str) -> Option<String> {
        let query = "SELECT owner FROM tasks WHERE id = ?1 AND status = 'running'";
        self.database().query_row(query, [id], |row| row.get(0)).optional().unwrap()
    }

    fn calls_of(&self, id: &str) -> u32 {
        let query = "SELECT count(*) FROM calls WHERE task_id = ?1";
        self.database().query_row(query, [id], |row| row.get(0)).unwrap()
    }

    /// Puts the question to a new server when all others are dead, and waits.
    pub fn last_words(&mut self) {
        let mut client = self.explorer.connect();
        for task in 0..self.memory.all.len() {
            let research = &self.memory.all[task];
            let Some(id) = research.id.clone() else { continue };
            let known =
                if research.before_retry.is_some() { Known::Nothing } else { research.known };
            let answer = client.call_tool("get_research_results", json!({ "task_id": id }));
            self.memory.answered(Asked::Results(task, known), &answer, 0);
        }
        let ended = client.end();
        assert!(ended.status.success(), "{ended:?}");
    }

    pub fn locks(&self) -> usize {
        fs::read_dir(self.directory().join("owners")).map_or(0, Iterator::count)
    }
}

fn take_in(
    memory: &mut Memory,
    server: u32,
    pending: &mut HashMap<u64, Asked>,
    messages: Vec<Value>,
) {
    for message in messages {
        let Some(id) = message["id"].as_u64() else { continue };
        if let Some(asked) = pending.remove(&id) {
            memory.answered(asked, &message, server);
        }
    }
}
