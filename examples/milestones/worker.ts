/** The program that gets killed: a worker with a durable identity, whose agent plans its work and marks finished steps. */
import { join } from "node:path";
import { agent, Deadline, DurableMainLoop, FileCheckpointStore, openStore } from "../../src/index.ts";
import { type CrashPoint, crashAt } from "../../src/testing/index.ts";
import { OutsideWorld } from "../kill-and-resume/outside-world.ts";
import { analysisResults, analyzeFile } from "./analysis.ts";
import { scriptedAnalyst } from "./scripted-analyst.ts";
import { taskPrompt } from "./task-prompt.ts";

const [folder = "", model = "", crashPoint, crashTurn] = process.argv.slice(2);
const outside = new OutsideWorld(join(folder, "outside.log"));

const analyst = agent({
  name: "analyst",
  model: scriptedAnalyst(model, join(folder, "model.log")),
  instructions: taskPrompt, // Its parameters come from the request.
  tools: { analyze_file: analyzeFile((key, path) => void outside.deliver(key, path)) },
  slices: [analysisResults],
});

const store = await openStore(`file:${join(folder, "pawl.db")}`);
const loop = new DurableMainLoop(analyst, {
  store,
  checkpoints: FileCheckpointStore.forWorker(join(folder, "workers"), "worker-001"),
  onSession: (session) => {
    session.bus.subscribe("SessionRolledBack", ({ checkpoint }) =>
      console.log(`  resumes from milestone ${checkpoint}`),
    );
    session.bus.subscribe("PromptRendered", ({ turn, text }) => {
      const ticks = text.match(/✓/g)?.length ?? 0;
      const remaining = text.match(/\((?:pending|in_progress)\)$/gm)?.length ?? 0;
      console.log(`  turn ${turn}: the prompt shows ${ticks} ✓ and ${remaining} remaining`);
    });
  },
  ...(crashPoint === undefined
    ? {}
    : { probe: crashAt(crashPoint as CrashPoint, { turn: Number(crashTurn) }) }),
});
const request = { objective: "Find what is wrong with the sources." };
const { output } = await loop.execute(request, { deadline: Deadline.in(60_000) });
console.log(`  done: ${output}`);
await store.close();
