// Carries out one call of pi's own tools that a person approved, and ends: the same code that pi
// itself would have run, with nothing of a model around it.
//
//   node act.mjs <pi's command line>   a request in one line of stdin, an answer in one of stdout
//
// The request is {"tool", "arguments", "cwd", "prefix"}; ``prefix`` stands before each command. The
// answer is {"done", "text"}: "done" is false where the tool says that it could not do it.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const longest = 20_000;

function textOf(result) {
  const parts = result.content.map((part) => (part.type === "text" ? part.text : `(${part.type})`));
  return parts.join("\n");
}

async function carryOut({ tool, arguments: given, cwd, prefix }) {
  const place = new URL(`../core/tools/${tool}.js`, pathToFileURL(process.argv[2]));
  const tools = await import(place);
  const maker = tools[`create${tool[0].toUpperCase()}${tool.slice(1)}Tool`];
  const made = maker(cwd, tool === "bash" ? { commandPrefix: prefix } : undefined);
  const prepared = made.prepareArguments ? made.prepareArguments(given) : given;
  const result = await made.execute("approved", prepared, undefined, undefined);
  // A command that ran to its end is done, whatever it thought of it: its output tells.
  const ran = typeof result.structuredContent?.exit_code === "number";
  return { done: ran || result.isError !== true, text: textOf(result) };
}

const lines = createInterface({ input: process.stdin });
const { value } = await lines[Symbol.asyncIterator]().next();
lines.close();
let answer;
try {
  answer = await carryOut(JSON.parse(value));
} catch (error) {
  answer = { done: false, text: String(error?.message ?? error) };
}
answer.text = answer.text.slice(0, longest).toWellFormed();
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
