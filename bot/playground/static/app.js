// The chat page of the playground: puts the parts together and follows what happens.

import { Events, read } from "./api.js";
import { announce, fill, icon } from "./dom.js";
import { Composer } from "./composer.js";
import { attempt, closePopup, notice } from "./popups.js";
import { Sidebar } from "./sidebar.js";
import * as store from "./store.js";
import { Timeline } from "./timeline.js";

const { state } = store;
const TYPING_MILLISECONDS = 10_000;
const ROOM_ICONS = { text: "hash", forum: "hash", thread: "thread", dm: "at" };

const sidebar = new Sidebar({ onPerson: (id) => go(id, state.current) });
const timeline = new Timeline({
  onReply: (message) => composer.reply(message),
  onGoTo: (id) => go(state.me, id),
  onCommand: (what, body) => composer.interact(what, body),
});
const composer = new Composer({ onEditLast: (message) => timeline.edit(message) });
const events = new Events({ onOpen: () => attempt(refresh), onEvent: happened, onLost: lost });

// Where one is: #/person/channel

function go(person, channel) {
  location.hash = `#/${person}/${channel}`;
}

function wanted() {
  const [, person, channel] = location.hash.split("/");
  return { person: person || store.rememberedPerson(), channel };
}

addEventListener("hashchange", () => attempt(follow));

async function follow() {
  const { person, channel } = wanted();
  if (person !== state.me || !state.world) return sit(person);
  return enter(channel);
}

/** Take a person's seat. Nothing that another saw stays on the page. */
async function sit(id) {
  events.close();
  store.forget();
  closePopup({ focus: false });
  timeline.clear();
  state.current = null;
  const world = await read("world", id ? { as: id } : {});
  state.me = world.me;
  store.rememberPerson(world.me);
  store.takeWorld(world);
  showBanner(world.banner);
  await enter(wanted().channel);
  events.follow(world.me);
}

async function enter(id) {
  const known = state.channels.get(id) ?? state.world.guilds[0]?.channels[0] ?? state.world.dms[0];
  if (!known) return notice("There is no conversation to show.");
  state.current = known.id;
  if (id !== known.id) history.replaceState(null, "", `#/${state.me}/${known.id}`);
  document.title = `${known.kind === "text" ? "#" : ""}${known.name} · Inglenook playground`;
  showHead(known);
  sidebar.show();
  composer.enter();
  showTyping();
  await loadMessages(known.id);
  return undefined;
}

async function loadMessages(id) {
  const meanwhile = [];
  heard.add(meanwhile);
  const page = await read("messages", { as: state.me, channel: id }).finally(() => heard.delete(meanwhile));
  if (state.current !== id) return;
  state.messages.set(id, new Map());
  page.messages.forEach(store.putMessage);
  meanwhile.forEach(keep);
  if (page.more) state.complete.delete(id);
  else state.complete.add(id);
  timeline.showAll();
  store.markRead(id);
  sidebar.show();
}

function showHead(here) {
  const guild = state.guilds.get(here.guild);
  fill(document.getElementById("room-icon"), icon(ROOM_ICONS[here.kind] ?? "hash"));
  fill(document.getElementById("room-name"), here.name);
  fill(document.getElementById("room-topic"), here.topic || (guild ? guild.name : "Direct message"));
}

function showBanner(text) {
  const node = document.getElementById("banner");
  node.hidden = !text;
  fill(node, text);
}

// What happens

let wasLost = false;

function lost() {
  if (!wasLost) notice("The playground went away. Trying to reach it again…");
  wasLost = true;
}

/** After each (re)connection: read the world and the conversation anew. */
async function refresh() {
  wasLost = false;
  await reloadWorld();
  if (state.current) await loadMessages(state.current);
}

async function reloadWorld() {
  store.takeWorld(await read("world", { as: state.me }));
  const here = store.channel();
  if (here) showHead(here);
  else await enter(null);
  sidebar.show();
}

/** What comes while messages are read, of which the answer may not know yet: a list for each reading. */
const heard = new Set();

function keep(event) {
  if (event.type === "message") store.putMessage(event.message);
  if (event.type === "gone") store.dropMessages(event.channel, event.ids);
}

function happened(event) {
  heard.forEach((meanwhile) => meanwhile.push(event));
  switch (event.type) {
    case "message": return onMessage(event.message, event.fresh);
    case "gone": return onGone(event);
    case "typing": return onTyping(event);
    case "world": return attempt(reloadWorld);
    case "bot": return onBot(event.online);
    default: return undefined;
  }
}

function onMessage(message, fresh) {
  const isNew = store.putMessage(message);
  state.typing.get(message.channel_id)?.delete(message.author.id);
  const here = message.channel_id === state.current;
  if (here) {
    if (timeline.shown === state.current) timeline.put(message);
    showTyping();
  }
  if (!isNew || !fresh || message.author.id === state.me) {
    if (here) store.markRead(state.current);
    return;
  }
  if (here && document.hasFocus()) store.markRead(state.current);
  else {
    store.markUnread(message);
    announce(`New message in ${state.channels.get(message.channel_id)?.name ?? "another conversation"}`);
  }
  sidebar.show();
}

function onGone({ channel, ids }) {
  store.dropMessages(channel, ids);
  if (channel === state.current) timeline.drop(ids);
}

function onTyping({ channel, user }) {
  if (!state.typing.has(channel)) state.typing.set(channel, new Map());
  state.typing.get(channel).set(user, Date.now() + TYPING_MILLISECONDS);
  showTyping();
  setTimeout(showTyping, TYPING_MILLISECONDS + 50);
}

function showTyping() {
  const now = Date.now();
  const here = [...(state.typing.get(state.current) ?? [])];
  composer.showTyping(here.filter(([, until]) => until > now).map(([id]) => id));
}

function onBot(online) {
  state.world.bot.online = online;
  sidebar.show();
}

addEventListener("focus", () => {
  if (!state.current || !state.unread.has(state.current)) return;
  store.markRead(state.current);
  sidebar.show();
});

attempt(follow);
