// The only extension that pi loads: no commands, one fixed text, the host's tools, and the host's
// word on every other call.
//
// pi ends its system prompt with the path of its working directory. Each run has a directory of
// its own, so that path would make every conversation's prefix different and put a host path
// before the model. This gives all of them the same text.
//
// The tools are the host's: it says in INGLENOOK_TOOLS which there are, and answers each call. Who
// asks and where is for the host to know; nothing of that is said here. pi's own tools (read, bash
// and their like) run only after the host said "allow" to that very call. No answer, another
// answer, or no host: the call is blocked.
import { readdirSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { constants, Script } from "node:vm";

const variable = "INGLENOOK_TOOLS";
const noAnswer = "The host did not answer. Do not claim that anything was done.";
const patience = 15_000;
const settled = 100;
const ended = "(What this left running was ended with it.)";

function told(text, isError, terminate) {
  const result = { content: [{ type: "text", text }], details: {}, isError };
  return terminate ? { ...result, terminate } : result;
}

function read(answer) {
  try {
    const { ok, text, end } = JSON.parse(answer);
    return typeof text === "string" ? told(text, ok !== true, end === true) : told(noAnswer, true);
  } catch {
    return told(noAnswer, true);
  }
}

// Why a call may not be carried out; undefined if it may.
function objection(answer) {
  try {
    const { verdict, text } = JSON.parse(answer);
    if (verdict === "allow") return undefined;
    return verdict === "block" && typeof text === "string" ? text : noAnswer;
  } catch {
    return noAnswer;
  }
}

// In a box each command has an end: the host says in INGLENOOK_COMMAND_SECONDS after how long, and
// only where there is a box.
function boundCommands(pi) {
  const cap = Number(process.env.INGLENOOK_COMMAND_SECONDS);
  const boxed = cap > 0 && process.ppid === 1;
  if (!boxed) return () => {};
  const running = new Set();
  // What a command leaves running ends with it, or with the last of those that run beside it. In a
  // box this signal reaches all processes but the first and pi itself, at once, whatever they did
  // to get away from their parents; nothing but commands starts any.
  function endLeftovers(event) {
    if (!running.delete(event.toolCallId) || running.size > 0) return false;
    try {
      return process.kill(-1, "SIGKILL");
    } catch {
      return false; // there was nothing
    }
  }
  pi.on("tool_result", (event) => {
    if (!endLeftovers(event)) return undefined;
    return { content: [...event.content, { type: "text", text: ended }] };
  });
  pi.on("tool_execution_end", (event) => {
    endLeftovers(event); // of a call that was cut off
  });
  return function begin(event) {
    if (event.toolName !== "bash") return;
    const asked = Number(event.input.timeout);
    event.input.timeout = asked > 0 ? Math.min(asked, cap) : cap;
    running.add(event.toolCallId);
  };
}

// The host judges its own tools when it is asked to carry them out, so not here as well.
function judgeCalls(pi, ofHost, timeout) {
  const begin = boundCommands(pi);
  pi.on("tool_call", async (event, ctx) => {
    if (ofHost.has(event.toolName)) return undefined;
    const title = `call:${event.toolName}#${event.toolCallId}`;
    const asked = JSON.stringify(event.input);
    const answer = await ctx.ui.input(title, asked, { timeout, signal: ctx.signal });
    const reason = typeof answer === "string" ? objection(answer) : noAnswer;
    if (reason !== undefined) return { block: true, reason };
    begin(event);
    return undefined;
  });
}

// pi loads what speaks a provider's protocol at the first request, and node what speaks HTTP. A
// session that is warmed up has the time before. The import must be node's own, or it would make
// another copy than pi's.
const load = new Script("(address) => import(address)", {
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
}).runInThisContext();

function loadProtocol(model) {
  const chunks = new URL("chunks/", pathToFileURL(realpathSync(process.argv[1])));
  // Where pi has no such file, it loads what it needs at the request, as it would without this.
  const file = readdirSync(chunks).find((name) => name.replace(/-[A-Z0-9]+\.js$/, "") === model?.api);
  return file ? load(new URL(file, chunks).href).catch(() => ({})) : {};
}

// Code is quick only where it has run before. Behind the host's gateway pi's own way to the model is
// gone once, with a question that holds no words and a key that opens nothing: the gateway passes it
// on to nobody.
async function rehearse(model, protocol) {
  const { streamSimple } = await protocol;
  if (!streamSimple || !process.env.INGLENOOK_MODEL_SOCKET) return fetch("data:,");
  return streamSimple(model, { messages: [] }, { apiKey: "none" }).result();
}

export default function (pi) {
  let rehearsal;
  pi.on("session_start", (_event, ctx) => {
    try {
      const protocol = loadProtocol(ctx.model);
      rehearsal = setTimeout(() => rehearse(ctx.model, protocol).catch(() => {}), settled).unref();
    } catch {
      // Only the first answer comes a little later.
    }
  });
  pi.on("before_agent_start", (event) => {
    clearTimeout(rehearsal); // a prompt that came at once goes the way itself
    event.systemPromptOptions.cwd = "/workspace";
  });
  const { tools, timeoutMs } = JSON.parse(process.env[variable] || '{"tools":[]}');
  delete process.env[variable];
  const timeout = timeoutMs > 0 ? timeoutMs : patience;
  judgeCalls(pi, new Set(tools.map((tool) => tool.name)), timeout);
  for (const { name, label, description, parameters } of tools) {
    pi.registerTool({
      name,
      label,
      description,
      parameters,
      async execute(id, params, signal, _onUpdate, ctx) {
        const asked = JSON.stringify(params);
        const answer = await ctx.ui.input(`host:${name}#${id}`, asked, { timeout, signal });
        return typeof answer === "string" ? read(answer) : told(noAnswer, true);
      },
    });
  }
}
