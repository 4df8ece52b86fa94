/* Requests to `tapeline web`. */

/* A request that was refused. */
export class Refusal extends Error {
  constructor(text, status, answer) {
    super(text);
    this.status = status;
    this.answer = answer;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Refusal(words.unreachable, 0, null);
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  if (response.status === 401) dispatchEvent(new Event("locked"));
  throw new Refusal(answer?.error ?? answer?.faults?.[0]?.text ?? words.refused(response.status), response.status, answer);
}

export const get = async path => (await request(path)).json();
export const text = async path => (await request(path)).text();

const HEADERS = { "X-Tapeline": "1", "Content-Type": "application/json" };
export async function post(path, body) {
  const response = await request(path, { method: "POST", headers: HEADERS, body: JSON.stringify(body ?? {}) });
  return response.status === 204 ? null : response.json();
}
export async function upload(path, body) {
  return (await request(path, { method: "POST", headers: { "X-Tapeline": "1", "Content-Type": "application/octet-stream" }, body })).json();
}

/* Runs of the history as `tapeline history` names them together. */
export const together = runs => runs.join("+");
