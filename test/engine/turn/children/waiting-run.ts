// Runs an agent whose provider is at the given address, and is killed while it waits for it.

import { agent, openStore, Runner } from "../../../../src/index.ts";
import { openAiModel } from "../../../adapters/ai-sdk/model-request.ts";

const [file, address] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const worker = agent({ name: "worker", instructions: "You work.", model: openAiModel(String(address)) });
await new Runner(worker, { store, onEvent: ({ type }) => console.log(type) }).run("Go", { runId: "r-1" });
