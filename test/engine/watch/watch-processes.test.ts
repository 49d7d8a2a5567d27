import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { watchRun } from "../../../src/engine/watch/watch-run.ts";
import { openStore, type WatchEvent } from "../../../src/index.ts";
import { PATIENCE } from "../../patience.ts";
import { databaseFile } from "../run-fixture.ts";

const scriptOf = (name: string) => fileURLToPath(new URL(`./children/${name}.ts`, import.meta.url));

function startWriter(file: string, how: "half" | "whole") {
  const child = spawn(process.execPath, [scriptOf("writer"), file, how], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

/** What a page would show: the answers of each turn, withdrawn ones taken back. */
function fold(events: readonly WatchEvent[]): string[] {
  const page: string[] = [];
  let half = "";
  for (const event of events) {
    if (event.type === "part") half += event.delta;
    if (event.type === "attempt.withdrawn" || event.type === "turn.journaled") half = "";
    if (event.type === "turn.committed") page.push(event.text);
  }
  return half === "" ? page : [...page, half];
}

it(
  "a viewer of a killed worker sees its half answer withdrawn, and the next one whole",
  PATIENCE,
  async () => {
    const file = databaseFile();
    const first = startWriter(file, "half");
    await first.lines.next();
    const store = await openStore(`file:${file}`, { readOnly: true });
    onTestFinished(() => store.close());
    const events: WatchEvent[] = [];
    for await (const event of watchRun(store, "q-1")) {
      events.push(event);
      if (event.type !== "part" || event.attempt !== 1) continue;
      expect(event.delta).toBe("Half an ans");
      first.child.kill("SIGKILL");
      await once(first.child, "exit");
      startWriter(file, "whole");
    }
    const told = events.filter(({ type }) => type !== "part").map(({ type }) => type);
    expect(told).toEqual([
      "run.started",
      "turn.opened",
      "attempt.withdrawn",
      "run.claimed",
      "turn.opened",
      "turn.journaled",
      "turn.committed",
      "step.finished",
      "run.ended",
    ]);
    expect(events.find(({ type }) => type === "attempt.withdrawn")).toMatchObject({
      attempt: 1,
      why: "lost",
    });
    const turns = await store.listTurns("q-1");
    expect(fold(events)).toEqual(turns.map(({ response: { content } }) => content[0]?.text));

    const left = spawnSync(process.execPath, [scriptOf("viewer"), file], {
      encoding: "utf8",
      timeout: 30_000,
    });
    expect([left.status, left.stdout]).toEqual([0, "run.started\nleft\n"]);
  },
);
