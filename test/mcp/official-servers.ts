import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ServerCommand } from "../../src/adapters/mcp/mcp-server.ts";

const OFFICIAL = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol", import.meta.url));
const RELAY = fileURLToPath(new URL("./servers/relay.ts", import.meta.url));

/** The command of an official server, without looking for it on the network. */
export function officialServer(
  name: "everything" | "filesystem" | "memory",
  ...args: readonly string[]
): ServerCommand {
  return { command: process.execPath, args: [join(OFFICIAL, `server-${name}`, "dist", "index.js"), ...args] };
}

/** The same behind a relay that keeps a record in the folder: see `servers/relay.ts`. */
export function relayed(folder: string, server: ServerCommand): ServerCommand {
  const { command, args = [] } = server;
  return { ...server, command: process.execPath, args: [RELAY, folder, command, ...args] };
}
