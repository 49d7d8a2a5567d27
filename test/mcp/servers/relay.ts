// Stands between a client and a server, as `npx` does: the server is its child. It writes down both pids and the names of
// the tools that are called, and while the file `hold` is in its folder it keeps answers to those calls to itself.
// Started with a folder, and then the server's command.

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder = "", command = "", ...args] = process.argv.slice(2);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
appendFileSync(join(folder, "pids"), `${process.pid}\n${server.pid}\n`);

const calls = new Set<unknown>();

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method, params } = JSON.parse(line) as Message;
    if (method === "tools/call") {
      calls.add(id);
      appendFileSync(join(folder, "calls"), `${params?.name}\n`);
    }
    server.stdin.write(`${line}\n`);
  })
  .on("close", () => server.stdin.end());

createInterface({ input: server.stdout }).on("line", (line) => {
  const { id, method } = JSON.parse(line) as Message;
  const isAnswer = method === undefined && calls.has(id);
  if (isAnswer && existsSync(join(folder, "hold"))) return writeFileSync(join(folder, "held"), "");
  process.stdout.write(`${line}\n`);
});

type Message = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly name?: string };
};
