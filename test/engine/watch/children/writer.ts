// Works on run q-1 of the store at a path: says half an answer and waits for ever, or gives the whole one.

import { agent, openStore, Runner } from "../../../../src/index.ts";
import { response, streamingPort, text } from "../streaming-port.ts";

const [file = "", how = ""] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const model = streamingPort(async (say) => {
  if (how === "half") {
    say(text("Half an ans"));
    console.log("said");
    await new Promise(() => setInterval(() => undefined, 1_000));
  }
  for (const word of ["A ", "whole ", "one."]) {
    say(text(word));
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  return response("A whole one.");
});
const runner = new Runner(agent({ name: "clerk", model, instructions: "Answer." }), { store, live: true });
if (how === "half") await runner.run("Hello?", { runId: "q-1" });
else await runner.resume("q-1");
await store.close();
console.log("done");
