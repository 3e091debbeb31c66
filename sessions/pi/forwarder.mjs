// Inside a box there is no network: this carries what pi sends to the model's address on loopback
// to the host's socket, byte for byte. It is loaded as an extension and offers nothing else.
//
// What it listens on ends with pi, and never keeps pi alive. No import: with one, pi would put this
// through its transpiler, which takes a while.
const net = process.getBuiltinModule("node:net");
const socket = process.env.INGLENOOK_MODEL_SOCKET;
const port = Number(process.env.INGLENOOK_MODEL_PORT);

if (socket && port) {
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    const far = net.connect({ path: socket, allowHalfOpen: true });
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const side of [near, far]) side.on("error", end).on("close", end);
    near.pipe(far).pipe(near);
  });
  server.listen(port, "127.0.0.1");
  server.unref();
}

export default function () {}
