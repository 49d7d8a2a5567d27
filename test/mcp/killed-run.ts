// A process that is killed: it works on a run with the tools of three official servers, and prints the result as its last
// line. Its arguments are a folder, and "dies" if it must kill itself between the first turn and the second.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { mcpTools } from "../../src/adapters/mcp/mcp.ts";
import { agent, openStore, Runner } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { officialServer, relayed } from "./official-servers.ts";

const [folder = "", how = ""] = process.argv.slice(2);
const note = join(folder, "note.txt");

const model = scriptedModel(({ turn }) => {
  if (turn === 2 && how === "dies") process.kill(process.pid, "SIGKILL");
  const calls = [
    { name: "files__write_file", input: { path: note, content: "Water boils at 100 °C." } },
    { name: "memory__create_entities", input: { entities: [BOILING] } },
    { name: "files__read_text_file", input: { path: note } },
    { name: "things__echo", input: { message: "All three." } },
  ];
  const call = calls[turn - 1];
  return call === undefined ? { text: "All is written down." } : { toolCalls: [call] };
});
const BOILING = { name: "boiling", entityType: "fact", observations: ["100 °C"] };

const clerk = agent({
  name: "clerk",
  instructions: "You write down what you are told.",
  model,
  tools: {
    files: mcpTools(relayed(folder, officialServer("filesystem", folder))),
    memory: mcpTools({
      ...officialServer("memory"),
      env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    }),
    things: mcpTools({ ...officialServer("everything"), env: { THINGS_FOLDER: folder } }),
  },
});

const store = await openStore(`file:${join(folder, "pawl.db")}`);
const { status, output, waits } = await new Runner(clerk, { store }).run("Note this.", { runId: "r-1" });
await store.close();
process.stdout.write(`${JSON.stringify({ status, output, waits, isWritten: existsSync(note) })}\n`);
