// Asking as the person who sits here. An answer that comes after they left is for nobody's eyes.

import { read } from "./api.js";
import { state } from "./store.js";

/** The person who asked does not sit here any more. */
export class Left extends Error {}

/** Wait for what only the person who sits here may see. Raises `Left` when they left meanwhile. */
export function sitting(work) {
  const { seat } = state;
  return work.finally(() => {
    if (state.seat !== seat) throw new Left();
  });
}

/** Read something as the person who sits here. Raises `Left` when they left meanwhile. */
export function readHere(path, query = {}) {
  return sitting(read(path, { ...(state.me && { as: state.me }), ...query }));
}
