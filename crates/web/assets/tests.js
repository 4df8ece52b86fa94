/* The tests of this page's server, kept up to date by one stream of events.

   `row`      a test's row changed (detail: the row)
   `history`  the history changed
   `link`     the connection came or went (detail: whether it stands) */
import { get } from "./api.js";

const POLL = 2000, RETRY = 30000;

class Tests extends EventTarget {
  rows = new Map();
  #followers = new Map();
  #source = null;
  #timer = null;

  /* From the first visit, or from a new process with tests of its own. */
  async begin() {
    this.rows.clear();
    this.#followers.clear();
    await this.refresh();
    this.#open();
  }
  newest(job) {
    return [...this.rows.values()].filter(row => row.job === job).sort((a, b) => b.test - a.test);
  }
  /* Hands each row of a job to `take`, also when it changes. */
  watch(job, take) {
    this.addEventListener("row", ({ detail }) => { if (detail.job === job) take(detail); });
    this.newest(job).reverse().forEach(take);
  }
  async refresh() {
    const { tests } = await get("/api/tests");
    tests.forEach(row => this.#row(row));
  }

  /* Hands each event of a test to `take`; `take(null)` where they begin anew. */
  async follow(test, take) {
    const follower = { take, waiting: [], loading: true };
    this.#followers.set(test, follower);
    await this.#load(test, follower);
  }
  unfollow(test) { this.#followers.delete(test); }

  async #load(test, follower) {
    follower.loading = true;
    follower.take(null);
    let events = [];
    try { ({ events } = await get(`/api/tests/${test}/events`)); } catch { /* what the stream brings is shown */ }
    // What came while the list was under way may be in it already.
    const seen = new Set(events.slice(-400).map(event => JSON.stringify(event)));
    for (const event of [...events, ...follower.waiting.filter(event => !seen.has(JSON.stringify(event)))]) follower.take(event);
    follower.waiting = [];
    follower.loading = false;
  }

  #row(row) {
    this.rows.set(row.test, { ...this.rows.get(row.test), ...row });
    this.dispatchEvent(new CustomEvent("row", { detail: this.rows.get(row.test) }));
  }
  #open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = this.#source = new EventSource("/api/events");
    let opened = false;
    source.addEventListener("open", () => {
      this.#link(true);
      // The stream begins now; what was before it is asked for.
      if (!opened) this.#again();
      opened = true;
    });
    source.addEventListener("message", message => this.#message(JSON.parse(message.data)));
    source.addEventListener("error", () => {
      this.#link(false);
      if (source.readyState === EventSource.CLOSED) this.#poll(Date.now() + RETRY);
    });
  }
  #message(data) {
    if (data.lost) this.#again();
    else if (data.history) this.dispatchEvent(new Event("history"));
    else if (data.event) {
      const follower = this.#followers.get(data.test);
      if (follower?.loading) follower.waiting.push(data.event);
      else follower?.take(data.event);
    } else if (data.test) this.#row(data);
  }
  #again() {
    this.refresh().catch(() => {});
    this.dispatchEvent(new Event("history"));
    for (const [test, follower] of this.#followers) this.#load(test, follower);
  }
  /* Without a stream all is asked for until a stream may be tried. */
  #poll(until) {
    this.#timer = setTimeout(async () => {
      try {
        await this.refresh();
        this.#link(true);
        for (const [test, follower] of this.#followers) if (this.rows.get(test)?.state === "running") await this.#load(test, follower);
      } catch { this.#link(false); }
      if (Date.now() > until) this.#open(); else this.#poll(until);
    }, POLL);
  }
  #link(stands) { this.dispatchEvent(new CustomEvent("link", { detail: stands })); }
}

export const tests = new Tests();
