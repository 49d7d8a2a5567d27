// A relay between a client and a server, like `npx`: the server is its child. It records both pids and the names of the
// tools that are called, and holds back the answers to those calls while the file `hold` is in its folder.
// Its arguments are a folder, and then the server's command.

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
