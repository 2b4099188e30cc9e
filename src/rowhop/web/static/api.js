// The HTTP API. Every failure becomes an Error with a sentence that can be shown.

async function reply(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    // An empty or cut reply; the status says the rest.
  }
  if (!response.ok) throw new Error(body?.error || `The server answered ${response.status}.`);
  return body;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is rowhop serve still running?");
  }
  return reply(response);
}

export const get = (path) => send(path);
export const remove = (path) => send(path, { method: "DELETE" });
export const post = (path, data) =>
  send(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(data ?? {}) });
export const upload = (file, group) =>
  send(`/api/uploads?name=${encodeURIComponent(file.name)}&group=${group}`, { method: "POST", body: file });

// Follows a run. EventSource comes back by itself after a break, and goes on where it was.
export function follow(id, listeners) {
  const stream = new EventSource(`/api/runs/${id}/events`);
  let missed = 0;
  for (const [kind, listener] of Object.entries(listeners)) {
    stream.addEventListener(kind, (event) => {
      missed = 0;
      if (kind === "end") stream.close();
      if (event.data !== undefined) listener(JSON.parse(event.data));
    });
  }
  stream.onerror = () => {
    missed += 1;
    if (stream.readyState === EventSource.CLOSED || missed > 5) {
      stream.close();
      listeners.lost?.();
    }
  };
  return () => stream.close();
}
