// Discord's markdown as page elements. Every text ends in a text node; no markup is ever parsed.
//
// Blocks first (code, quotes, headings, lists), then what is inside a line. An unclosed mark is
// plain text. Nesting is bounded, so that no text can make the page slow.

import { h } from "./dom.js";

const DEPTH = 8;

/** Render a message; `names` looks up users, roles and channels by id. */
export function markdown(text, names) {
  return blocks(text, names, 0);
}

// Blocks

function blocks(text, names, depth) {
  const out = [];
  for (const part of splitFences(text)) {
    if (part.code !== undefined) out.push(codeBlock(part));
    else out.push(...lines(part.text, names, depth));
  }
  return out;
}

function splitFences(text) {
  const parts = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf("```", at);
    const close = open < 0 ? -1 : text.indexOf("```", open + 3);
    if (close < 0) break;
    const inside = text.slice(open + 3, close);
    const [, language, code] = /^(?:([\w+#.-]{1,24})\n)?([^]*)$/.exec(inside);
    parts.push({ text: text.slice(at, open).replace(/\n$/, "") });
    parts.push({ language, code: code.replace(/^\n/, "").replace(/\n$/, "") });
    at = close + 3;
    if (text[at] === "\n") at += 1;
  }
  parts.push({ text: text.slice(at) });
  return parts.filter((part) => part.code !== undefined || part.text !== "");
}

function codeBlock({ language, code }) {
  return h("pre", { class: "code", tabIndex: 0, "aria-label": language ? `Code, ${language}` : "Code" }, h("code", {}, code));
}

function lines(text, names, depth) {
  const out = [];
  let plain = [];
  const flush = () => {
    if (plain.length) out.push(paragraph(plain, names, depth));
    plain = [];
  };
  const rows = text.split("\n");
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at];
    const heading = /^(#{1,3}) +(\S.*)$/.exec(row);
    const small = /^-# +(\S.*)$/.exec(row);
    if (row.startsWith(">>> ") && depth < DEPTH) {
      flush();
      const rest = [row.slice(4), ...rows.slice(at + 1)].join("\n");
      out.push(h("blockquote", {}, blocks(rest, names, depth + 1)));
      break;
    } else if (/^> ?/.test(row) && depth < DEPTH) {
      flush();
      const quoted = takeWhile(rows, at, (r) => /^> ?/.test(r));
      out.push(h("blockquote", {}, lines(quoted.map((r) => r.replace(/^> ?/, "")).join("\n"), names, depth + 1)));
      at += quoted.length - 1;
    } else if (heading) {
      flush();
      out.push(h("p", { class: `heading level-${heading[1].length}`, role: "heading", "aria-level": 3 + heading[1].length }, inline(heading[2], names, depth + 1)));
    } else if (small) {
      flush();
      out.push(h("p", { class: "subtext" }, inline(small[1], names, depth + 1)));
    } else if (LIST_ROW.test(row) && depth < DEPTH) {
      flush();
      const items = takeWhile(rows, at, (r) => LIST_ROW.test(r));
      out.push(list(items, names, depth));
      at += items.length - 1;
    } else {
      plain.push(row);
    }
  }
  flush();
  return out;
}

const LIST_ROW = /^( {0,8})([-*]|\d{1,4}\.) +(\S.*)$/;

function takeWhile(rows, from, test) {
  let end = from;
  while (end < rows.length && test(rows[end])) end += 1;
  return rows.slice(from, end);
}

/** Rows of one list; deeper rows become a list inside the item above them. */
function list(rows, names, depth) {
  const first = LIST_ROW.exec(rows[0]);
  const numbered = /\d/.test(first[2]);
  const node = h(numbered ? "ol" : "ul", numbered ? { start: Number.parseInt(first[2], 10) } : {});
  for (let at = 0; at < rows.length; at += 1) {
    const [, indent, , text] = LIST_ROW.exec(rows[at]);
    const deeper = takeWhile(rows, at + 1, (r) => LIST_ROW.exec(r)[1].length > indent.length);
    const item = h("li", {}, inline(text, names, depth + 1));
    if (deeper.length && depth < DEPTH) item.append(list(deeper, names, depth + 1));
    else if (deeper.length) item.append(deeper.join(" "));
    node.append(item);
    at += deeper.length;
  }
  return node;
}

function paragraph(rows, names, depth) {
  const nodes = inline(rows.join("\n"), names, depth + 1);
  return h("p", {}, nodes);
}

// Inside a line

const PAIRS = [
  ["***", (nodes) => h("strong", {}, h("em", {}, nodes))],
  ["**", (nodes) => h("strong", {}, nodes)],
  ["__", (nodes) => h("u", {}, nodes)],
  ["~~", (nodes) => h("s", {}, nodes)],
  ["||", (nodes) => spoiler(nodes)],
  ["*", (nodes) => h("em", {}, nodes)],
  ["_", (nodes) => h("em", {}, nodes)],
];

const RULES = [
  [/\\([\\`*_~|>#<\-[\]()@:.!])/y, ([, char]) => char],
  [/(`{1,2})([^`](?:[^]*?[^`])?)\1(?!`)/y, ([, , code]) => h("code", {}, code.trim() || code)],
  [/<@!?(\d{1,20})>/y, ([, id], names) => mention(`@${names.user(id) ?? "unknown-user"}`, names.isMe(id))],
  [/<@&(\d{1,20})>/y, ([, id], names) => mention(`@${names.role(id) ?? "unknown-role"}`)],
  [/<#(\d{1,20})>/y, ([, id], names) => mention(`#${names.channel(id) ?? "unknown"}`)],
  [/<\/([^:<>\n]{1,100}):\d{1,20}>/y, ([, name]) => mention(`/${name}`)],
  [/<a?:(\w{2,32}):\d{1,20}>/y, ([, name]) => h("span", { class: "emoji-name" }, `:${name}:`)],
  [/<t:(-?\d{1,13})(?::([tTdDfFR]))?>/y, ([raw, seconds, style]) => moment(raw, Number(seconds), style)],
  [/@(?:everyone|here)\b/y, ([raw]) => mention(raw)],
  [/\[([^\]\n]{1,200})\]\(<?(https?:\/\/[^\s)>]{1,500})>?\)/y, ([, label, url]) => [label, " ", link(`(${url})`)]],
  [/<(https?:\/\/[^\s>]{1,500})>/y, ([, url]) => link(url)],
  [/https?:\/\/[^\s<>]{1,500}/y, ([url]) => link(url)],
];

function inline(text, names, depth) {
  const out = [];
  let plain = "";
  const push = (node) => {
    if (plain) out.push(plain);
    plain = "";
    out.push(node);
  };
  for (let at = 0; at < text.length; ) {
    const found = depth > DEPTH ? null : special(text, at, names, depth);
    if (found) {
      push(found.node);
      at = found.end;
    } else if (text[at] === "\n") {
      push(h("br"));
      at += 1;
    } else {
      plain += text[at];
      at += 1;
    }
  }
  if (plain) out.push(plain);
  return out;
}

const STARTS = new Set("\\`<@[h*_~|");

function special(text, at, names, depth) {
  if (!STARTS.has(text[at])) return null;
  for (const [rule, make] of RULES) {
    rule.lastIndex = at;
    const match = rule.exec(text);
    if (match) return { node: make(match, names), end: rule.lastIndex };
  }
  return pair(text, at, names, depth);
}

function pair(text, at, names, depth) {
  for (const [mark, wrap] of PAIRS) {
    if (!text.startsWith(mark, at)) continue;
    const end = closing(text, at, mark);
    if (end < 0) continue;
    const inside = text.slice(at + mark.length, end);
    return { node: wrap(inline(inside, names, depth + 1)), end: end + mark.length };
  }
  return null;
}

/** Where a mark that opens at `at` closes; -1 when it is only a character. */
function closing(text, at, mark) {
  const single = mark.length === 1;
  const from = at + mark.length;
  if (single && /\s/.test(text[from] ?? " ")) return -1;
  if (mark === "_" && /\w/.test(text[at - 1] ?? " ")) return -1;
  for (let end = text.indexOf(mark, from); end >= 0; end = text.indexOf(mark, end + 1)) {
    if (end === from) continue;
    if (text[end - 1] === "\\") continue;
    if (single && (text[end + 1] === mark || text[end - 1] === mark)) continue;
    if (mark === "_" && /\w/.test(text[end + 1] ?? " ")) continue;
    return end;
  }
  return -1;
}

function mention(label, mine = false) {
  return h("span", { class: mine ? "mention mine" : "mention" }, label);
}

/** Addresses stay text: the page never leads away from this machine by itself. */
function link(url) {
  return h("span", { class: "link" }, url);
}

function spoiler(nodes) {
  const button = h("button", { type: "button", class: "spoiler", "aria-label": "Show spoiler", "aria-expanded": "false" }, h("span", {}, nodes));
  button.addEventListener("click", () => {
    button.classList.add("open");
    button.setAttribute("aria-expanded", "true");
    button.removeAttribute("aria-label");
  });
  return button;
}

const STYLES = {
  t: { timeStyle: "short" },
  T: { timeStyle: "medium" },
  d: { dateStyle: "short" },
  D: { dateStyle: "long" },
  f: { dateStyle: "long", timeStyle: "short" },
  F: { dateStyle: "full", timeStyle: "short" },
};

function moment(raw, seconds, style = "f") {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return raw;
  const full = new Intl.DateTimeFormat(undefined, STYLES.F).format(date);
  const shown = style === "R" ? relative(date) : new Intl.DateTimeFormat(undefined, STYLES[style]).format(date);
  return h("time", { datetime: date.toISOString(), title: full }, shown);
}

const STEPS = [["year", 31_557_600], ["month", 2_629_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];

/** Say how long ago or from now a moment is. */
export function relative(date, now = Date.now()) {
  const seconds = Math.round((date.getTime() - now) / 1000);
  const format = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return format.format(Math.round(seconds / length), unit);
  }
  return format.format(seconds, "second");
}
