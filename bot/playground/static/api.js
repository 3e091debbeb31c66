// The page's own small protocol: JSON over HTTP for what a person does, one socket for what happens.

const BASE = "api/";
const RETRY_MILLISECONDS = [250, 500, 1000, 2000, 4000];

/** What the playground refused, in words. */
export class Refused extends Error {}

async function answer(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(body.error ?? `The playground answered ${response.status}.`);
  return body;
}

async function reach(path, options) {
  let response;
  try {
    response = await fetch(BASE + path, { ...options, cache: "no-store", credentials: "same-origin" });
  } catch {
    throw new Refused("The playground does not answer. Is it still running?");
  }
  return answer(response);
}

export function read(path, query) {
  return reach(`${path}?${new URLSearchParams(query)}`, {});
}

/** Do something as a person; `files` go along as a form. */
export function act(what, body, files = []) {
  if (!files.length) {
    return reach(what, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }
  const form = new FormData();
  form.append("body", JSON.stringify(body));
  for (const file of files) form.append("file", file, file.name);
  return reach(what, { method: "POST", body: form });
}

/** Follow what one person may see. `onOpen` runs at each (re)connection: whatever was missed is read anew. */
export class Events {
  #socket = null;
  #tries = 0;
  #timer = 0;

  constructor({ onOpen, onEvent, onLost }) {
    Object.assign(this, { onOpen, onEvent, onLost });
  }

  /** Whether what happens is being told. */
  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  follow(person) {
    this.close();
    const address = new URL(`${BASE}events?as=${encodeURIComponent(person)}`, document.baseURI);
    address.protocol = address.protocol.replace("http", "ws");
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#tries = 0;
      this.onOpen();
    });
    socket.addEventListener("message", (event) => this.onEvent(JSON.parse(event.data)));
    socket.addEventListener("close", () => {
      if (this.#socket !== socket) return;
      this.onLost();
      const wait = RETRY_MILLISECONDS[Math.min(this.#tries, RETRY_MILLISECONDS.length - 1)];
      this.#tries += 1;
      this.#timer = setTimeout(() => this.follow(person), wait);
    });
  }

  close() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }
}
