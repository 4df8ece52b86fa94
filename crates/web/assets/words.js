"use strict";
/* All words of the page. Short, plain, and errors say what to do. */
const words = (() => {
const { known, rate, size } = charts, { counted, joined } = documents, { plain } = comparisons;
const listed = names => names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
const sums = (report, member, show) => report.sum.directions.map(one => end(one)[member]).filter(known).map(show).join(", ") || "-";
const end = sum => known(sum.receiver.bytes) ? sum.receiver : sum.sender;
const WAYS = { ...documents.WAYS, round_trip: "requests" };

return {
  views: { test: "Test", server: "Server", mesh: "Mesh", history: "History", compare: "Compare" },
  ways: WAYS,
  directionsShort: { forward: "from client", reverse: "to client", bidirectional: "both ways", round_trip: "requests" },
  loading: "Loading…",
  unreachable: "No answer from tapeline web. Is it still running?",
  refused: status => `The server refused this (${status}).`,
  lostLink: "tapeline web does not answer. This page tries again. If it has ended, so have its tests.",
  failedToLoad: "This page could not be loaded:",
  again: "Try again",
  version: ({ version, host }) => `tapeline ${version} on ${host}`,
  readOnly: "This page only shows results.",
  theme: "Colours", themes: { system: "as the system", light: "light", dark: "dark" },
  keys: [["/", "search"], ["s", "start or stop"], ["c", "copy the command"], ["← → ↑ ↓", "walk a chart"]],
  keysTitle: "Keys", keyOf: key => `Key: ${key}`,
  skip: "To the content",

  keyTitle: "This page needs its key",
  keyHelp: "Open the address that tapeline web printed, or paste the key here: it follows #k= in that address.",
  key: "Key", enter: "Open",

  testTitle: "Test the network to another host",
  command: "Command", sameTestAs: "The same test as", copy: "Copy", copied: "Copied", copyFailed: "Copy failed", copyOf: line => `Copy ${line}`,
  start: "Start test", stop: "Stop", withdraw: "Withdraw", reset: "Reset the form",
  allOptions: "All other options", searchOptions: "Search options", defaultChoice: "default", bareChoice: "given", lineEach: "one a line",
  above: name => `“${name}” is above`, notOffered: why => `is not offered here: ${why}.`, noOption: text => `No option has “${text}” in its name or help.`,
  usual: { client: "Host", port: "Port", udp: "Transport", bandwidth: "Rate", time: "Time", parallel: "Streams", direction: "Direction", bind: "Own address", allow: "Serve only these networks" },
  udpOnly: "UDP only",
  examples: { client: "name or address", port: "5001", bandwidth: "500M, 1G", time: "10 s", parallel: "1", bind: "any", allow: "any" },
  directions: { forward: "this host sends", reverse: "the server sends", "full-duplex": "both at once", dualtest: "both at once, server connects back", tradeoff: "one after the other" },
  noHost: "Which host? Enter its name or address.",
  targets: networks => `This page tests only hosts in ${networks.join(", ") || "no network"}.`,
  welcome: "See how fast the network to another host is, and what limits it.",
  steps: ["On the other host, run tapeline -s or iperf -s. If iperf3 -s runs there, type iperf3 -c HOST as the command above.", "Enter its name or address under “Host”.", "Press “Start test”."],
  orHere: "To let another host test towards this one, start a server: ",
  resultOf: "Result", rows: "Intervals", progress: "Progress",
  now: way => `${way} now`,
  queued: "Waiting for another test to end.",
  connecting: "Connecting…",
  running: (seconds, wanted) => wanted ? `${seconds.toFixed(1)} of ${wanted} s` : `${seconds.toFixed(1)} s`,
  started: "The test was started.", ended: text => `The test ended. ${text}`,
  failed: "The test failed",
  hintOf(error) {
    if (error.includes("refused")) return "No server listens there. Start one (tapeline -s or iperf -s), or check the port. For iperf3 -s, type iperf3 -c HOST as the command above.";
    if (error.includes("unknown host")) return "Check the spelling, or enter the address.";
    if (/connect|time/.test(error)) return "Check that the host is up and that no firewall is in the way.";
    return "";
  },
  noResult: "No result", runs: number => `${number} runs`,
  notDrawable: "This result has no charts here. Open it as a page.",
  median: (count, middle, low, high) => `Median of ${count} runs: ${middle} (${low} to ${high}).`,
  savedAs: "Saved as ", notSaved: why => `Not saved: ${why}`,
  saveAs: "Save as", asText: "Text", asPage: "HTML page", openPage: "Open as page", saveImage: "Save image", saveImageOf: title => `Save image of ${title}`,
  asInTerminal: "As in the terminal",
  testsHere: (all, open) => `${counted(all, "test")} since tapeline web started${open ? `, ${open} not over` : ""}`,
  states: { queued: "waiting", running: "running", ended: "ended", interrupted: "stopped" },

  titles: { rate: "Throughput", loss: "Loss", retransmits: "Retransmissions", trip: "Round trip", delay: "One-way delay", jitter: "Jitter" },
  seconds: "seconds", all: "all streams", mean: "mean", probes: "probes", smoothed: "TCP, smoothed",
  noLoss: "Loss: no datagram was lost.", noRetransmits: "Retransmissions: none.",
  counted: by => ({ sender: "sent", receiver: "received" })[by] ?? "all",
  stream: (id, way) => joined(["stream " + id, way], " "),
  streamColumn: "stream", retransmitsColumn: "retrans", lossColumn: "loss %", jitterColumn: "jitter ms", delayColumn: "delay ms", tripColumn: "round trip ms", probeColumn: "probes ms",

  serverTitle: "Let other hosts test towards this one",
  serverWelcome: "A server waits for tests of tapeline, iperf and iperf3, on one port.",
  serverHint: "Press “Start server”. The commands for the other hosts appear here, and each test as it runs.",
  startServer: "Start server", stopServer: "Stop server", starting: "Starting…", serverStarted: "The server was started.",
  serverFailed: "The server did not start or ended", serverEnded: "The server has ended",
  listening: "Listening", onPorts: ports => `on ${ports}`, typeThere: "On another host, type one of these:",
  clients: "Tests of clients", test: "test", client: "client", program: "program", what: "test", rateNow: "rate", course: "course", total: "total", state: "state",
  noClientsYet: "No client has tested yet.", noClients: "No client has tested.",
  sparkOf: top => `Rate over time, at most ${top}`,
  programOf: report => !report ? "-" : report.peer.program ? joined([report.peer.program, report.peer.version, report.peer.program === "tapeline" && report.test.protocol === "iperf3" ? "(protocol of iperf3)" : ""], " ") : documents.PROGRAMS[report.test.protocol] ?? "-",
  sumOf: report => sums(report, "bits_per_second", rate), bytesOf: report => sums(report, "bytes", size),

  meshTitle: "Which of many hosts is slow?", startMesh: "Run", check: "Check", asInFile: "as in the file",
  meshWelcome: "The hosts test with each other, over ssh from here. They need tapeline, and nothing that runs.",
  meshFields: { hosts: "Hosts", pattern: "Who tests whom", test: "Options of a test" },

  historyTitle: "Results that were kept",
  noHistory: "tapeline web was started without a history.",
  emptyHistory: "Each test that you start here is kept in this list. Two sets of runs can then be compared.",
  firstTest: "Start a test", orImport: "Or drop files here: results of tapeline, iperf3 (JSON) and iperf 2.",
  search: "Search", searchRuns: "command, host, note, tag", filters: { host: "Host", tag: "Tag", transport: "Transport", time: "Time" },
  anyHost: "any", anyTag: "any", anyTransport: "any", anyTime: "any time", spans: { day: "last day", week: "last 7 days", month: "last 30 days", year: "last year" },
  importFiles: "Import files", imported: (name, runs) => runs.length ? `${name}: taken in as ${listed(runs)}.` : `${name}: was there already.`,
  trendOf: "Show over time", runNumber: "run",
  allZero: title => `${title}: 0 in each run.`,
  groups: { network: "limited by the network", asked: "as requested", host: "limited by a host", unknown: "limit unknown", left_out: "does not count" },
  compareColumn: "compare", run: "run", when: "when", rate: "rate", trip: "round trip", loss: "loss", limitedBy: "limited by", host: "host", marks: "tags and note", delete: "Delete", deleteColumn: "Delete",
  shortTime: text => { const at = new Date(text ?? NaN); return Number.isNaN(at.getTime()) ? "-" : new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" }).format(at); },
  testOf: run => joined([(run.transport ?? "").toUpperCase(), run.workload && run.workload !== "stream" ? run.workload.replaceAll("_", " ") : (run.role !== "server" && WAYS[run.direction] || words.directionsShort[run.direction]),
    run.streams > 1 ? counted(run.streams, "stream") : "", known(run.seconds) ? `${plain(run.seconds)} s` : ""], " "),
  leftOut: why => `Does not count in comparisons: ${why}`, leftOutShort: "does not count", failedShort: "failed",
  takeAs: (run, side) => `Take ${run} as ${side}`, tickHint: "To compare, mark runs as A and others as B.", otherSide: side => `Now mark the runs of ${side}.`, nothing: "none", clear: "Clear",
  noneMatches: "No run matches the filters.", shownOf: (some, all) => `${some} of ${counted(all, "run")}`, showMore: "Show more",
  deleteRun: run => `Delete ${run}`, deleted: runs => `${listed(runs)} deleted.`, undo: "Undo", undone: runs => `${listed(runs)} is back.`,
  noRun: name => `There is no ${name} in the history.`,
  backToHistory: "← All results", runTitle: run => `Run ${run}`,
  marksTitle: "Tags and note", newTag: "New tag", tagExample: "name=value", addTag: "Add", removeTag: key => `Remove tag ${key}`, note: "Note", saveNote: "Save note",

  bothCourses: "Over time",
  compareTitle: "Do two sets of runs differ?",
  compareWelcome: "Name the runs of both sides, or mark them in the history. Four runs a side or more give a sure answer.",
  sideA: "A", sideB: "B", exampleA: "r1+r3 or tag:link=old", exampleB: "last:5", notice: "Of no interest, %", compare: "Compare", bothSides: "Name the runs of both sides.",
  selections: "How runs are named", selectionList: [["r12", "one run"], ["r3..r8", "a range"], ["r1+r5", "several"], ["s2", "the runs of a series"], ["last:10", "the latest"], ["tag:link=old", "those with a tag"], ["baseline:main", "a named baseline"]],
};
})();
